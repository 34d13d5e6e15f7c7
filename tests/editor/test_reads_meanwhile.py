"""A read during which another caller writes between two of its queries is answered, and never with a 5xx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import undone
from tests.support.meanwhile import interrupted
from tests.support.served import ask, reference
from versioning.editor import Collection, Editor

Write = Callable[[Collection[Any], str, list[str]], object]
KEEPING: dict[str, Write] = {
    "publishes": lambda verbs, name, versions: verbs.publish(name, versions[0]),
    "saves and publishes": lambda verbs, name, versions: verbs.update(name, {"name": "Now"}, publish=True),
}
REMOVING: dict[str, Write] = {
    "deletes the draft": lambda verbs, name, versions: verbs.delete_version(name, versions[1]),
    "removes the label": lambda verbs, name, versions: verbs.unlabel(name, "blue"),
    "deletes it all": lambda verbs, name, versions: verbs.delete(name),
}
WRITES = {**KEEPING, **REMOVING}
LISTS: dict[str, Callable[[Api, Kind, str, list[str]], Answer]] = {
    "records": lambda api, kind, name, versions: api.get(kind.path, status="all"),
    "served agents": lambda api, kind, name, versions: api.get("/agents"),
}
SINGLES: dict[str, Callable[[Api, Kind, str, list[str]], Answer]] = {
    "record": lambda api, kind, name, versions: api.get(kind.url(name)),
    "labelled": lambda api, kind, name, versions: api.get(kind.url(name), label="blue"),
    "history": lambda api, kind, name, versions: api.get(kind.url(name, "versions")),
    "comparison": lambda api, kind, name, versions: api.get(
        kind.url(name, "versions", "compare"), **{"from": versions[0], "to": versions[1]}
    ),
    "dependents": lambda api, kind, name, versions: api.get(kind.url(name, "dependents")),
    "export": lambda api, kind, name, versions: api.post(kind.url(name, "export")),
    "served agent": lambda api, kind, name, versions: ask(api, agent_of(kind, name)),
}


def agent_of(kind: Kind, name: str) -> str:
    """Return the agent in which the resource is served: itself, or one that uses the block."""
    return name if kind is AGENTS else f"agent of {name}"


def answers(api: Api, kind: Kind, read: Callable[..., Answer]) -> dict[str, list[Answer]]:
    """Return by write how a read is answered when that write happens between any two of its queries."""
    editor = Editor()
    verbs: Collection[Any] = editor.agent if kind is AGENTS else editor.prompt

    name = "writer"
    versions = [kind.make(api, name)["latestVersionId"], kind.save(api, name)["latestVersionId"]]
    if kind is not AGENTS:
        AGENTS.make(api, agent_of(kind, name), [reference(name)])
    assert api.put(kind.url(name, "labels", "blue"), {"versionId": versions[0]}).status == 200

    def prepared_for(write: Write) -> Callable[[int], tuple[Callable[[], Answer], Callable[[], object]]]:
        return lambda _: (lambda: read(api, kind, name, versions), lambda: write(verbs, name, versions))

    return {words: list(interrupted(prepared_for(write), undone)) for words, write in WRITES.items()}


@pytest.mark.parametrize("read", LISTS)
def test_a_list_is_answered_during_any_change(alice: Api, kind: Kind, read: str) -> None:
    kind.make(alice, "unconcerned")
    AGENTS.make(alice, "agent of unconcerned", [reference("unconcerned")])
    for write, given in answers(alice, kind, LISTS[read]).items():
        assert len(given) > 2, write
        assert {answer.status for answer in given} == {200}, write
        assert all("unconcerned" in str(answer.body) for answer in given), write


@pytest.mark.parametrize("read", SINGLES)
def test_a_resource_is_read_or_not_found_during_any_change(alice: Api, kind: Kind, read: str) -> None:
    for write, given in answers(alice, kind, SINGLES[read]).items():
        assert len(given) > 2, write
        assert {answer.status for answer in given} <= ({200} if write in KEEPING else {200, 404}), write
