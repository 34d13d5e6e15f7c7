"""Editing a record: what is sent changes, nothing else does, and nothing is dropped silently."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.configurations import FULL_AGENT, FULL_BLOCK

CLEARABLE = [
    pytest.param(kind, full, field, id=f"{kind.id_key}-{field}")
    for kind, full in ((AGENTS, FULL_AGENT), (PROMPT_BLOCKS, FULL_BLOCK))
    for field in full
    if field not in {"name", kind.text}
]

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
    """Return a configuration that sets every field."""
    return FULL_AGENT if kind is AGENTS else FULL_BLOCK


def patch(api: Api, kind: Kind, changes: dict[str, Any]) -> Answer:
    """Send an edit."""
    return api.patch(kind.url("writer"), changes)


def config(api: Api, kind: Kind) -> dict[str, Any]:
    """Return the snapshot fields of the latest version as the next read shows them."""
    found = api.get(kind.url("writer"), status="draft").body
    return {name: found[name] for name in full(kind) if name in found}


@pytest.mark.parametrize(("kind", "whole", "field"), CLEARABLE)
def test_clearing_one_field_leaves_all_others(
    alice: Api, kind: Kind, whole: dict[str, Any], field: str
) -> None:
    kind.make(alice, **whole)
    answer = patch(alice, kind, {field: None})
    assert answer.status == 200 and field not in answer.body
    assert config(alice, kind) == {name: value for name, value in whole.items() if name != field}
    assert kind.versions(alice)[0]["changedFields"] == [field]
    assert patch(alice, kind, {field: whole[field]}).status == 200
    assert config(alice, kind) == whole


@pytest.mark.parametrize("field", ["name", "text"])
def test_changing_a_required_field_leaves_all_others(alice: Api, kind: Kind, field: str) -> None:
    field = kind.text if field == "text" else field
    kind.make(alice, **full(kind))
    answer = patch(alice, kind, {field: "another"})
    assert (answer.status, answer.body[field]) == (200, "another")
    assert config(alice, kind) == {**full(kind), field: "another"}


def test_an_edit_that_reports_success_is_what_the_next_read_returns(alice: Api, kind: Kind) -> None:
    kind.make(alice, metadata={"a": 1})
    answer = patch(alice, kind, {**full(kind), "metadata": {"b": 2}})
    found = alice.get(kind.url("writer"), status="draft").body
    assert {**found, "warnings": answer.body["warnings"]} == answer.body
    assert config(alice, kind) == full(kind) and found["metadata"] == {"a": 1, "b": 2}


def test_the_answer_to_an_edit_is_resolved_to_the_latest_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, text="served", autoPublish=True)
    kind.save(alice, text="draft")
    body = patch(alice, kind, {"metadata": {"a": 1}}).body
    assert body[kind.text] == "draft" and body["resolvedVersionId"] == body["latestVersionId"]


def test_an_edit_starts_from_the_draft_and_not_from_what_is_served(alice: Api, kind: Kind) -> None:
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


@pytest.mark.parametrize("field", ["name", "text"])
def test_a_required_field_cannot_be_cleared(alice: Api, kind: Kind, field: str) -> None:
    field = kind.text if field == "text" else field
    made = kind.make(alice)
    answer = patch(alice, kind, {field: None, "description": "lost?"})
    assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", [field])
    assert alice.get(kind.url("writer")).body["latestVersionId"] == made["latestVersionId"]


SAME_IN_PYTHON = [(1, True), (0, False), (1, 1.5), ({"b": 1}, {"b": True}), ([0], [False]), ("1", 1)]


@pytest.mark.parametrize(("before", "after"), SAME_IN_PYTHON, ids=str)
def test_values_of_another_type_are_a_difference(alice: Api, kind: Kind, before: Any, after: Any) -> None:
    kind.make(alice, requestContextSchema={"a": before})
    body = patch(alice, kind, {"requestContextSchema": {"a": after}}).body
    assert type(body["requestContextSchema"]["a"]) is type(after)
    assert str(body["requestContextSchema"]) == str({"a": after})
    assert kind.versions(alice)[0]["versionNumber"] == 2


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


def test_another_order_of_a_list_is_a_difference(alice: Api, kind: Kind) -> None:
    kind.make(alice, requestContextSchema={"a": [1, 2]})
    patch(alice, kind, {"requestContextSchema": {"a": [2, 1]}})
    assert len(kind.versions(alice)) == 2


@pytest.mark.parametrize("field", [*READ_ONLY, "nonsense", "Name", "agent_id"])
def test_an_unknown_or_read_only_field_is_named_and_nothing_is_saved(
    alice: Api, kind: Kind, field: str
) -> None:
    made = kind.make(alice)
    for value in (made.get(field), "charlie"):
        edited = patch(alice, kind, {kind.text: "two", "metadata": {"a": 1}, field: value})
        assert (edited.status, edited.code, edited.fields) == (400, "validation_failed", [field])
        created = alice.post(kind.path, kind.body(id="another", **{field: value}))
        assert (created.status, created.fields) == (400, [field])
    assert len(kind.versions(alice)) == 1 and alice.get(kind.url("writer")).body["metadata"] == {}
    assert alice.get(kind.url("another"), status="draft").status == 404


@pytest.mark.parametrize("field", ["id", "workspaceId"])
def test_id_and_workspace_are_given_at_creation_only(alice: Api, kind: Kind, field: str) -> None:
    made = kind.make(alice)
    answer = patch(alice, kind, {field: made[field]})
    assert (answer.status, answer.fields) == (400, [field])


def test_visibility_is_of_agents_only(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = patch(alice, kind, {"visibility": "public"})
    if kind is AGENTS:
        assert (answer.status, answer.body["visibility"]) == (200, "public")
        assert alice.get(kind.url("writer")).body["visibility"] == "public"
        assert len(kind.versions(alice)) == 1
    else:
        assert (answer.status, answer.fields) == (400, ["visibility"])


@pytest.mark.parametrize("value", ["Public", "", None, True, ["public"]], ids=str)
def test_visibility_is_private_or_public(alice: Api, value: Any) -> None:
    AGENTS.make(alice)
    answer = patch(alice, AGENTS, {"visibility": value})
    assert (answer.status, answer.fields) == (400, ["visibility"])
    created = alice.post(AGENTS.path, AGENTS.body(id="another", visibility=value))
    assert (created.status, created.fields) == (400, ["visibility"])


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


@pytest.mark.parametrize(("changes", "fields"), PROBLEMS, ids=str)
def test_every_problem_is_named_by_the_callers_own_field(
    alice: Api, changes: dict[str, Any], fields: list[str]
) -> None:
    AGENTS.make(alice)
    answer = patch(alice, AGENTS, changes)
    assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", fields)
    assert all(issue["message"] for issue in answer.body["issues"]) and answer.body["error"]
    assert len(AGENTS.versions(alice)) == 1


def test_an_edit_of_what_is_not_there_is_404(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    missing = cast.charlie.patch(kind.url("nobody"), {"name": "Mine"})
    hidden = cast.charlie.patch(kind.url("writer"), {"name": "Mine"})
    assert (missing.status, hidden.status) == (404, 404) and missing.body == hidden.body


def test_a_change_message_is_trimmed(alice: Api, kind: Kind) -> None:
    kind.make(alice, changeMessage="  The beginning\n")
    kind.save(alice, changeMessage="\t Because of\na reason  ")
    messages = [version["changeMessage"] for version in kind.versions(alice)]
    assert messages == ["Because of\na reason", "The beginning"]


@pytest.mark.parametrize("message", [None, "", " \n "])
def test_a_blank_change_message_takes_the_default(alice: Api, kind: Kind, message: str | None) -> None:
    kind.make(alice, changeMessage=message)
    kind.save(alice, changeMessage=message)
    messages = [version["changeMessage"] for version in kind.versions(alice)]
    assert messages == ["Auto-saved after edit", "Initial version"]


def test_a_change_message_has_at_most_500_characters_once_trimmed(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    assert kind.save(alice, changeMessage="  " + "ü" * 500 + "  ")[kind.text] == "two"
    assert kind.versions(alice)[0]["changeMessage"] == "ü" * 500
    too_long = {kind.text: "three", "changeMessage": "x" * 501}
    answer = patch(alice, kind, too_long)
    assert (answer.status, answer.fields) == (400, ["changeMessage"])
    created = alice.post(kind.path, kind.body(id="another", changeMessage="x" * 501))
    assert (created.status, created.fields) == (400, ["changeMessage"])
    assert len(kind.versions(alice)) == 2


@pytest.mark.parametrize("message", [1, ["why"], {"why": "x"}], ids=str)
def test_a_change_message_is_text(alice: Api, kind: Kind, message: Any) -> None:
    kind.make(alice)
    answer = patch(alice, kind, {kind.text: "two", "changeMessage": message})
    assert (answer.status, answer.fields) == (400, ["changeMessage"])
