"""Configurations of promptfoo: prompts, the model, tests and assertions. Nothing of them is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from editor_client.transfer.importing import credentials, models
from editor_client.transfer.importing.agents import AgentReader
from editor_client.transfer.importing.cases import Cases
from editor_client.transfer.importing.collection import (
    Collection,
    Dataset,
    Unreadable,
    a_text,
    an_object,
    shown,
)
from editor_client.transfer.importing.documents import Documents, parse_json
from editor_client.transfer.importing.members import Members, nested
from editor_client.transfer.importing.messages import Message, messages_from, texts_of
from editor_client.transfer.importing.promptfoo_asserts import Assertions
from editor_client.transfer.importing.promptfoo_prompts import EXECUTED, Prompt, Prompts
from editor_client.transfer.importing.promptfoo_tests import DIGEST, EXTERNAL_ID, WRITTEN, Tests
from editor_client.transfer.importing.scorers import Scorers
from editor_client.transfer.importing.templates import renamed, variables

SYSTEM: Final = "promptfoo"
_NAMES: Final = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
JOINED: Final = "joined"
"""The member of the metadata that an export writes: the variables whose texts are lists of pieces."""
JSON: Final = "json"
"""The member of the metadata of a test that an export writes: the variables whose texts are JSON."""
METADATA: Final = "metadata"
"""The member with metadata as JSON, which promptfoo would not take as they are."""
NAMES: Final = "names"
"""The member of the metadata that an export writes: the names of agents, by the labels of their prompts."""
SOURCE: Final = "source"
"""The member with the name that the dataset had in the source that it was imported from."""


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
        self.name = a_text(config.get("description")).strip() or "promptfoo"
        self.members = Members(config, collection, self.name)
        self.titles: dict[str, str] = {}
        self.source = self.name
        self.left: dict[str, Any] = {}
        """What belongs to the whole configuration, and has no place in the editor."""

    def read(self) -> None:
        """Read the tests first: their variables have the same names in all prompts."""
        since = self.collection.mark()
        self.members.text("description")
        templates = self.members.mapping("assertionTemplates")
        metadata = self.members.members("metadata")
        written = metadata.members(WRITTEN)
        joined = [name for name in written.listed(JOINED) if isinstance(name, str)]
        self.titles = {
            name: value for name, value in written.mapping(NAMES).items() if isinstance(value, str)
        }
        self.source = written.text(SOURCE) or self.name
        source = Tests(self.documents, self.collection, templates)
        tests = [_with_joined(test, joined) for test in source.read(self.members)]
        given = sorted({name for test in tests for name in test.get("vars", {})})
        readers = self._read_prompts(given, joined)
        if tests:
            self._read_tests(tests, source, readers, given)
        unused = Members(
            {name: template for name, template in templates.items() if name not in source.used_templates},
            self.collection,
            f"{self.name}, assertionTemplates",
        )
        self.left |= source.left
        self.left |= nested(assertionTemplates=unused.left(code="configuration"))
        about = {**metadata.left(code="configuration"), **nested(editor=written.left())}
        self.left |= nested(metadata=about)
        self.left |= self.members.left(code="configuration")
        self.collection.attach(nested(configuration=self.left), since, self.name)

    # Prompts

    def _read_prompts(
        self, given: list[str], joined: Sequence[str]
    ) -> list[tuple[AgentReader, list[Message]]]:
        providers = self._providers()
        found = []
        prompts = Prompts(self.documents, self.collection, self.name)
        used = set()
        for prompt in prompts.read(self.members.take("prompts")):
            place = next(
                (place for place, (_, names) in enumerate(providers) if not names or prompt.name in names),
                None,
            )
            model, settings, extra = (None, {}, {}) if place is None else self._model(providers[place][0])
            used.add(place)
            title = self.titles.get(prompt.name, "")
            reader = AgentReader(self.collection, prompt.name, "jinja2", title=title, more_names=given)
            messages = [_without_join(message, joined) for message in self._messages(prompt)]
            more = {**extra, **nested(prompt=prompt.left)}
            reader.add(messages, model=model, settings=settings, extra=more)
            reader.finish()
            found.append((reader, messages))
        self.left |= nested(prompts=prompts.unread)
        where = f"{self.name}, providers"
        if unused := [provider for place, (provider, _) in enumerate(providers) if place not in used]:
            message = f"{len(unused)} providers are left out; metadata.import has them."
            self.collection.lose("providers", where, message)
            self.left["providers"] = credentials.without(unused, self.collection, where)
        return found

    def _messages(self, prompt: Prompt) -> list[Message]:
        if isinstance(prompt.content, list):
            return messages_from(prompt.content, self.collection, prompt.name)
        return [Message(role="user", text=str(prompt.content))]

    def _providers(self) -> list[tuple[dict[str, Any], list[str]]]:
        """Return the providers as objects, each with the names of the prompts that it is for, if any."""
        given = self.members.take("providers" if "providers" in self.members else "targets")
        found = []
        for entry in given if isinstance(given, list) else [] if given is None else [given]:
            provider = entry if isinstance(entry, dict) else {"id": entry}
            if "id" not in provider and len(provider) == 1:
                [(name, about)] = provider.items()
                provider = {**an_object(about), "id": name}
            names = provider.get("prompts")
            is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if is_list:
                provider = {name: value for name, value in provider.items() if name != "prompts"}
            found.append((provider, list(names) if is_list and names else []))
        return found

    def _model(
        self, given: Mapping[str, Any]
    ) -> tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any]]:
        """Return the model of a provider, its settings, and what else it says."""
        where = f"{self.name}, providers"
        provider = Members(dict(given), self.collection, where)
        name = provider.take("id")
        config = provider.members("config")
        model = None
        if isinstance(name, str) and EXECUTED.match(name):
            self.collection.lose("not_followed", where, f"{shown(name)} is left out: nothing is executed.")
        else:
            model = models.model_from(name, self.collection, where)
        # Settings are those of a model: without one they stay with the provider.
        settings = {} if model is None else models.settings_in(config)
        kept = {**models.without_place(name, model), **provider.left()}
        extra = nested(config=config.left(), provider=credentials.without(kept, self.collection, where))
        return model, settings, extra

    # Tests

    def _read_tests(
        self,
        tests: list[dict[str, Any]],
        source: Tests,
        readers: list[tuple[AgentReader, list[Message]]],
        given: list[str],
    ) -> None:
        scorers = Scorers(self.collection, f"{self.name}/scorers", title=f"{self.source}/scorers")
        used = {
            name for _, found in readers for text in texts_of(found) for name in variables(text, "jinja2")
        }
        dropped = {tuple(reader.dropped_variables) for reader, _ in readers}
        asked = list(dropped.pop()) if len(dropped) == 1 else []
        needed = used - set(asked)
        names = renamed([*used, *given])
        cases = Cases(self.collection, self.name, needed=needed, dropped=asked, names=names)
        assertions = Assertions(scorers)
        for test in tests:
            asserts, unread = source.asserts(test)
            judge = test.get("options", {}).get("provider")
            judged = assertions.judged(asserts, test.get("vars", {}), judge)
            where = f"{self.name}, tests"
            clean = credentials.without(test.get("vars", {}), self.collection, where, by_name=False)
            metadata = credentials.without(test.get("metadata", {}), self.collection, where)
            left = dict(test.get("left", {})) | nested(asserts=[*unread, *judged.left])
            own = nested(description=test.get("description"), assert_=judged.values)
            for name, value in ((key.rstrip("_"), content) for key, content in own.items()):
                if name in metadata:
                    message = f"{name!r} in the metadata of tests has no place beside that of the test."
                    self.collection.lose("metadata", where, f"{message} metadata.import has it.")
                    left.setdefault("metadata", {})[name] = metadata[name]
                metadata[name] = value
            cases.add(
                clean,
                external=test.get("externalId"),
                left=left,
                groundTruth=judged.ground_truth,
                metadata=metadata,
                scorerIds=judged.scorer_ids or None,
            )
        self.left |= nested(judges=assertions.judges_left())
        agents = [reader.id for reader, _ in readers if reader.is_made]
        running = self._running_scorers(cases.items)
        self.collection.datasets.append(
            Dataset(
                name=self.name,
                source_name=self.source,
                items=cases.items,
                agent_ids=agents,
                scorer_ids=running,
            )
        )

    def _running_scorers(self, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the scorers that items name, but for those to be filled in; the first is the primary one."""
        scorers = (resource for resource in self.collection.resources if resource.kind == "scorer")
        types = {scorer.id: scorer.snapshots[-1].config["type"] for scorer in scorers}
        named = dict.fromkeys(scorer_id for item in items for scorer_id in item.get("scorerIds") or ())
        running = (scorer_id for scorer_id in named if types[scorer_id] != "code")
        return sorted(running, key=lambda one: types[one] == "maxMilliseconds")


def _with_joined(test: Mapping[str, Any], joined: Sequence[str]) -> dict[str, Any]:
    """Return a test with the texts that an export of the editor has written in pieces, or as JSON."""
    given, metadata = dict(test.get("vars", {})), dict(test.get("metadata", {}))
    own = an_object(metadata.get(WRITTEN))
    as_json = own.get(JSON)
    for name in joined:
        value = given.get(name)
        if not isinstance(value, list):
            continue
        if value == []:
            del given[name]
        elif not all(isinstance(entry, str) for entry in value):
            given[name] = value[0] if len(value) == 1 else value
        else:
            text = "".join(value)
            is_json = isinstance(as_json, list) and name in as_json
            given[name] = parse_json(text, f"vars.{name}") if is_json else text
    known = {JSON, METADATA, EXTERNAL_ID, DIGEST}
    if set(own) & known and not set(own) - known:
        del metadata[WRITTEN]
        if isinstance(own.get(METADATA), str):
            metadata = {**an_object(parse_json(own[METADATA], WRITTEN)), **metadata}
    return {**test, "vars": given, "metadata": metadata}


def _without_join(message: Message, joined: Sequence[str]) -> Message:
    """Return a message in which the variables that an export has written in pieces are plain ones."""
    if message.text is None or not joined:
        return message
    names = "|".join(map(re.escape, joined))
    return replace(message, text=re.sub(rf"\{{\{{ ({names}) \| join \}}\}}", r"{{\1}}", message.text))
