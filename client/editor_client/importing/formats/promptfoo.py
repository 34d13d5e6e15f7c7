"""Configurations of promptfoo: prompts, the model, tests and assertions. Nothing of them is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    shown,
)
from editor_client.importing.documents import Documents
from editor_client.importing.messages import Message, messages_from, texts_of
from editor_client.importing.promptfoo_asserts import Assertions
from editor_client.importing.promptfoo_prompts import EXECUTED, Prompt, Prompts
from editor_client.importing.promptfoo_tests import Tests
from editor_client.importing.scorers import Scorers
from editor_client.importing.templates import renamed, variables

SYSTEM: Final = "promptfoo"
_NAMES: Final = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
_LEFT: Final = ("evaluateOptions", "outputPath", "env", "extensions", "nunjucksFilters", "commandLineOptions")


def read(documents: Documents) -> Collection:
    """Return what a configuration holds; PATH is its file, or the folder of a `promptfooconfig.yaml`."""
    path = documents.path
    if path.is_dir():
        found = [path / name for name in _NAMES if (path / name).is_file()]
        if not found:
            raise Unreadable(f"{shown(path.name)} holds no {_NAMES[0]}.")
        path = documents.referred(found[0].name)
    config = documents.value(path)
    if not isinstance(config, dict) or not ({"prompts", "tests", "scenarios"} & set(config)):
        raise Unreadable(f"{shown(path.name)} is no configuration: it has neither prompts nor tests.")
    collection = Collection(SYSTEM)
    _Configuration(documents, collection, config).read()
    return collection


class _Configuration:
    def __init__(self, documents: Documents, collection: Collection, config: Mapping[str, Any]) -> None:
        self.documents = documents
        self.collection = collection
        self.config = config
        self.name = a_text(config.get("description")).strip() or "promptfoo"

    def read(self) -> None:
        """Read the tests first: their variables have the same names in all prompts."""
        templates = an_object(self.config.get("assertionTemplates"))
        source = Tests(self.documents, self.collection, templates)
        tests = list(source.read(self.config))
        given = sorted({name for test in tests for name in test["vars"]})
        for name in _LEFT:
            if self.config.get(name):
                self.collection.lose("configuration", self.name, f"{name} is left out.")
        readers = self._read_prompts(given)
        if tests:
            self._read_tests(tests, source, readers, given)

    # Prompts

    def _read_prompts(self, given: list[str]) -> list[tuple[AgentReader, list[Message]]]:
        model, settings, extra = self._model()
        found = []
        for prompt in Prompts(self.documents, self.collection, self.name).read(self.config.get("prompts")):
            reader = AgentReader(self.collection, prompt.name, "jinja2", more_names=given)
            messages = self._messages(prompt)
            reader.add(messages, model=model, settings=settings, extra=extra)
            reader.finish()
            found.append((reader, messages))
        return found

    def _messages(self, prompt: Prompt) -> list[Message]:
        if isinstance(prompt.content, list):
            return messages_from(prompt.content, self.collection, prompt.name)
        return [Message(role="user", text=str(prompt.content))]

    def _model(self) -> tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any]]:
        """Return the model of the first provider, its settings, and what else it says."""
        given = self.config.get("providers", self.config.get("targets"))
        listed = given if isinstance(given, list) else [] if given is None else [given]
        where = f"{self.name}, providers"
        if len(listed) > 1:
            self.collection.lose("providers", where, f"{len(listed) - 1} providers are left out.")
            credentials.without(listed[1:], self.collection, where)
        if not listed:
            return None, {}, {}
        first = listed[0]
        if isinstance(first, dict) and "id" not in first and len(first) == 1:
            [(name, about)] = first.items()
            first = {**an_object(about), "id": name}
        provider = first if isinstance(first, dict) else {"id": first}
        name = provider.get("id")
        if isinstance(name, str) and EXECUTED.match(name):
            self.collection.lose("not_followed", where, f"{shown(name)} is left out: nothing is executed.")
            return None, {}, {}
        config = an_object(provider.get("config"))
        settings, others = models.settings_from(config, self.collection, f"{where}, config")
        return models.model_from(name, self.collection, where), settings, {"config": others} if others else {}

    # Tests

    def _read_tests(
        self,
        tests: list[dict[str, Any]],
        source: Tests,
        readers: list[tuple[AgentReader, list[Message]]],
        given: list[str],
    ) -> None:
        options = an_object(an_object(self.config.get("defaultTest")).get("options"))
        assertions = Assertions(Scorers(self.collection, f"{self.name}/scorers"), options.get("provider"))
        used = {
            name for _, found in readers for text in texts_of(found) for name in variables(text, "jinja2")
        }
        dropped = {tuple(reader.dropped_variables) for reader, _ in readers}
        asked = list(dropped.pop()) if len(dropped) == 1 else []
        needed = used - set(asked)
        names = renamed([*used, *given])
        cases = Cases(self.collection, self.name, needed=needed, dropped=asked, names=names)
        for test in tests:
            judged = assertions.judged(source.asserts(test), test["vars"])
            where = f"{self.name}, tests"
            clean = credentials.without(test["vars"], self.collection, where, by_name=False)
            metadata = credentials.without(an_object(test.get("metadata")), self.collection, where)
            if a_text(test.get("description")):
                metadata["description"] = test["description"]
            if judged.values:
                metadata["assert"] = judged.values
            if test.get("threshold") is not None:
                self.collection.lose("threshold", where, "The thresholds of tests are left out.")
            cases.add(
                clean,
                groundTruth=judged.ground_truth,
                metadata=metadata or None,
                scorerIds=judged.scorer_ids or None,
            )
        agents = [reader.id for reader, _ in readers if reader.is_made]
        scorers = self._running_scorers(cases.items)
        self.collection.datasets.append(
            Dataset(name=self.name, items=cases.items, agent_ids=agents, scorer_ids=scorers)
        )

    def _running_scorers(self, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the scorers that items name, but for those to be filled in; the first is the primary one."""
        scorers = (one for one in self.collection.resources if one.kind == "scorer")
        types = {one.id: one.snapshots[-1].config["type"] for one in scorers}
        named = dict.fromkeys(one for item in items for one in item.get("scorerIds") or ())
        running = (one for one in named if types[one] != "code")
        return sorted(running, key=lambda one: types[one] == "maxMilliseconds")
