"""A configuration as a whole: edits, changed fields, the report of all problems, and references."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from editor_client.shared import canonical
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks
from hypothesis import given
from hypothesis import strategies as st

from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.configurations import (
    FULL_AGENT,
    FULL_BLOCK,
    SMALLEST,
    SMALLEST_AGENT,
    agent_configs,
    block_configs,
    fewer,
    json_objects,
    reordered,
)
from versioning.domain.agents import AGENT, PROMPT_BLOCK, referenced_tools
from versioning.domain.config import ConfigSchema
from versioning.domain.errors import Invalid

REQUIRED = {"name", "instructions", "content"}
MAY_BE_EMPTY = {
    f"{kind} {field}": (schema, config, field)
    for kind, schema, config in (
        ("agent", AGENT.schema, FULL_AGENT),
        ("block", PROMPT_BLOCK.schema, FULL_BLOCK),
    )
    for field in sorted(config.keys() - REQUIRED)
}
MANY_PROBLEMS: dict[str, Any] = {
    "name": " ",
    "instructions": [{"type": "text"}],
    "model": {"provider": "echo"},
    "tools": {"search": {"rules": {"operator": "AND", "conditions": [{}]}}},
    "memory": [{"rules": None}],
    "requestContextSchema": [],
    "bogus": 1,
}
NAMED_PROBLEMS = [
    "bogus",
    "instructions.0.content",
    "memory.0.value",
    "model.name",
    "name",
    "requestContextSchema",
    "tools.search.rules.conditions.0.field",
    "tools.search.rules.conditions.0.operator",
]


def full(kind: Kind) -> dict[str, Any]:
    """Return a body that sets every snapshot field, but refers to nothing."""
    return copy.deepcopy(FULL_AGENT if kind is AGENTS else FULL_BLOCK)


def fields_of(answer: Answer, kind: Kind) -> dict[str, Any]:
    """Return the snapshot fields of a record or a version."""
    return {name: answer.body[name] for name in full(kind) if name in answer.body}


def test_two_fields_are_required_and_both_are_named() -> None:
    for schema, smallest in SMALLEST.values():
        assert schema.edit_config({}, smallest) == smallest
        with pytest.raises(Invalid) as refusal:
            schema.edit_config({}, {})
        assert sorted(issue.field for issue in refusal.value.issues) == sorted(smallest)


def test_all_problems_are_reported_together_over_http_and_nothing_is_saved(alice: Api) -> None:
    refused = alice.post("/stored/agents", {**MANY_PROBLEMS, "id": "writer"})
    assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", NAMED_PROBLEMS)
    assert alice.get("/stored/agents/writer").status == 404
    with pytest.raises(Invalid) as refusal:
        AGENT.schema.edit_config({}, MANY_PROBLEMS)
    assert sorted(issue.field for issue in refusal.value.issues) == NAMED_PROBLEMS


def test_every_field_is_stored_and_read_back_as_given(alice: Api, kind: Kind) -> None:
    made = alice.post(kind.path, {**full(kind), "id": "full", "autoPublish": False})
    version = alice.get(kind.url("full", "versions", made.body["latestVersionId"]))
    read = alice.get(kind.url("full"))
    assert (made.status, version.status, read.status) == (201, 200, 200)
    for answer in (made, version, read):
        assert canonical.same(fields_of(answer, kind), full(kind))
    assert sorted(version.body["changedFields"]) == sorted(full(kind))
    alice.patch(kind.url("full"), {"name": "Another"})
    assert fields_of(alice.get(kind.url("full")), kind) == {**full(kind), "name": "Another"}


def test_null_clears_a_field_that_may_be_empty() -> None:
    for schema, config, field in MAY_BE_EMPTY.values():
        after = schema.edit_config(config, {field: None})
        assert after == {name: value for name, value in config.items() if name != field}
        assert schema.list_changes(config, after) == [field]


def test_null_does_not_clear_a_required_field_over_http(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    refused = alice.patch(kind.url("writer"), {"name": None, kind.text: None})
    assert (refused.status, refused.fields) == (400, sorted(["name", kind.text]))
    assert len(kind.versions(alice)) == 1


def test_an_edit_does_not_modify_its_arguments() -> None:
    current, changes = copy.deepcopy(FULL_AGENT), {"name": "Another", "memory": None}
    AGENT.schema.edit_config(current, changes)
    assert current == FULL_AGENT
    assert changes == {"name": "Another", "memory": None}


def test_a_value_that_json_cannot_hold_is_refused() -> None:
    for value in (float("nan"), float("inf"), {"a": {1, 2}}, {1: 2}, "\ud800", "a\0b"):
        with pytest.raises(Invalid) as refusal:
            AGENT.schema.edit_config(SMALLEST_AGENT, {"memory": {"deep": [value]}})
        assert refusal.value.issues


def test_exactly_the_fields_that_differ_are_changed() -> None:
    for before, after, changed in (
        ({}, {}, []),
        ({"memory": {"a": 1, "b": [2]}}, {"memory": {"b": [2], "a": 1}}, []),
        ({"memory": {"a": 1}}, {"memory": {"a": True}}, ["memory"]),
        ({"memory": {"a": 1}}, {"memory": {"a": 1.0}}, []),
        ({"memory": {"a": 2**53 + 1}}, {"memory": {"a": float(2**53)}}, ["memory"]),
        ({"memory": {"a": 0}}, {"memory": {"a": False}}, ["memory"]),
        ({"memory": {"a": [1, 2]}}, {"memory": {"a": [2, 1]}}, ["memory"]),
        ({}, {"memory": {}}, ["memory"]),
        ({"memory": {}}, {}, ["memory"]),
        ({"tools": {}}, {"tools": []}, ["tools"]),
        ({"name": "a"}, {"name": "a "}, ["name"]),
        ({"name": "\u00fc"}, {"name": "u\u0308"}, ["name"]),
        ({"instructions": "a"}, {"instructions": [{"type": "text", "content": "a"}]}, ["instructions"]),
        ({"browser": {}, "tools": {}}, {"name": "x", "tools": {"a": {}}}, ["name", "tools", "browser"]),
    ):
        assert sorted(AGENT.schema.list_changes(before, after)) == sorted(changed)
        assert sorted(AGENT.schema.list_changes(after, before)) == sorted(changed)


def test_references_are_found_with_their_fields() -> None:
    config = {
        **SMALLEST_AGENT,
        "instructions": [
            {"type": "text", "content": "a"},
            {"type": "prompt_block_ref", "id": "tone"},
            {"type": "prompt_block_ref", "id": "tone"},
        ],
        "agents": [{"value": {"a": {}, "team/b": {}}}, {"value": {"a": {}}, "rules": None}],
        "tools": {"search": {}, "clock": {}},
    }
    assert list(referenced_blocks(config)) == [("instructions.1.id", "tone"), ("instructions.2.id", "tone")]
    assert list(referenced_agents(config)) == [
        ("agents.0.value.a", "a"),
        ("agents.0.value.team/b", "team/b"),
        ("agents.1.value.a", "a"),
    ]
    assert list(referenced_tools(config)) == [("tools.search", "search"), ("tools.clock", "clock")]


@given(agent_configs, st.randoms(use_true_random=False))
@fewer
def test_every_allowed_agent_is_accepted_and_survives_storage(config: Any, random: Random) -> None:
    assert_survives(AGENT.schema, config, random)


@given(block_configs, st.randoms(use_true_random=False))
def test_every_allowed_block_is_accepted_and_survives_storage(config: Any, random: Random) -> None:
    assert_survives(PROMPT_BLOCK.schema, config, random)


def assert_survives(schema: ConfigSchema, config: dict[str, Any], random: Random) -> None:
    accepted = schema.edit_config({}, config)
    stored = canonical.parse(canonical.dump(accepted))
    assert canonical.same(accepted, config)
    assert stored == accepted
    assert canonical.digest(reordered(stored, random)) == canonical.digest(config)
    assert schema.list_changes(accepted, reordered(stored, random)) == []
    assert schema.edit_config(accepted, {}) == accepted
    assert sorted(schema.list_changes({}, accepted)) == sorted(accepted)


@given(agent_configs, agent_configs)
@fewer
def test_an_edit_changes_exactly_the_fields_that_it_sends(before: Any, changes: Any) -> None:
    after = AGENT.schema.edit_config(before, changes)
    assert after == {**before, **changes}
    changed = AGENT.schema.list_changes(before, after)
    assert set(changed) <= set(changes)
    assert all(canonical.same(before[name], after[name]) for name in set(before) - set(changed))


@given(st.dictionaries(st.sampled_from([*FULL_AGENT, "bogus"]), json_objects | st.integers() | st.text()))
def test_arbitrary_invalid_values_are_refused_with_the_fields_that_were_sent(changes: Any) -> None:
    try:
        AGENT.schema.edit_config(SMALLEST_AGENT, changes)
    except Invalid as refusal:
        named = {issue.field.split(".")[0] for issue in refusal.issues}
        assert named <= {*changes, "body"}
