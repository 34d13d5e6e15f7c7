"""What saving, restoring and updating do to the draft, and never to what is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.lifecycle import (
    Begin,
    begin_as_published,
    begin_with_draft_over_published,
    begin_with_old_version_published,
    from_any_start,
    record,
    served,
)
from versioning.editor import Editor


@from_any_start
def test_saving_a_difference_makes_a_new_latest_version(alice: Api, kind: Kind, begin: Begin) -> None:
    begin(kind, alice)
    before, known = record(kind, alice), kind.versions(alice)
    after = kind.save(alice, text="different")
    newest, *others = kind.versions(alice)
    assert [version["id"] for version in others] == [version["id"] for version in known]
    assert after["latestVersionId"] == newest["id"] != before["latestVersionId"]
    assert newest["versionNumber"] == known[0]["versionNumber"] + 1
    assert (newest[kind.text], newest["changedFields"]) == ("different", [kind.text])


@from_any_start
def test_saving_never_moves_the_published_version(alice: Api, kind: Kind, begin: Begin) -> None:
    begin(kind, alice)
    before = record(kind, alice)
    after = kind.save(alice, text="different")
    assert after["activeVersionId"] == before["activeVersionId"]
    assert after["status"] == before["status"]
    assert after["resolvedVersionId"] == after["latestVersionId"] and after["hasDraft"] is True


NO_DIFFERENCE: list[dict[str, Any]] = [
    {},
    {"name": "Writer"},
    {"description": None},
    {"changeMessage": "nothing to say"},
    {"metadata": {"team": "one"}},
    {"name": "Writer", "metadata": {"team": "one"}, "changeMessage": "moved"},
]


@from_any_start
def test_saving_no_difference_or_only_metadata_makes_no_version(alice: Api, kind: Kind, begin: Begin) -> None:
    begin(kind, alice)
    before, known = record(kind, alice), kind.versions(alice)
    for changes in NO_DIFFERENCE:
        assert alice.patch(kind.url("writer"), changes).status == 200
        assert kind.versions(alice) == known, changes
    after = record(kind, alice)
    assert [after[pointer] for pointer in ("latestVersionId", "activeVersionId", "status")] == [
        before[pointer] for pointer in ("latestVersionId", "activeVersionId", "status")
    ]


def test_saving_the_text_that_is_there_makes_no_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, text="one")
    kind.save(alice, text="one")
    assert [version["versionNumber"] for version in kind.versions(alice)] == [1]


def test_an_edit_that_goes_back_to_the_published_text_is_still_a_new_version(cast: Cast, kind: Kind) -> None:
    begin_with_draft_over_published(kind, cast.alice)
    back = kind.save(cast.alice, text="one")
    assert [version["versionNumber"] for version in kind.versions(cast.alice)] == [3, 2, 1]
    assert back["hasDraft"] is True and back["latestVersionId"] != back["activeVersionId"]


def draft_by_saving(kind: Kind, api: Api, version_id: str) -> None:
    kind.save(api, text="draft")


def draft_by_restoring(kind: Kind, api: Api, version_id: str) -> None:
    assert api.post(kind.url("writer", "versions", version_id, "restore")).status == 201


def draft_by_adding_a_version(kind: Kind, api: Api, version_id: str) -> None:
    assert api.post(kind.url("writer", "versions")).status == 201


@pytest.mark.parametrize("make_draft", [draft_by_saving, draft_by_restoring, draft_by_adding_a_version])
def test_making_a_draft_leaves_what_is_served_unchanged(
    cast: Cast, kind: Kind, make_draft: Callable[[Kind, Api, str], None]
) -> None:
    old = kind.make(cast.alice, text="old")["resolvedVersionId"]
    active = kind.save(cast.alice, text="served", autoPublish=True)["activeVersionId"]
    seen = cast.vera.get(kind.url("writer")).body
    make_draft(kind, cast.alice, old)
    now = cast.vera.get(kind.url("writer")).body
    assert {**now, "updatedAt": None} == {**seen, "updatedAt": None}
    after = record(kind, cast.alice)
    assert after["activeVersionId"] == active != after["latestVersionId"] and after["hasDraft"] is True


def test_a_draft_leaves_the_agent_that_applications_use_unchanged(cast: Cast) -> None:
    AGENTS.make(cast.alice, text="served", autoPublish=True)
    seen = cast.vera.get("/agents/writer").body
    AGENTS.save(cast.alice, text="draft", name="Another")
    assert cast.vera.get("/agents/writer").body == seen
    assert cast.alice.get("/agents/writer").body == seen


@pytest.mark.parametrize("number", [1, 2, 3, 4], ids=["historical", "published", "historical-newer", "draft"])
def test_restoring_a_version_always_makes_a_new_draft_and_leaves_the_published_one_serving(
    cast: Cast, kind: Kind, number: int
) -> None:
    ids = [kind.make(cast.alice, text="text 1")["resolvedVersionId"]]
    ids += [kind.save(cast.alice, text=f"text {n}")["resolvedVersionId"] for n in (2, 3, 4)]
    kind.publish(cast.alice, "writer", ids[1])
    answer = cast.alice.post(kind.url("writer", "versions", ids[number - 1], "restore"))
    assert answer.status == 201
    made = answer.body
    assert made["id"] not in ids and made["versionNumber"] == 5 and made["state"] == "draft"
    assert (made[kind.text], made["changeMessage"]) == (f"text {number}", f"Restored from version {number}")
    after = record(kind, cast.alice)
    assert (after["activeVersionId"], after["latestVersionId"]) == (ids[1], made["id"])
    assert served(kind, cast) == "text 2"


def test_restoring_leaves_the_version_that_was_published_in_history(alice: Api, kind: Kind) -> None:
    begin_with_old_version_published(kind, alice)
    before = kind.versions(alice)
    draft_by_restoring(kind, alice, before[1]["id"])
    newest, *others = kind.versions(alice)
    assert [version["id"] for version in others] == [version["id"] for version in before]
    assert [version["state"] for version in (newest, *others)] == [
        "draft",
        "historical",
        "historical",
        "published",
    ]


def test_saving_never_rewrites_an_older_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, text="text 1", description="first", autoPublish=True)
    for number in (2, 3):
        before = kind.versions(alice)
        kind.save(alice, text=f"text {number}", description=f"edit {number}", autoPublish=number == 3)
        kept = kind.versions(alice)[1:]
        assert [{**version, "state": None} for version in kept] == [
            {**version, "state": None} for version in before
        ]


def test_a_version_is_a_full_copy_that_publishing_another_does_not_change(alice: Api, kind: Kind) -> None:
    first = kind.make(alice, text="one", description="of one")["resolvedVersionId"]
    second = kind.save(alice, text="two", description=None)["resolvedVersionId"]
    seen = alice.get(kind.url("writer"), versionId=first).body
    kind.publish(alice, "writer", second)
    now = alice.get(kind.url("writer"), versionId=first).body
    assert (now[kind.text], now["description"], now["resolvedVersionId"]) == ("one", "of one", first)
    assert now[kind.text] == seen[kind.text] and now["description"] == seen["description"]


def test_updating_a_block_through_python_makes_an_inactive_draft(cast: Cast) -> None:
    begin_as_published(PROMPT_BLOCKS, cast.alice)
    Editor().prompt.update("writer", content="two")
    after = record(PROMPT_BLOCKS, cast.alice)
    assert after["content"] == "two" and after["hasDraft"] is True
    assert after["activeVersionId"] != after["latestVersionId"]
    assert served(PROMPT_BLOCKS, cast) == "one"


@from_any_start
def test_updating_an_agent_through_python_publishes_it_at_once(cast: Cast, begin: Begin) -> None:
    begin(AGENTS, cast.alice)
    known = AGENTS.versions(cast.alice)
    Editor().agent.update("writer", instructions="at once")
    after = record(AGENTS, cast.alice)
    assert len(AGENTS.versions(cast.alice)) == len(known) + 1
    assert after["activeVersionId"] == after["latestVersionId"] and after["hasDraft"] is False
    assert served(AGENTS, cast) == "at once"


def test_updating_an_agent_through_python_without_publishing_keeps_it_a_draft(cast: Cast) -> None:
    begin_as_published(AGENTS, cast.alice)
    Editor().agent.update("writer", instructions="two", publish=False)
    after = record(AGENTS, cast.alice)
    assert after["instructions"] == "two" and after["activeVersionId"] != after["latestVersionId"]
    assert served(AGENTS, cast) == "one"


def test_an_update_through_python_changes_the_given_fields_only(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, description="kept")
    collection = Editor().agent if kind is AGENTS else Editor().prompt
    collection.update("writer", {kind.text: "two"})
    after = record(kind, cast.alice)
    assert (after["name"], after["description"], after[kind.text]) == ("Writer", "kept", "two")
