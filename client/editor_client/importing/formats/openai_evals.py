"""Evals of OpenAI: dumps with graders, prompts and rows; and the samples of the repository openai/evals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.importing import credentials, models
from editor_client.importing.agents import AgentReader
from editor_client.importing.cases import Cases
from editor_client.importing.collection import (
    Collection,
    Dataset,
    Unreadable,
    a_text,
    an_object,
    objects,
    shown,
)
from editor_client.importing.documents import Documents
from editor_client.importing.messages import messages_from, texts_of
from editor_client.importing.scorers import LEFT_OUT, Scorers, literal
from editor_client.shared import canonical

SYSTEM: Final = "openai-evals"
_OUTPUT: Final = re.compile(r"\{\{\s*sample\.output_text\s*\}\}")
_ITEM: Final = re.compile(r"\{\{\s*item\.([A-Za-z_][\w.]*)\s*\}\}", re.ASCII)
_OPERATIONS: Final[Mapping[str, tuple[str, str, dict[str, Any]]]] = {
    "eq": ("equals", "value", {"trim": False}),
    "like": ("contains", "values", {}),
    "ilike": ("contains", "values", {"ignoreCase": True}),
}


def read(documents: Documents) -> Collection:
    """Return the evals in a file, or in the files of a folder: `.json` for dumps, `.jsonl` for rows."""
    collection = Collection(SYSTEM)
    for path in documents.files([".json", ".jsonl"]):
        name = documents.stem(path, [".json", ".jsonl"])
        if path.suffix == ".jsonl":
            rows = [row for _, row in documents.json_lines(path)]
            _read_rows(rows, name, collection, [], [])
            continue
        value = documents.json(path)
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict) or not isinstance(one.get("testing_criteria"), list):
                raise Unreadable(f"{shown(documents.name(path))} is no eval: it has no testing_criteria.")
            _read_eval(one, name, collection)
    return collection


def _read_rows(
    rows: list[Any], name: str, collection: Collection, scorer_ids: list[str], agent_ids: list[str]
) -> None:
    """Make a dataset of rows: `{"item"}`, whose prompts have `{{item.x}}`, or `{"input", "ideal"}`."""
    cases = Cases(collection, name)
    for number, row in enumerate(rows, 1):
        given = credentials.without(row, collection, f"{name}, row {number}", by_name=False)
        if isinstance(given, dict) and isinstance(given.get("item"), dict):
            cases.add_input(given["item"], requestContext={"item": given["item"]})
            if "sample" in given:
                collection.lose("sample", name, "The answers in `sample` are left out.")
        elif isinstance(given, dict) and "input" in given:
            value = given["input"]
            if isinstance(given.get("ideal"), list):
                collection.lose("ideal", name, "Several ideal answers are one ground truth, a list.")
            cases.add_input(
                {"messages": value} if isinstance(value, list) else value, groundTruth=given.get("ideal")
            )
        else:
            raise Unreadable(f"{shown(name)}, row {number} has neither `item` nor `input`.")
    if cases.items:
        collection.datasets.append(
            Dataset(name=name, items=cases.items, scorer_ids=scorer_ids, agent_ids=agent_ids)
        )


def _read_eval(value: Mapping[str, Any], file: str, collection: Collection) -> None:
    name = a_text(value.get("name")).strip() or a_text(value.get("id")).strip() or file
    scorers = Scorers(collection, f"{name}/scorers")
    found = [_scorer(one, scorers) for one in objects(value["testing_criteria"])]
    runs = value.get("runs")
    agents: list[str] = []
    rows: dict[str, Any] = {}
    for number, run in enumerate(objects(an_object(runs).get("data", runs)), 1):
        source = an_object(run.get("data_source"))
        agents += _read_prompt(source, a_text(run.get("name")) or f"{name}/run-{number}", collection)
        content = an_object(source.get("source"))
        if content.get("type") == "file_content":
            rows |= {canonical.digest(row): row for row in objects(content.get("content"))}
        elif content:
            message = f"The rows of run {number} are kept by the server, and are left out."
            collection.lose("rows", name, message)
    _read_rows(list(rows.values()), name, collection, [one for one in found if one], agents)


def _read_prompt(source: Mapping[str, Any], name: str, collection: Collection) -> list[str]:
    messages = objects(an_object(source.get("input_messages")).get("template"))
    if not messages:
        return []
    reader = AgentReader(collection, name, "curly")
    sampling = an_object(source.get("sampling_params"))
    settings, others = models.settings_from(sampling, collection, f"{name}, sampling_params")
    model = models.model_from(source.get("model"), collection, name, provider="openai")
    extra = {"config": others} if others else {}
    reader.add(messages_from(messages, collection, name), model=model, settings=settings, extra=extra)
    reader.finish()
    return [reader.id] if reader.is_made else []


def _scorer(grader: Mapping[str, Any], scorers: Scorers) -> str | None:
    name = re.sub(r"[^\w -]+", "", a_text(grader.get("name"))).strip()[:60] or "grader"
    kind = grader.get("type")
    if kind == "string_check":
        found = _string_check(grader)
        if found is not None:
            ours, config = found
            return scorers.add(name, ours, config)
    if kind == "label_model":
        return _label_model(name, grader, scorers)
    if not isinstance(kind, str):
        scorers.collection.lose(LEFT_OUT, f"{scorers.folder}/{name}", "It is left out: it has no type.")
        return None
    return scorers.to_be_filled_in(name, dict(grader), f"The grader {shown(kind)!r}")


def _string_check(grader: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the scorer for a comparison of the answer with a text or a member of the item."""
    operation = _OPERATIONS.get(str(grader.get("operation")))
    reference = grader.get("reference")
    if operation is None or not _OUTPUT.fullmatch(a_text(grader.get("input")).strip()):
        return None
    match = _ITEM.fullmatch(reference.strip()) if isinstance(reference, str) else None
    text = f"{{{{input.{match[1]}}}}}" if match else literal(reference)
    if text is None:
        return None
    kind, member, more = operation
    return kind, {member: [text] if member == "values" else text, **more}


def _label_model(name: str, grader: Mapping[str, Any], scorers: Scorers) -> str | None:
    labels = grader.get("labels")
    passing = grader.get("passing_labels")
    listed = [one for one in labels if isinstance(one, str)] if isinstance(labels, list) else []
    passes = {one for one in passing if isinstance(one, str)} if isinstance(passing, list) else set()
    choices = [{"label": one, "score": int(one in passes), "passes": one in passes} for one in listed]
    where = f"{scorers.folder}/{name}"
    messages = messages_from(objects(grader.get("input")), scorers.collection, where)
    model = models.model_from(grader.get("model"), scorers.collection, where, provider="openai")
    return scorers.judge(name, "\n\n".join(texts_of(messages)), choices, model, None)
