"""Evals of OpenAI: dumps with graders, prompts and rows; and the samples of the repository openai/evals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.clipping import clip
from editor_client.shared.text_keys import is_word
from editor_client.transfer.importing.agents import AgentReader, model_from, settings_in, without_place
from editor_client.transfer.importing.collection import (
    MAX_SHOWN,
    Collection,
    Dataset,
    Members,
    Unreadable,
    a_text,
    excerpt,
    nonempty,
    remove_credentials,
)
from editor_client.transfer.importing.datasets import Cases
from editor_client.transfer.importing.documents import Documents
from editor_client.transfer.importing.messages import list_texts, messages_from
from editor_client.transfer.importing.scorers import LEFT_OUT, Scorers, literal

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
        for entry in value if isinstance(value, list) else [value]:
            if not isinstance(entry, dict) or not isinstance(entry.get("testing_criteria"), list):
                raise Unreadable(f"{excerpt(documents.name(path))} is no eval: it has no testing_criteria.")
            _read_eval(entry, name, collection)
    return collection


def _read_rows(
    rows: list[Any], name: str, collection: Collection, scorer_ids: list[str], agent_ids: list[str]
) -> None:
    """Make a dataset of rows: `{"item"}`, whose prompts have `{{item.x}}`, or `{"input", "ideal"}`."""
    cases = Cases(collection, name)
    for number, row in enumerate(rows, 1):
        clean_row = remove_credentials(row, collection, f"{name}, row {number}", by_name=False)
        members = Members(clean_row, collection, f"{name}, rows")
        if isinstance(members.peek("item"), dict):
            item = members.mapping("item")
            if "sample" in members:
                lost = "The answers in `sample` are left out; metadata.import has them."
                collection.lose("sample", name, lost)
            cases.add_input(item, requestContext={"item": item}, leftover=members.take_rest(by_name=False))
        elif "input" in members:
            value, ideal = members.take("input"), members.take("ideal")
            if isinstance(ideal, list):
                collection.lose("ideal", name, "Several ideal answers are one ground truth, a list.")
            cases.add_input(
                {"messages": value} if isinstance(value, list) else value,
                groundTruth=ideal,
                leftover=members.take_rest(by_name=False),
            )
        else:
            raise Unreadable(f"{excerpt(name)}, row {number} has neither `item` nor `input`.")
    if cases.items:
        collection.datasets.append(
            Dataset(name=name, items=cases.items, scorer_ids=scorer_ids, agent_ids=agent_ids)
        )


def _read_eval(value: Mapping[str, Any], file: str, collection: Collection) -> None:
    since = collection.mark()
    name = a_text(value.get("name")).strip() or a_text(value.get("id")).strip() or file
    about = Members(value, collection, name)
    eval_id = about.text("id")
    about.skip("name", "object", "created_at")
    scorers = Scorers(collection, f"{name}/scorers")
    leftover: dict[str, Any] = {}
    scorer_ids = [_scorer(criterion, scorers, leftover) for criterion in about.objects("testing_criteria")]
    agents: list[str] = []
    rows: dict[str, Any] = {}
    lost_runs = {}
    if isinstance(about.peek("runs"), dict):
        run_list = about.members("runs")
        runs = run_list.objects("data")
        run_list.skip("object", "has_more", "first_id", "last_id")
        leftover |= nonempty(runs=run_list.take_rest())
    else:
        runs = about.objects("runs")
    for number, run in enumerate(runs, 1):
        members = Members(run, collection, f"{name}, run {number}")
        source = members.members("data_source")
        run_name = members.text("name") or f"{name}/run-{number}"
        members.skip("id", "object", "created_at", "eval_id", "status", "report_url", "error")
        agent_ids, unread = _read_prompt(source, run_name, collection)
        agents += agent_ids
        content = source.members("source")
        if content.peek("type") == "file_content":
            content.skip("type")
            rows |= {canonical.digest(row): row for row in content.objects("content")}
        elif content.names():
            message = f"The rows of run {number} are kept by the server, and are left out."
            collection.lose("rows", name, message)
        if source.peek("type") == "completions":
            source.skip("type")
        kept = {**unread, **nonempty(source=content.take_rest()), **source.take_rest()}
        if kept := {**nonempty(data_source=kept), **members.take_rest()}:
            lost_runs[str(number)] = kept
    _read_rows(list(rows.values()), name, collection, [text for text in scorer_ids if text], agents)
    extra = {**nonempty(evalId=eval_id, runs=lost_runs, testing_criteria=leftover), **about.take_rest()}
    collection.attach(extra, since, name)


def _read_prompt(source: Members, name: str, collection: Collection) -> tuple[list[str], dict[str, Any]]:
    """Take the prompt of a run; return the id of its agent, or the data to keep if there is none."""
    template = source.members("input_messages")
    messages = messages_from(template.take_list("template"), collection, name)
    if template.peek("type") == "template":
        template.skip("type")
    sampling = source.members("sampling_params")
    settings, model_name = settings_in(sampling), source.take("model")
    extra = nonempty(config=sampling.take_rest(), input_messages=template.take_rest())
    if not messages:
        kept = {**extra, **({"model": model_name} if model_name else {}), **nonempty(modelSettings=settings)}
        if kept:
            lost = "It has no messages, so there is no agent for it; metadata.import has what it says."
            collection.lose("prompt", name, lost)
        return [], kept
    reader = AgentReader(collection, name, "curly")
    model = model_from(model_name, collection, name, provider="openai")
    reader.add(messages, model=model, settings=settings, extra={**extra, **without_place(model_name, model)})
    reader.finish()
    return ([reader.id], {}) if reader.is_made else ([], extra)


def _scorer(grader: Mapping[str, Any], scorers: Scorers, leftover: dict[str, Any]) -> str | None:
    """Return the id of the scorer for a grader; data without a place goes into `leftover`."""
    name = "".join(
        character for character in a_text(grader.get("name")) if is_word(character) or character in " -"
    ).strip()
    name = clip(name, MAX_SHOWN) or "grader"
    kind = grader.get("type")
    members = Members(grader, scorers.collection, f"{scorers.folder}/{name}")
    string_check = _string_check(grader) if kind == "string_check" else None
    scorer_id: str | None
    if string_check is not None:
        ours, config = string_check
        members.skip("type", "name", "input", "operation", "reference")
        scorer_id = scorers.add(name, ours, config)
    elif kind == "label_model":
        scorer_id = _label_model(name, members, scorers)
    elif not isinstance(kind, str):
        scorers.collection.lose(LEFT_OUT, f"{scorers.folder}/{name}", "It is left out: it has no type.")
        scorer_id = None
    else:
        members = Members({}, scorers.collection, members.where)
        scorer_id = scorers.to_be_filled_in(name, dict(grader), f"The grader {excerpt(kind)!r}")
    if rest := members.take_rest():
        leftover[name] = rest
    return scorer_id


def _string_check(grader: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the scorer for a comparison of the answer with a text or a member of the item."""
    operation = _OPERATIONS.get(str(grader.get("operation")))
    reference = grader.get("reference")
    if operation is None or not _OUTPUT.fullmatch(a_text(grader.get("input")).strip()):
        return None
    match = _ITEM.fullmatch(reference.strip()) if isinstance(reference, str) else None
    text = f"{{{{input.{match[1]}}}}}" if match else literal(reference, "mustache")
    if text is None:
        return None
    kind, member, more = operation
    return kind, {member: [text] if member == "values" else text, **more}


def _label_model(name: str, grader: Members, scorers: Scorers) -> str | None:
    labels, passing = grader.peek("labels"), grader.peek("passing_labels")
    label_names = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
    passes = {label for label in passing if isinstance(label, str)} if isinstance(passing, list) else set()
    choices = [
        {"label": label, "score": int(label in passes), "passes": label in passes} for label in label_names
    ]
    where = f"{scorers.folder}/{name}"
    inputs = grader.peek("input")
    messages = messages_from(inputs if isinstance(inputs, list) else [], scorers.collection, where)
    model = model_from(grader.peek("model"), scorers.collection, where, provider="openai")
    scorer_id = scorers.judge(name, "\n\n".join(list_texts(messages)), choices, model, None)
    if scorer_id is not None:
        grader.skip("type", "name", "model", "labels", "passing_labels")
        if not any(message.leftover for message in messages):
            grader.skip("input")
    return scorer_id
