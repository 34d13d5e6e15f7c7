"""Agents as `.prompt.yml` files of GitHub Models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.transfer.exporting.published import Published, Reader, Text, curly, with_question
from editor_client.transfer.importing.collection import excerpt
from editor_client.transfer.importing.documents import yaml_files

INPUT: Final = "{{input}}"
_SETTINGS: Final = {"maxOutputTokens": "maxTokens", "temperature": "temperature", "topP": "topP"}
_STRINGS: Final = ("equals", "contains", "startsWith", "endsWith")
"""The types of scorers that are evaluators of the same name."""


def write(agent: Published, reader: Reader) -> str:
    """Return an agent as a file; `editor import prompt-yml` reads the same from it."""
    value: dict[str, Any] = {"name": agent.name}
    if agent.description:
        value["description"] = agent.description
    if agent.model:
        value["model"] = f"{agent.model['provider']}/{agent.model['name']}"
        reader.lose_of_model(agent)
    parameters = {_SETTINGS[name]: setting for name, setting in agent.settings.items() if name in _SETTINGS}
    if parameters:
        value["modelParameters"] = parameters
    if more := sorted(set(agent.settings) - set(_SETTINGS)):
        reader.lose("setting", agent.id, f"Left out: {', '.join(map(excerpt, more))}.")
    value |= {name: agent.extra[name] for name in ("responseFormat", "jsonSchema") if name in agent.extra}
    systems = [curly(text, reader, agent.id) for text in agent.texts]
    other_messages = [
        (number, role, curly(Text(content=content), reader, agent.id))
        for number, role, content in agent.messages
    ]
    messages = with_question(systems, other_messages, INPUT)
    value["messages"] = messages
    if agent.tags:
        reader.lose("left_out", agent.id, "Left out: tags.")
    if rows := [row for case in agent.cases if (row := _row(case.item, reader, agent.id))]:
        value["testData"] = rows
    tests = (_evaluator(name, scorer, reader) for name, scorer in agent.scorers.items())
    if evaluators := [test for test in tests if test is not None]:
        value["evaluators"] = evaluators
    return str(yaml_files().dump(value))


def _row(item: Any, reader: Reader, where: str) -> dict[str, Any]:
    """Return an item as test data: its context, its input, and the expected answer."""
    row = {
        name: value
        for name, value in (item.request_context or {}).items()
        if name not in {"input", "expected"}
    }
    if isinstance(item.input, dict) and "messages" in item.input:
        reader.lose("input", where, "An input of several messages is left out.")
        return {}
    reader.lose_of_item(item, where, "metadata", "expectedTrajectory", "toolMocks")
    if taken := sorted({"input", "expected"} & set(item.request_context or ())):
        names = ", ".join(taken)
        reader.lose(
            "item", where, f"Left out of the context of items, where they mean something else: {names}."
        )
    row["input"] = item.input
    if item.ground_truth is not None:
        row["expected"] = item.ground_truth
    return row


def _evaluator(scorer_id: str, scorer: Mapping[str, Any], reader: Reader) -> dict[str, Any] | None:
    kind, config = scorer["type"], scorer.get("config") or {}
    name = scorer["name"].rpartition("/scorers/")[2]
    if kind in _STRINGS:
        values = config.get("values", [config.get("value", "{{groundTruth}}")])
        ignores_case = bool(config.get("ignoreCase"))
        if len(values) == 1 and isinstance(values[0], str) and ignores_case == (kind != "equals"):
            text = values[0].replace("{{groundTruth}}", "{{expected}}")
            return {"name": name, "string": {kind: text}}
    if kind == "llm-judge" and scorer.get("model") and config.get("choices"):
        model = scorer["model"]
        choices = [{"choice": choice["label"], "score": choice["score"]} for choice in config["choices"]]
        prompt = scorer.get("instructions") or ""
        judge = {"modelId": f"{model['provider']}/{model['name']}", "prompt": prompt, "choices": choices}
        return {"name": name, "llm": judge}
    reader.lose("scorer", scorer_id, "It is left out: the format has no such evaluator.")
    return None
