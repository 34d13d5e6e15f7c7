"""`.prompt.yml` files of GitHub Models."""

from __future__ import annotations

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
from editor_client.importing.templates import renamed, variables

SYSTEM: Final = "prompt-yml"
ENDINGS: Final = (".prompt.yml", ".prompt.yaml")
_STRINGS: Final = ("equals", "contains", "startsWith", "endsWith")
"""The evaluators that are scorers of a type of the same name."""
_KNOWN: Final = {
    *("name", "description", "model", "modelParameters", "responseFormat", "jsonSchema"),
    *("messages", "testData", "evaluators"),
}


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder; a file's path is the name of its prompt."""
    collection = Collection(SYSTEM)
    for path in documents.files(ENDINGS):
        value = documents.value(path)
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            raise Unreadable(f"{shown(documents.name(path))} is no prompt: it has no list of messages.")
        _read_prompt(value, documents.stem(path, ENDINGS), collection)
    return collection


def _read_prompt(value: Mapping[str, Any], name: str, collection: Collection) -> None:
    rows = objects(value.get("testData"))
    columns = {key for row in rows for key in row} - {"input", "expected"}
    reader = AgentReader(
        collection,
        name,
        "curly",
        is_path=True,
        title=a_text(value.get("name")),
        description=a_text(value.get("description")) or None,
        more_names=sorted(columns),
    )
    parameters = an_object(value.get("modelParameters"))
    settings, others = models.settings_from(parameters, collection, f"{name}, modelParameters")
    extra: dict[str, Any] = {"modelParameters": others} if others else {}
    extra |= {key: value[key] for key in ("responseFormat", "jsonSchema") if value.get(key) is not None}
    unknown = {key: one for key, one in value.items() if key not in _KNOWN}
    extra |= credentials.without(unknown, collection, name)
    messages = messages_from(value["messages"], collection, name)
    model = models.model_from(value.get("model"), collection, name)
    reader.add(messages, model=model, settings=settings, extra=extra)
    reader.finish()
    scorers = Scorers(collection, f"{name}/scorers")
    found = [_scorer(one, scorers) for one in objects(value.get("evaluators"))]
    if rows:
        used = {one for text in texts_of(messages) for one in variables(text, "curly")}
        cases = Cases(
            collection,
            name,
            needed=used - set(reader.dropped_variables),
            dropped=reader.dropped_variables,
            names=renamed([*used, *columns]),
        )
        for row in rows:
            given = credentials.without(row, collection, f"{name}, testData", by_name=False)
            cases.add(_without_expected(given), groundTruth=given.get("expected"))
        scorer_ids = [one for one in found if one is not None]
        dataset = Dataset(name=name, items=cases.items, scorer_ids=scorer_ids, agent_ids=[reader.id])
        collection.datasets.append(dataset)


def _without_expected(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in row.items() if key != "expected"}


def _scorer(evaluator: Mapping[str, Any], scorers: Scorers) -> str | None:
    name = str(evaluator.get("name") or "evaluator")
    where = f"{scorers.folder}/{name}"
    if isinstance(evaluator.get("string"), dict):
        return _string_scorer(name, evaluator["string"], scorers, where)
    if isinstance(evaluator.get("llm"), dict):
        return _judge(name, evaluator["llm"], scorers, where)
    uses = shown(evaluator.get("uses") or "an unknown kind")
    scorers.collection.lose(LEFT_OUT, where, f"It is left out: the editor does not have {uses}.")
    return None


def _string_scorer(name: str, given: Mapping[str, Any], scorers: Scorers, where: str) -> str | None:
    kind = next((one for one in _STRINGS if given.get(one)), None)
    value = None if kind is None else given[kind]
    text = "{{groundTruth}}" if value == "{{expected}}" else literal(value)
    if kind is None or text is None:
        message = "It is left out: its value is no text, or has variables that a scorer does not know."
        scorers.collection.lose(LEFT_OUT, where, message)
        return None
    if kind == "equals":  # the others ignore case in the source, too
        return scorers.add(name, kind, {"value": text, "trim": False})
    if kind == "contains":
        return scorers.add(name, kind, {"values": [text], "ignoreCase": True})
    return scorers.add(name, kind, {"value": text, "ignoreCase": True})


def _judge(name: str, given: Mapping[str, Any], scorers: Scorers, where: str) -> str | None:
    choices = [
        {"label": one["choice"], "score": one["score"], "passes": one["score"] > 0}
        for one in objects(given.get("choices"))
        if isinstance(one.get("choice"), str) and isinstance(one.get("score"), int | float)
    ]
    texts = [given.get("systemPrompt"), given.get("prompt")]
    instructions = "\n\n".join(one for one in texts if isinstance(one, str) and one.strip())
    model = models.model_from(given.get("modelId"), scorers.collection, where)
    return scorers.judge(name, instructions, choices, model, None)
