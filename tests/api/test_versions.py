"""Versions: their records, and how they are numbered, copied and deleted."""

from __future__ import annotations

import re
from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import make_history
from tests.support.configurations import FULL_AGENT, FULL_BLOCK
from versioning.domain.agents import AGENT, PROMPT_BLOCK

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def full(kind: Kind) -> dict[str, Any]:
    return FULL_AGENT if kind is AGENTS else FULL_BLOCK


def add_version(kind: Kind, api: Api, body: dict[str, Any] | None = None) -> Answer:
    """Save a copy of the published version."""
    return api.post(kind.url("writer", "versions"), body)


def restore(kind: Kind, api: Api, version_id: str, body: dict[str, Any] | None = None) -> Answer:
    return api.post(kind.url("writer", "versions", version_id, "restore"), body)


def config(kind: Kind, version: dict[str, Any]) -> dict[str, Any]:
    return {name: version[name] for name in full(kind) if name in version}


def changed(kind: Kind, api: Api) -> list[str]:
    return sorted(kind.versions(api)[0]["changedFields"])


def make_three(kind: Kind, api: Api) -> list[str]:
    """Make three versions with the texts 1, 2, 3 and return their ids."""
    ids = [kind.make(api, text="1")["resolvedVersionId"]]
    return ids + [kind.save(api, text=text)["resolvedVersionId"] for text in "23"]


def test_the_full_configurations_of_these_tests_set_every_field() -> None:
    assert (set(FULL_AGENT), set(FULL_BLOCK)) == (set(AGENT.schema.names), set(PROMPT_BLOCK.schema.names))


def test_a_version_holds_its_configuration_author_time_and_message(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    kind.save(cast.edgar, text="two", changeMessage="Because")
    version = kind.versions(cast.alice)[0]
    assert UUID.fullmatch(version.pop("id")) and TIME.fullmatch(version.pop("createdAt"))
    assert version == {
        kind.id_key: "writer",
        "versionNumber": 2,
        "name": "Writer",
        kind.text: "two",
        "changedFields": [kind.text],
        "changeMessage": "Because",
        "authorId": "edgar",
        "source": "database",
        "readOnly": False,
        "state": "draft",
        "bypassedBy": None,
        "labels": [],
    }


def test_versions_show_state_and_labels_in_lists_and_single_reads(alice: Api, kind: Kind) -> None:
    make_history(kind, alice)
    for version in kind.versions(alice):
        answer = alice.get(kind.url("writer", "versions", version["id"]))
        assert (answer.status, answer.body) == (200, version)
    shown = [(item["versionNumber"], item["state"], item["labels"]) for item in kind.versions(alice)]
    assert shown == [
        (4, "draft", []),
        (3, "published", ["stable"]),
        (2, "historical", []),
        (1, "historical", ["first"]),
    ]


def test_a_version_keeps_the_full_configuration(alice: Api, kind: Kind) -> None:
    kind.make(alice, **full(kind))
    assert changed(kind, alice) == sorted(full(kind))
    kind.save(alice)
    newest, oldest = kind.versions(alice)
    assert config(kind, oldest) == full(kind)
    assert config(kind, newest) == {**full(kind), kind.text: "two"}


def test_changed_fields_are_exactly_those_that_differ_from_the_version_before(alice: Api, kind: Kind) -> None:
    kind.make(alice, **full(kind))
    resent = {**full(kind), "name": "Another", "description": None, "metadata": {"a": 1}}
    alice.patch(kind.url("writer"), resent)
    assert changed(kind, alice) == ["description", "name"]
    alice.patch(kind.url("writer"), {"description": "", "name": "Another", "changeMessage": "x"})
    assert changed(kind, alice) == ["description"]


def test_the_changed_fields_of_a_restored_version_are_relative_to_the_previous_draft(
    alice: Api, kind: Kind
) -> None:
    first = kind.make(alice, description="first")["resolvedVersionId"]
    kind.save(alice, text="two", requestContextSchema={})
    kind.save(alice, text="two", description="third")
    answer = restore(kind, alice, first)
    assert sorted(answer.body["changedFields"]) == sorted([kind.text, "description", "requestContextSchema"])
    again = restore(kind, alice, answer.body["id"])
    assert (again.status, again.body["changedFields"], again.body["versionNumber"]) == (201, [], 5)


def test_numbers_are_never_used_twice(alice: Api, kind: Kind) -> None:
    *_, third = make_three(kind, alice)
    assert alice.delete(kind.url("writer", "versions", third)).status == 200
    assert alice.get(kind.url("writer", "versions", third)).status == 404
    kind.save(alice, text="4")
    assert [(item["versionNumber"], item[kind.text]) for item in kind.versions(alice)] == [
        (4, "4"),
        (2, "2"),
        (1, "1"),
    ]


def test_after_deleting_the_latest_version_the_newest_remaining_version_is_the_latest(
    alice: Api, kind: Kind
) -> None:
    first, second, third = make_three(kind, alice)
    kind.publish(alice, "writer", first)
    assert alice.delete(kind.url("writer", "versions", third)).status == 200
    draft = alice.get(kind.url("writer"), status="draft").body
    assert (draft["latestVersionId"], draft[kind.text], draft["hasDraft"]) == (second, "2", True)
    assert alice.delete(kind.url("writer", "versions", second)).status == 200
    left = alice.get(kind.url("writer"), status="draft").body
    assert (left["latestVersionId"], left["activeVersionId"], left["hasDraft"]) == (first, first, False)
    # An edit is compared with the remaining latest version.
    assert alice.patch(kind.url("writer"), {kind.text: "1"}).body["latestVersionId"] == first
    gone = kind.save(alice, text="2", description="gone")["latestVersionId"]
    assert alice.delete(kind.url("writer", "versions", gone)).status == 200
    kind.save(alice, text="2")
    newest = kind.versions(alice)[0]
    assert (newest["changedFields"], newest.get("description")) == ([kind.text], None)


def test_adding_a_version_copies_the_published_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True, **full(kind))
    active = kind.save(alice, text="draft", name="Draft", description=None)["activeVersionId"]
    answer = add_version(kind, alice, {"changeMessage": "  A copy "})
    assert answer.status == 201
    made = answer.body
    assert config(kind, made) == full(kind)
    assert (made["versionNumber"], made["state"], made["changeMessage"]) == (3, "draft", "A copy")
    assert sorted(made["changedFields"]) == sorted(["name", "description", kind.text])
    assert answer.headers["Location"] == f"/api{kind.url('writer', 'versions', made['id'])}"
    found = alice.get(kind.url("writer"), status="draft").body
    assert (found["activeVersionId"], found["latestVersionId"]) == (active, made["id"])


def test_adding_a_version_copies_the_latest_when_nothing_is_published(alice: Api, kind: Kind) -> None:
    make_three(kind, alice)
    for body in (None, {}):
        made = add_version(kind, alice, body).body
        assert (made[kind.text], made["changedFields"], made["state"]) == ("3", [], "draft")
    assert [item["versionNumber"] for item in kind.versions(alice)] == [5, 4, 3, 2, 1]


def test_restoring_copies_every_field_of_the_configuration(alice: Api, kind: Kind) -> None:
    first = kind.make(alice, **full(kind))["resolvedVersionId"]
    others = {name: None for name in full(kind) if name not in {"name", kind.text}}
    assert alice.patch(kind.url("writer"), {**others, "name": "Bare", kind.text: "bare"}).status == 200
    second = kind.versions(alice)[0]["id"]
    answer = restore(kind, alice, first)
    assert config(kind, answer.body) == full(kind)
    assert sorted(answer.body["changedFields"]) == sorted(full(kind))
    record = alice.get(kind.url("writer"), status="draft").body
    assert {name: record[name] for name in full(kind)} == full(kind)
    assert config(kind, restore(kind, alice, second).body) == {"name": "Bare", kind.text: "bare"}


def test_restoring_answers_201_with_the_url_of_the_new_version(alice: Api, kind: Kind) -> None:
    first, *_ = make_three(kind, alice)
    answer = restore(kind, alice, first, {"changeMessage": " Back "})
    assert (answer.status, answer.body["changeMessage"]) == (201, "Back")
    assert answer.headers["Location"] == f"/api{kind.url('writer', 'versions', answer.body['id'])}"
    assert alice.get(answer.headers["Location"].removeprefix("/api")).body == answer.body


def test_saving_restoring_and_publishing_change_no_existing_version(alice: Api, kind: Kind) -> None:
    first, second, _ = make_three(kind, alice)
    before = [{**item, "state": None} for item in kind.versions(alice)]
    kind.publish(alice, "writer", second)
    assert [{**item, "state": None} for item in kind.versions(alice)] == before
    restore(kind, alice, first)
    kind.save(alice, text="4", description="new", autoPublish=True)
    assert [{**item, "state": None} for item in kind.versions(alice)[2:]] == before


def test_a_verb_takes_a_change_message_and_no_fields_of_a_configuration(alice: Api, kind: Kind) -> None:
    first = kind.make(alice)["resolvedVersionId"]
    activate = kind.url("writer", "versions", first, "activate")
    for body in ({"changeMessage": "x" * 501}, {"changeMessage": 1}, {"name": "Sneaked in"}):
        answers = [add_version(kind, alice, body), restore(kind, alice, first, body)]
        answers += [alice.post(activate, body)] if "name" in body else []
        assert [(answer.status, answer.fields) for answer in answers] == [(400, [*body])] * len(answers)
    assert len(kind.versions(alice)) == 1


def delete_version(kind: Kind, api: Api, version_id: str) -> Answer:
    return api.delete(kind.url("writer", "versions", version_id))


def test_a_version_that_nothing_needs_can_be_deleted(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    for doomed in (history.draft, history.historical):
        answer = delete_version(kind, alice, doomed)
        assert (answer.status, answer.body["success"], set(answer.body)) == (
            200,
            True,
            {"success", "message"},
        )
        assert doomed not in [version["id"] for version in kind.versions(alice)]
        assert alice.get(kind.url("writer"), versionId=doomed).status == 404
        assert delete_version(kind, alice, doomed).status == 404
    assert alice.get(kind.url("writer")).body["activeVersionId"] == history.published


def test_a_published_or_labelled_version_cannot_be_deleted(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    assert alice.delete(kind.url("writer", "labels", "stable")).status == 200
    for needed in (history.published, history.labelled):
        answer = delete_version(kind, alice, needed)
        assert answer.status == 400 and answer.body["issues"] and answer.body["error"]
    assert len(kind.versions(alice)) == 4
    assert alice.post(kind.url("writer", "unpublish")).status == 200
    assert delete_version(kind, alice, history.published).status == 200


def test_the_only_version_cannot_be_deleted(alice: Api, kind: Kind) -> None:
    only = kind.make(alice)["resolvedVersionId"]
    assert delete_version(kind, alice, only).status == 400
    assert [version["id"] for version in kind.versions(alice)] == [only]
