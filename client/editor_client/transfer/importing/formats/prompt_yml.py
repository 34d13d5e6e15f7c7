"""`.prompt.yml` files of GitHub Models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.transfer.importing.agents import AgentReader, model_from, settings_in, without_place
from editor_client.transfer.importing.collection import (
    Collection,
    Dataset,
    Members,
    Unreadable,
    excerpt,
    nonempty,
    remove_credentials,
)
from editor_client.transfer.importing.datasets import Cases
from editor_client.transfer.importing.documents import Documents
from editor_client.transfer.importing.messages import list_texts, messages_from, rename_variables, variables
from editor_client.transfer.importing.scorers import LEFT_OUT, Scorers, literal

SYSTEM: Final = "prompt-yml"
ENDINGS: Final = (".prompt.yml", ".prompt.yaml")
_STRINGS: Final = ("equals", "contains", "startsWith", "endsWith")
"""The evaluators that are scorers of a type of the same name."""


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder; a file's path is the name of its prompt."""
    collection = Collection(SYSTEM)
    for path in documents.files(ENDINGS):
        value = documents.value(path)
        if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
            raise Unreadable(f"{excerpt(documents.name(path))} is no prompt: it has no list of messages.")
        _read_prompt(value, documents.stem(path, ENDINGS), collection)
    return collection


def _read_prompt(value: Mapping[str, Any], name: str, collection: Collection) -> None:
    since = collection.mark()
    about = Members(value, collection, name)
    rows = about.objects("testData")
    columns = {key for row in rows for key in row} - {"input", "expected"}
    reader = AgentReader(
        collection,
        name,
        "curly",
        is_path=True,
        title=about.text("name"),
        description=about.text("description") or None,
        more_names=sorted(columns),
    )
    parameters = about.members("modelParameters")
    settings = settings_in(parameters)
    messages = messages_from(about.take_list("messages"), collection, name)
    model_name = about.take("model")
    model = model_from(model_name, collection, name)
    evaluators = about.objects("evaluators")
    reader.add(
        messages,
        model=model,
        settings=settings,
        extra={
            **nonempty(modelParameters=parameters.take_rest()),
            **without_place(model_name, model),
            **about.take_rest(),
        },
    )
    reader.finish()
    scorers = Scorers(collection, f"{name}/scorers")
    leftover: dict[str, Any] = {}
    evaluator_scorers = [_scorer(evaluator, scorers, leftover) for evaluator in evaluators]
    if rows:
        used = {variable for text in list_texts(messages) for variable in variables(text, "curly")}
        cases = Cases(
            collection,
            name,
            needed=used - set(reader.dropped_variables),
            dropped=reader.dropped_variables,
            names=rename_variables([*used, *columns]),
        )
        for row in rows:
            clean_row = remove_credentials(row, collection, f"{name}, testData", by_name=False)
            values = {key: value for key, value in clean_row.items() if key != "expected"}
            cases.add(values, groundTruth=clean_row.get("expected"))
        scorer_ids = [scorer for scorer in evaluator_scorers if scorer is not None]
        agent_ids = [reader.id] if reader.is_made else []
        dataset = Dataset(name=name, items=cases.items, scorer_ids=scorer_ids, agent_ids=agent_ids)
        collection.datasets.append(dataset)
    collection.attach(nonempty(evaluators=leftover), since, name)


def _scorer(evaluator: Mapping[str, Any], scorers: Scorers, leftover: dict[str, Any]) -> str | None:
    """Return the id of the scorer for an evaluator; data without a place goes into `leftover`."""
    name = str(evaluator.get("name") or "evaluator")
    where = f"{scorers.folder}/{name}"
    members = Members(evaluator, scorers.collection, where)
    members.skip("name")
    scorer_id = None
    if isinstance(members.peek("string"), dict):
        inner = members.members("string")
        scorer_id = _string_scorer(name, inner, scorers, where)
        more = nonempty(string=inner.take_rest())
    elif isinstance(members.peek("llm"), dict):
        inner = members.members("llm")
        scorer_id, more = _judge(name, inner, scorers, where)
        more = nonempty(llm={**more, **inner.take_rest()})
    else:
        uses = excerpt(members.peek("uses") or "an unknown kind")
        scorers.collection.lose(LEFT_OUT, where, f"It is left out: the editor does not have {uses}.")
        more = {}
    if rest := {**more, **members.take_rest()}:
        leftover[name] = rest
    return scorer_id


def _string_scorer(name: str, members: Members, scorers: Scorers, where: str) -> str | None:
    kind = next((string for string in _STRINGS if members.peek(string)), None)
    value = None if kind is None else members.peek(kind)
    text = "{{groundTruth}}" if value == "{{expected}}" else literal(value, "curly")
    if kind is None or text is None:
        message = "It is left out: its value is no text, or has variables that a scorer does not know."
        scorers.collection.lose(LEFT_OUT, where, message)
        return None
    members.skip(kind)
    if kind == "equals":  # the others also ignore case in the source
        return scorers.add(name, kind, {"value": text, "trim": False})
    if kind == "contains":
        return scorers.add(name, kind, {"values": [text], "ignoreCase": True})
    return scorers.add(name, kind, {"value": text, "ignoreCase": True})


def _judge(name: str, members: Members, scorers: Scorers, where: str) -> tuple[str | None, dict[str, Any]]:
    """Return the id of a judge, and the rest of its parts."""
    choices, leftover = [], {}
    for number, entry in enumerate(members.objects("choices"), 1):
        choice = Members(entry, scorers.collection, f"{where}, choice {number}")
        score = choice.peek("score")
        is_score = isinstance(score, int | float) and not isinstance(score, bool)
        if isinstance(choice.peek("choice"), str) and is_score:
            choice.skip("score")
            choices.append({"label": choice.text("choice"), "score": score, "passes": score > 0})
        if rest := choice.take_rest():
            leftover[str(number)] = rest
    system, prompt = members.text("systemPrompt"), members.text("prompt")
    instructions = "\n\n".join(text for text in (system, prompt) if text.strip())
    model_name = members.take("modelId")
    model = model_from(model_name, scorers.collection, where)
    scorer_id = scorers.judge(name, instructions, choices, model, None)
    lost = {} if scorer_id else {"prompt": instructions, "choices": choices}
    return scorer_id, {**nonempty(choices=leftover), **without_place(model_name, model), **lost}
