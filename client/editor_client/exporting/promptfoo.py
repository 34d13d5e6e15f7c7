"""Agents as a configuration of promptfoo: prompts, providers, tests and assertions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from editor_client.exporting.published import SETTINGS, Case, Published, Reader, Text, rewritten
from editor_client.importing.collection import shown
from editor_client.importing.yaml_text import yaml_files
from editor_client.shared import canonical

INPUT: Final = "{{input}}"
_SPECIAL: Final = re.compile(r"\{[{%#]|[}%#]\}")
_BY_ITEM: Final = re.compile(r"\{\{\s*metadata\.assert\.(\w+)\s*\}\}")


def write(agents: Iterable[Published], reader: Reader) -> str:
    """Return a configuration with these agents."""
    prompts, providers, tests = [], [], []
    for agent in agents:
        prompts.append({"label": agent.id, "raw": canonical.dump(_messages(agent, reader))})
        if agent.model:
            providers.append(_provider(agent, reader))
        else:
            reader.lose("model", agent.id, "It has no model: add a provider.")
        tests += [_test(case, agent, reader) for case in agent.cases]
    value: dict[str, Any] = {"description": "Exported from the editor", "prompts": prompts}
    if providers:
        value["providers"] = providers
    value["tests"] = tests or [{"vars": {"input": ""}}]
    return str(yaml_files().dump(value))


def nunjucks(text: Text, reader: Reader, where: str) -> str:
    """Return a text as a template that fills in the same."""

    def filled(path: str, fallback: str | None) -> str:
        if fallback is None:
            return f"{{{{{path}}}}}"
        reader.lose("fallback", where, f"The fallback of {path!r} is used for missing values, not for null.")
        return f"{{{{ {path} | default({canonical.dump(fallback)}) }}}}"

    def plain(piece: str) -> str:
        if not _SPECIAL.search(piece) and not piece.endswith("{"):
            return piece
        if "endraw" in piece:
            reader.lose("template_logic", where, "Text that looks like a template may be run as one.")
            return piece
        return f"{{% raw %}}{piece}{{% endraw %}}"

    return rewritten(text, filled, plain)


def _messages(agent: Published, reader: Reader) -> list[dict[str, str]]:
    system = "\n\n".join(nunjucks(text, reader, agent.id) for text in agent.texts)
    messages = [{"role": "system", "content": system}]
    messages += [
        {"role": role, "content": nunjucks(Text(content=content), reader, agent.id)}
        for role, content in agent.messages
    ]
    if all(one["role"] != "user" for one in messages):
        messages.append({"role": "user", "content": INPUT})
    if agent.description:
        reader.lose("left_out", agent.id, "Left out: description.")
    return messages


def _provider(agent: Published, reader: Reader) -> dict[str, Any]:
    model = agent.model or {}
    found: dict[str, Any] = {"id": f"{model['provider']}:{model['name']}", "prompts": [agent.id]}
    if config := {SETTINGS.get(name, name): one for name, one in agent.settings.items()}:
        found["config"] = config
    if more := sorted(set(model) - {"provider", "name"}):
        reader.lose("model", agent.id, f"Left out of the model: {', '.join(map(shown, more))}.")
    return found


def _test(case: Case, agent: Published, reader: Reader) -> dict[str, Any]:
    item = case.item
    variables = {**(item.request_context or {}), "input": item.input}
    test: dict[str, Any] = {"vars": variables, "options": {"disableVarExpansion": True}}
    metadata = dict(item.metadata or {})
    values = metadata.pop("assert", None)
    if metadata:
        test["metadata"] = metadata
    scorers = [(one, agent.scorers[one]) for one in case.scorer_ids if one in agent.scorers]
    found = [_assertion(name, scorer, item, values, reader) for name, scorer in scorers]
    if asserts := [one for one in found if one is not None]:
        test["assert"] = asserts
    return test


def _assertion(
    scorer_id: str, scorer: Mapping[str, Any], item: Any, values: Any, reader: Reader
) -> dict[str, Any] | None:
    """Return a scorer as an assertion on one test; None, which is noted, if there is none like it."""
    kind, config = scorer["type"], scorer.get("config") or {}
    case = "i" if config.get("ignoreCase") else ""
    listed = [_value(one, item, values) for one in config.get("values", ())]
    value = _value(config.get("value", "{{groundTruth}}"), item, values)
    found: dict[str, Any] | None = None
    if kind == "equals" and not case and value is not None:
        found = {"type": "equals", "value": value}
    elif kind == "contains" and None not in listed:
        several = f"-{config.get('mode', 'all')}" if len(listed) > 1 else ""
        found = {"type": f"{case}contains{several}", "value": listed if several else listed[0]}
    elif kind == "startsWith" and not case and value is not None:
        found = {"type": "starts-with", "value": value}
    elif kind == "regex" and not case:
        found = {"type": "regex", "value": config["pattern"]}
    elif kind == "jsonSchema":
        found = {"type": "is-json", **({"value": config["schema"]} if config["schema"] else {})}
    elif kind == "maxMilliseconds":
        found = {"type": "latency", "threshold": config["value"]}
    elif kind == "llm-judge" and scorer.get("instructions"):
        reader.lose("judge", scorer_id, "A rubric is judged in promptfoo's own words; verdicts are left out.")
        found = {"type": "llm-rubric", "value": scorer["instructions"]}
    if found is None:
        reader.lose("scorer", scorer_id, "It is left out of tests: there is no assertion like it.")
    return found


def _value(template: Any, item: Any, values: Any) -> Any:
    """Return the value of a template for an item; None if only the editor can fill it in."""
    if not isinstance(template, str) or "{{" not in template:
        return template
    if template.replace(" ", "") == "{{groundTruth}}":
        return item.ground_truth
    match = _BY_ITEM.fullmatch(template)
    return values.get(match[1]) if match and isinstance(values, dict) else None
