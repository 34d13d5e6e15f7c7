"""Editing a record: what is sent changes, nothing else does, and nothing is dropped silently."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.configurations import FULL_AGENT, FULL_BLOCK

READ_ONLY = [
    "authorId",
    "status",
    "activeVersionId",
    "latestVersionId",
    "resolvedVersionId",
    "hasDraft",
    "createdAt",
    "updatedAt",
    "versionNumber",
    "changedFields",
    "warnings",
]


def full(kind: Kind) -> dict[str, Any]:
    return FULL_AGENT if kind is AGENTS else FULL_BLOCK


def patch(api: Api, kind: Kind, changes: dict[str, Any]) -> Answer:
    return api.patch(kind.url("writer"), changes)


def config(api: Api, kind: Kind) -> dict[str, Any]:
    """Return the snapshot fields of the latest version as the next read shows them."""
    found = api.get(kind.url("writer"), status="draft").body
    return {name: found[name] for name in full(kind) if name in found}


@pytest.mark.both_kinds
def test_changing_or_clearing_one_field_leaves_all_others_unchanged(alice: Api, kind: Kind) -> None:
    whole, required = full(kind), ("name", kind.text)
    made = kind.make(alice, **whole)
    for field in required:
        refused = patch(alice, kind, {field: None, "description": "lost?"})
        assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", [field])
        assert alice.get(kind.url("writer")).body["latestVersionId"] == made["latestVersionId"]
    for field in whole:
        value = "another" if field in required else None
        changed = {**whole, field: value} if value else {one: whole[one] for one in whole if one != field}
        answer = patch(alice, kind, {field: value})
        assert (answer.status, answer.body.get(field)) == (200, value), field
        assert config(alice, kind) == changed
        assert kind.versions(alice)[0]["changedFields"] == [field]
        assert patch(alice, kind, {field: whole[field]}).status == 200
        assert config(alice, kind) == whole


def test_the_answer_to_an_edit_equals_the_next_read(alice: Api, kind: Kind) -> None:
    kind.make(alice, metadata={"a": 1})
    answer = patch(alice, kind, {**full(kind), "metadata": {"b": 2}})
    found = alice.get(kind.url("writer"), status="draft").body
    assert {**found, "warnings": answer.body["warnings"]} == answer.body
    assert config(alice, kind) == full(kind) and found["metadata"] == {"a": 1, "b": 2}


def test_an_edit_starts_from_the_draft_and_not_from_the_published_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, text="served", autoPublish=True)
    kind.save(alice, text="draft")
    body = patch(alice, kind, {"description": "new"}).body
    assert (body[kind.text], body["description"]) == ("draft", "new")


def test_absent_is_not_empty_and_empty_is_not_null(alice: Api, kind: Kind) -> None:
    kind.make(alice, description="there", requestContextSchema={"type": "object"})
    empty = patch(alice, kind, {"description": "", "requestContextSchema": {}}).body
    assert (empty["description"], empty["requestContextSchema"]) == ("", {})
    absent = patch(alice, kind, {"name": "Another"}).body
    assert (absent["description"], absent["requestContextSchema"]) == ("", {})
    cleared = patch(alice, kind, {"description": None}).body
    assert "description" not in cleared and cleared["requestContextSchema"] == {}


SAME_IN_PYTHON = [(1, True), (0, False), (1, 1.5), ({"b": 1}, {"b": True}), ([0], [False]), ("1", 1)]


def test_values_of_another_type_or_order_are_a_difference(alice: Api, kind: Kind) -> None:
    for number, (before, after) in enumerate([*SAME_IN_PYTHON, ([1, 2], [2, 1])]):
        kind.make(alice, f"w{number}", requestContextSchema={"a": before})
        body = alice.patch(kind.url(f"w{number}"), {"requestContextSchema": {"a": after}}).body
        assert str(body["requestContextSchema"]) == str({"a": after})
        assert len(kind.versions(alice, f"w{number}")) == 2, (before, after)


def test_another_way_to_write_a_number_is_no_difference(alice: Api, kind: Kind) -> None:
    kind.make(alice, requestContextSchema={"maximum": 1}, metadata={"rank": 2})
    saved = patch(alice, kind, {"requestContextSchema": {"maximum": 1.0}, "metadata": {"rank": 2.0}})
    assert len(kind.versions(alice)) == 1
    assert str(saved.body["requestContextSchema"]) == str({"maximum": 1})
    changed = patch(alice, kind, {"requestContextSchema": {"maximum": 1.0}, "description": "more"}).body
    assert kind.versions(alice)[0]["changedFields"] == ["description"]
    assert str(changed["requestContextSchema"]) == str({"maximum": 1.0})
    assert '"maximum": 1.0' in alice.post(kind.url("writer", "export?status=draft")).body["content"]


def test_another_order_of_keys_is_no_difference(alice: Api, kind: Kind) -> None:
    kind.make(alice, requestContextSchema={"a": {"x": 1, "y": 2}, "b": 3})
    assert patch(alice, kind, {"requestContextSchema": {"b": 3, "a": {"y": 2, "x": 1}}}).status == 200
    assert len(kind.versions(alice)) == 1


def test_an_unknown_or_read_only_field_is_named_and_nothing_is_saved(alice: Api, kind: Kind) -> None:
    made = kind.make(alice)
    for field in [*READ_ONLY, "nonsense", "Name", "agent_id"]:
        for value in (made.get(field), "charlie"):
            edited = patch(alice, kind, {kind.text: "two", "metadata": {"a": 1}, field: value})
            assert (edited.status, edited.code, edited.fields) == (400, "validation_failed", [field])
            created = alice.post(kind.path, kind.body(id="another", **{field: value}))
            assert (created.status, created.fields) == (400, [field])
    for field in ("id", "workspaceId"):  # are given at creation only
        answer = patch(alice, kind, {field: made[field]})
        assert (answer.status, answer.fields) == (400, [field])
    assert len(kind.versions(alice)) == 1 and alice.get(kind.url("writer")).body["metadata"] == {}
    assert alice.get(kind.url("another"), status="draft").status == 404


def test_only_agents_have_a_visibility(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = patch(alice, kind, {"visibility": "public"})
    if kind is AGENTS:
        assert (answer.status, answer.body["visibility"]) == (200, "public")
        assert alice.get(kind.url("writer")).body["visibility"] == "public"
        assert len(kind.versions(alice)) == 1
    else:
        assert (answer.status, answer.fields) == (400, ["visibility"])


def test_visibility_is_private_or_public(alice: Api) -> None:
    AGENTS.make(alice)
    for value in ("Public", "", None, True, ["public"]):
        answer = patch(alice, AGENTS, {"visibility": value})
        assert (answer.status, answer.fields) == (400, ["visibility"]), value
        created = alice.post(AGENTS.path, AGENTS.body(id="another", visibility=value))
        assert (created.status, created.fields) == (400, ["visibility"]), value


PROBLEMS = [
    ({"model": {"provider": "echo"}}, ["model.name"]),
    ({"model": [{"value": {"provider": "echo", "name": 1}}]}, ["model.0.value.name"]),
    ({"tools": {"search": {"descripton": "x"}}}, ["tools.search.descripton"]),
    ({"tools": ["search"]}, ["tools.0"]),
    ({"memory": "long"}, ["memory"]),
    ({"memory": [{"value": {}, "rule": {}}]}, ["memory.0.rule"]),
    ({"instructions": [{"type": "text"}]}, ["instructions.0.content"]),
    ({"instructions": [{"type": "text", "content": "x"}, {"type": "x"}]}, ["instructions.1.type"]),
    ({"name": 1, "description": [], "nonsense": 1}, ["description", "name", "nonsense"]),
    ({"autoPublish": "yes"}, ["autoPublish"]),
    ({"metadata": []}, ["metadata"]),
]


def test_every_problem_is_named_by_the_callers_own_field(alice: Api) -> None:
    AGENTS.make(alice)
    for changes, fields in PROBLEMS:
        answer = patch(alice, AGENTS, changes)
        assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", fields), changes
        assert all(issue["message"] for issue in answer.body["issues"]) and answer.body["error"]
    assert len(AGENTS.versions(alice)) == 1


def test_a_change_message_is_trimmed_and_a_blank_one_takes_the_default(alice: Api, kind: Kind) -> None:
    for number, blank in enumerate((None, "", " \n ")):
        kind.make(alice, f"w{number}", changeMessage=blank)
        kind.save(alice, f"w{number}", changeMessage=blank)
        kind.save(alice, f"w{number}", "three", changeMessage="\t Because of\na reason  ")
        messages = [version["changeMessage"] for version in kind.versions(alice, f"w{number}")]
        assert messages == ["Because of\na reason", "Auto-saved after edit", "Initial version"]


def test_a_change_message_has_at_most_500_characters_once_trimmed(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    assert kind.save(alice, changeMessage="  " + "ü" * 500 + "  ")[kind.text] == "two"
    assert kind.versions(alice)[0]["changeMessage"] == "ü" * 500
    for message in ("x" * 501, 1, ["why"]):
        answer = patch(alice, kind, {kind.text: "three", "changeMessage": message})
        assert (answer.status, answer.fields) == (400, ["changeMessage"])
    created = alice.post(kind.path, kind.body(id="another", changeMessage="x" * 501))
    assert (created.status, created.fields) == (400, ["changeMessage"])
    assert len(kind.versions(alice)) == 2
