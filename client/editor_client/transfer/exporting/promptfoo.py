"""Agents as a configuration of promptfoo: prompts, providers, tests and assertions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.instructions import placeholders
from editor_client.shared.promptfoo import data_text, escape, is_plain, is_plain_within, pieces
from editor_client.transfer.exporting.published import (
    SETTINGS,
    Case,
    Published,
    Reader,
    Text,
    rewritten,
    with_question,
)
from editor_client.transfer.importing.agents import BUILT_IN
from editor_client.transfer.importing.collection import excerpt
from editor_client.transfer.importing.documents import yaml_files
from editor_client.transfer.importing.formats.promptfoo import (
    DIGEST,
    EXTERNAL_ID,
    JOINED,
    JSON,
    METADATA,
    NAMES,
    SOURCE,
    WRITTEN,
)

INPUT: Final = "input"
"""The variable with the input of an item."""
TITLE: Final = "Exported from the editor"
PROVIDERS: Final[Mapping[str, str]] = {
    "azure-responses": "azure:responses",
    "google-cloud": "vertex",
    "meta": "llamaapi",
    "moonshotai": "moonshot",
    "openai-chat": "openai:chat",
    "openai-responses": "openai:responses",
    "together": "togetherai",
}
"""promptfoo's names of providers, if they differ."""
ENVIRONMENT: Final = "env"
"""The variable that promptfoo fills in from the environment."""
_BY_ITEM: Final = re.compile(r"\{\{\s*metadata\.assert\.(\w+)\s*\}\}", re.ASCII)


def write(agents: Iterable[Published], reader: Reader) -> str:
    """Return a configuration with these agents.

    promptfoo executes its input, so all texts of items are written so that it leaves them unchanged.
    """
    agents = list(agents)
    variables = Variables.of(agents, reader)
    prompts, providers, tests = [], [], []
    written: set[str] = set()
    for agent in agents:
        label = _plain_name(agent.id, agent.id, reader)
        raw = canonical.dump(_messages(agent, variables, reader))
        prompts.append({"label": label, "raw": raw})
        if provider := _provider(agent, label, reader):
            providers.append(provider)
        # A test is for all prompts, as an item is for all targets of its dataset.
        new = [case for case in agent.cases if case.item.id not in written]
        written |= {case.item.id for case in new}
        candidates = (_test(case, agent, variables, reader) for case in new)
        tests += [test for test in candidates if test is not None]
    datasets = {case.dataset.name: case.dataset for agent in agents for case in agent.cases}
    own: dict[str, Any] = {JOINED: sorted(variables.joined)} if variables.joined else {}
    if names := {agent.id: agent.name for agent in agents if agent.name != agent.id and is_plain(agent.name)}:
        own[NAMES] = names
    title = TITLE
    if len(datasets) == 1:
        [(name, dataset)] = datasets.items()
        title = _plain_name(name, TITLE, reader)
        source = ((dataset.metadata or {}).get("origin") or {}).get("name")
        if isinstance(source, str) and source != title and is_plain(source):
            own[SOURCE] = source
    value: dict[str, Any] = {"description": title, "prompts": prompts}
    if providers:
        value["providers"] = providers
    value["tests"] = tests or [{"vars": {INPUT: ""}}]
    if own:
        value["metadata"] = {WRITTEN: own}
    return str(yaml_files().dump(value))


@dataclass(frozen=True)
class Variables:
    """The form of the variables of tests: in pieces, if promptfoo would execute the text of any test."""

    joined: frozenset[str]
    """The variables whose values are lists of pieces."""
    deep: frozenset[str]
    """The variables whose members templates name: they stay objects."""

    @classmethod
    def of(cls, agents: Sequence[Published], reader: Reader) -> Variables:
        """Return how to write the variables of these agents; they have the same names in all of them."""
        contents = [
            content
            for agent in agents
            for content in (
                *(text.content for text in agent.texts if not text.is_literal),
                *(content for _, _, content in agent.messages),
            )
        ]
        paths = {INPUT, *(path for content in contents for path, _ in placeholders(content))}
        deep = {path.partition(".")[0] for path in paths if "." in path}
        joined = set()
        for agent in agents:
            for case in agent.cases:
                for name, value in _values(case).items():
                    is_text = isinstance(value, str)
                    is_nested = isinstance(value, dict | list)
                    if (is_nested and name in paths) or not is_plain_within(value):
                        joined.add(name)
                    if is_text and value.endswith("\n") and name not in joined:
                        lost = f"promptfoo cuts the line break at the end of {excerpt(name)!r}."
                        reader.lose("line_break", _item_name(case, agent), lost)
        return cls(frozenset(joined - deep), frozenset(deep))

    def placeholder(self, path: str, fallback: str | None) -> str:
        """Return a placeholder as a template."""
        is_joined = path in self.joined
        if fallback is None:
            return f"{{{{ {path} | join }}}}" if is_joined else f"{{{{{path}}}}}"
        default = canonical.dump([fallback] if is_joined else fallback)
        return f"{{{{ {path} | default({default}){' | join' if is_joined else ''} }}}}"

    def written(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the variables of a test, and which of them are JSON; raises `Refused`."""
        test_vars: dict[str, Any] = {}
        as_json = []
        for name, value in values.items():
            if name in ("$ref", "__proto__"):
                raise Refused(f"promptfoo would not take {name!r} for the name of a variable")
            if name in self.joined:
                if isinstance(value, dict | list):
                    as_json.append(name)
                    test_vars[name] = pieces(canonical.display_text(value))
                else:
                    test_vars[name] = pieces(value) if isinstance(value, str) else [value]
            elif is_plain_within(value):
                test_vars[name] = value
            else:
                raise Refused(f"promptfoo would run a text in {name!r}, of which prompts name members")
        for name in sorted(self.joined - values.keys()):
            test_vars[name] = []  # which joins to an empty text
        return test_vars, as_json


class Refused(Exception):
    """A text cannot be written so that promptfoo leaves it unchanged."""


def nunjucks(text: Text, variables: Variables, reader: Reader, where: str) -> str:
    """Return a text as a template that renders the same."""

    def fill(path: str, fallback: str | None) -> str:
        if path.partition(".")[0] == ENVIRONMENT:
            reader.lose("variable", where, f"{path!r} would be the environment there: it stays as text.")
            return escape(f"{{{{ {path} }}}}")
        if fallback is not None:
            message = f"The fallback of {path!r} is used for missing values, not for null."
            reader.lose("fallback", where, message)
            if not is_plain(fallback):
                reader.lose("fallback", where, f"The fallback of {path!r} is left out: it would be run.")
                fallback = None
        return variables.placeholder(path, fallback)

    return rewritten(text, fill, escape)


def _messages(agent: Published, variables: Variables, reader: Reader) -> list[dict[str, str]]:
    if agent.description:
        reader.lose("left_out", agent.id, "Left out: description.")
    if agent.tags:
        reader.lose("left_out", agent.id, "Left out: tags.")
    systems = [nunjucks(text, variables, reader, agent.id) for text in agent.texts]
    other_messages = [
        (number, role, nunjucks(Text(content=content), variables, reader, agent.id))
        for number, role, content in agent.messages
    ]
    return with_question(systems, other_messages, variables.placeholder(INPUT, None))


def _plain_name(text: str, instead: str, reader: Reader) -> str:
    """Return a name that promptfoo leaves unchanged."""
    if is_plain(text):
        return text
    plain = "".join(pieces(text)) if instead != text else text
    plain = re.sub(r"\{(?=[{%#])", "(", plain).replace("://", ":").replace("package:", "package ")
    reader.lose("name", text, f"promptfoo would run a part of this name: it is {excerpt(plain)!r} there.")
    return plain


def _provider(agent: Published, label: str, reader: Reader) -> dict[str, Any] | None:
    """Return the model as a provider; None, with a note, if promptfoo has no equivalent."""
    model = agent.model
    reader.lose_of_model(agent)
    reason = ""
    if not model:
        reason = "It has no model: add a provider."
    elif model["provider"] not in BUILT_IN or not is_plain(model["name"]):
        provider, name = excerpt(model["provider"]), excerpt(model["name"])
        reason = f"promptfoo has no provider {provider!r}: add one for {name}."
    if not model or reason:
        if agent.settings:
            reason = f"{reason} Left out with it: {', '.join(map(excerpt, agent.settings))}."
        reader.lose("model", agent.id, reason)
        return None
    provider = PROVIDERS.get(model["provider"], model["provider"])
    entry: dict[str, Any] = {"id": f"{provider}:{model['name']}", "prompts": [label]}
    config = {SETTINGS.get(name, name): setting for name, setting in agent.settings.items()}
    for name in [name for name, value in config.items() if not is_plain_within(value)]:
        reader.lose("setting", agent.id, f"Left out, because promptfoo would run it: {excerpt(name)}.")
        del config[name]
    if config:
        entry["config"] = config
    return entry


def _item_name(case: Case, agent: Published) -> str:
    """Return the name of an item for losses."""
    return f"{agent.id}, item {case.item.external_id or case.item.id}"


def _values(case: Case) -> dict[str, Any]:
    return {**(case.item.request_context or {}), INPUT: case.item.input}


def _test(case: Case, agent: Published, variables: Variables, reader: Reader) -> dict[str, Any] | None:
    """Return an item as a test; None, with a note, if promptfoo would execute a part of it."""
    item, where = case.item, _item_name(case, agent)
    try:
        values, as_json = variables.written(_values(case))
    except Refused as error:
        reader.lose("refused", where, f"The item is left out: {error}.")
        return None
    test: dict[str, Any] = {"vars": values, "options": {"disableVarExpansion": True}}
    metadata = dict(item.metadata or {})
    by_scorer = metadata.pop("assert", None)
    own: dict[str, Any] = {JSON: as_json} if as_json else {}
    if metadata and (not is_plain_within(metadata) or WRITTEN in metadata):
        own[METADATA] = data_text(metadata)
        metadata = {}
    scorers = [
        (scorer_id, agent.scorers[scorer_id]) for scorer_id in case.scorer_ids if scorer_id in agent.scorers
    ]
    assertions = [_assertion(name, scorer, item, by_scorer, reader) for name, scorer in scorers]
    if asserts := [test for test in assertions if test is not None]:
        test["assert"] = asserts
    reader.lose_of_item(item, agent.id, "expectedTrajectory", "toolMocks")
    truth = item.ground_truth
    told = escape(truth) if isinstance(truth, str) else truth
    compared = [test.get("value") for test in asserts]
    if truth is not None and not any(
        told in (value if isinstance(value, list) else [value]) for value in compared
    ):
        reader.lose("item", where, "Its ground truth is left out: no assertion compares with it.")
    if metadata:
        test["metadata"] = metadata
    external_id = item.external_id
    if external_id and is_plain(external_id) and len(asserts) < len(case.scorer_ids):
        # An omitted part does not change the item, as long as the test is not edited.
        own |= {EXTERNAL_ID: external_id, DIGEST: canonical.digest(test)}
    if own:
        test["metadata"] = {**metadata, WRITTEN: own}
    return test


def _assertion(
    scorer_id: str, scorer: Mapping[str, Any], item: Any, values: Any, reader: Reader
) -> dict[str, Any] | None:
    """Return a scorer as an assertion on one test; None, with a note, if promptfoo has no equivalent."""
    assertion = _like(scorer, item, values)
    if assertion is None:
        reader.lose("scorer", scorer_id, "It is left out of tests: there is no assertion like it.")
        return None
    if assertion["type"] == "llm-rubric":
        reader.lose("judge", scorer_id, "A rubric is judged in promptfoo's own words; verdicts are left out.")
    value = assertion.get("value")
    if assertion["type"] == "is-json" and not is_plain_within(value):
        assertion["value"] = data_text(value)  # a schema given as text is also one
    elif isinstance(value, str):
        assertion["value"] = escape(value)
    elif isinstance(value, list) and scorer["type"] == "contains":
        assertion["value"] = [escape(entry) if isinstance(entry, str) else entry for entry in value]
    elif not is_plain_within(value):
        message = f"The scorer {excerpt(scorer_id)} is left out: promptfoo would run a part of its value."
        reader.lose("refused", f"item {item.external_id or item.id}", message)
        return None
    return assertion


def _like(scorer: Mapping[str, Any], item: Any, values: Any) -> dict[str, Any] | None:
    """Return the assertion that corresponds to a scorer, with its value as data; None if there is none."""
    kind, config = scorer["type"], scorer.get("config") or {}
    case = "i" if config.get("ignoreCase") else ""
    if kind == "contains":
        texts = [_value(text, item, values) for text in config["values"]]
        several = f"-{config.get('mode', 'all')}" if len(texts) > 1 else ""
        return (
            None
            if None in texts
            else {"type": f"{case}contains{several}", "value": texts if several else texts[0]}
        )
    if kind in {"equals", "startsWith"}:
        value = _value(config.get("value", "{{groundTruth}}"), item, values)
        their_type = {"equals": "equals", "startsWith": "starts-with"}[kind]
        return None if case or value is None else {"type": their_type, "value": value}
    if kind == "regex" and not case:
        return {"type": "regex", "value": config["pattern"]}
    if kind == "jsonSchema":
        return {"type": "is-json", **({"value": config["schema"]} if config["schema"] else {})}
    assertion: dict[str, Any] | None = None
    if kind == "maxMilliseconds":
        assertion = {"type": "latency", "threshold": config["value"]}
    elif kind == "llm-judge" and scorer.get("instructions"):
        assertion = {"type": "llm-rubric", "value": scorer["instructions"]}
    return assertion


def _value(template: Any, item: Any, values: Any) -> Any:
    """Return the value of a template for an item; None if only the editor can fill it in."""
    if not isinstance(template, str) or "{{" not in template:
        return template
    if template.replace(" ", "") == "{{groundTruth}}":
        return item.ground_truth
    match = _BY_ITEM.fullmatch(template)
    return values.get(match[1]) if match and isinstance(values, Mapping) else None
