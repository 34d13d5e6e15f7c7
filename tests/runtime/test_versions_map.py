"""The `versions` of a request: its shape, and how several are merged."""

from __future__ import annotations

from typing import Any

import pytest

from versioning.domain.errors import Invalid
from versioning.domain.locks import Lock, LockInvalid, Pin, Terms
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status, VersionsMap
from versioning.runtime import Agent, Framework


def fields_of(value: Any, **parse: Any) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        VersionsMap.parse(value, **parse)
    return [issue.field for issue in refusal.value.issues]


def test_the_whole_map_is_read() -> None:
    versions = VersionsMap.parse(
        {
            "agents": {"a": {"status": "draft"}, "b/c": {"versionId": "v1"}, "d.e": {"label": "blue"}},
            "self": {"status": "published"},
            "defaultStatus": "draft",
            "strict": True,
        }
    )
    assert versions.agents == {"a": DRAFT, "b/c": Selector(version_id="v1"), "d.e": Selector(label="blue")}
    assert (versions.self_, versions.default_status, versions.strict) == (PUBLISHED, Status.DRAFT, True)
    for nothing in (None, {}, {"agents": {}}):
        assert VersionsMap.parse(nothing) == VersionsMap()
    agents: Any = versions.agents
    with pytest.raises(TypeError):
        agents["b"] = DRAFT


def test_a_selector_holds_exactly_one_key_and_a_problem_names_the_agent() -> None:
    for selector in (
        None,
        "draft",
        [],
        {},
        {"status": "draft", "label": "blue"},
        {"status": "Draft"},
        {"status": ["draft"]},
        {"status": None},
        {"versionId": ""},
        {"versionId": 3},
        {"label": None},
        {"version": "v1"},
    ):
        assert fields_of({"agents": {"writer": selector}}) == ["versions.agents.writer"]
        assert fields_of({"self": selector}) == ["versions.self"]


def test_all_problems_are_named_together() -> None:
    assert fields_of({"self": 1}, field="requestContext.versions") == ["requestContext.versions.self"]
    value = {"agents": {"a": {}, "b": {"status": "no"}}, "defaultStatus": "all", "strict": "yes", "agent": {}}
    assert fields_of(value) == [
        "versions.agent",
        "versions.agents.a",
        "versions.agents.b",
        "versions.defaultStatus",
        "versions.strict",
    ]


def test_wrong_types_are_refused() -> None:
    for value, field in (
        ([], "versions"),
        ("draft", "versions"),
        ({"agents": []}, "versions.agents"),
        ({"agents": None}, "versions.agents"),
        ({"defaultStatus": None}, "versions.defaultStatus"),
        ({"strict": None}, "versions.strict"),
        ({"strict": 1}, "versions.strict"),
    ):
        assert fields_of(value) == [field]


def test_maps_are_merged_per_agent_and_the_last_takes_precedence() -> None:
    weak = VersionsMap.parse(
        {"agents": {"a": {"label": "x"}, "b": {"label": "x"}}, "strict": True, "defaultStatus": "draft"}
    )
    strong = VersionsMap.parse(
        {"agents": {"b": {"label": "y"}}, "strict": False, "self": {"status": "draft"}}
    )
    merged = VersionsMap.merge(weak, strong)
    assert merged.agents == {"a": Selector(label="x"), "b": Selector(label="y")}
    assert (merged.strict, merged.default_status, merged.self_) == (False, Status.DRAFT, DRAFT)
    assert weak.agents["b"] == Selector(label="x")


LOCK = Lock(
    agents={"writer": Pin(version_id="v1", digest="d")},
    prompt_blocks={},
    terms=Terms(draft_agents=frozenset({"writer"}), own_agents={"writer": frozenset({"a", "b"})}),
)


def test_a_lock_is_opened_with_the_key_that_signed_it() -> None:
    sent = VersionsMap.parse(LOCK.sign(b"key")).lock
    assert sent is not None and sent.open(b"key") == LOCK
    with pytest.raises(LockInvalid):
        sent.open(b"another key")


def test_nothing_is_merged_with_a_lock() -> None:
    locked = VersionsMap.parse(LOCK.sign(b"key"))
    assert VersionsMap.merge(VersionsMap(), locked, VersionsMap()) == locked
    assert VersionsMap.merge(locked, locked) == locked
    with pytest.raises(Invalid, match="is a lock"):
        VersionsMap.merge(VersionsMap(strict=False), locked)


def test_a_signature_can_be_any_text() -> None:
    with pytest.raises(LockInvalid):
        VersionsMap.parse({**LOCK.sign(b"key"), "signature": "\ud800"})
    for signature in ("é", ".", "a.b.c"):
        sent = VersionsMap.parse({**LOCK.sign(b"key"), "signature": signature}).lock
        assert sent is not None
        with pytest.raises(LockInvalid):
            sent.open(b"key")


def test_without_an_editor_locks_are_refused() -> None:
    writer = Agent(
        id="writer", name="Writer", instructions="code", model={"provider": "echo", "name": "echo"}
    )
    with pytest.raises(LockInvalid):
        Framework(agents=[writer]).generate("writer", "hello", versions=LOCK.sign(b"key"))
