"""What saving, restoring and updating do to the draft, and never to what is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.lifecycle import (
    Begin,
    begin_with_draft_over_published,
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


def test_an_update_through_python_publishes_an_agent_and_leaves_a_block_a_draft(cast: Cast) -> None:
    for kind, published in ((AGENTS, "two"), (PROMPT_BLOCKS, "one")):
        kind.make(cast.alice, text="one", description="kept", autoPublish=True)
        collection = Editor().agent if kind is AGENTS else Editor().prompt
        collection.update("writer", {kind.text: "two"})
        after = record(kind, cast.alice)
        assert (after["name"], after["description"], after[kind.text]) == ("Writer", "kept", "two")
        assert (served(kind, cast), after["hasDraft"]) == (published, kind is PROMPT_BLOCKS)
    Editor().agent.update("writer", instructions="three", publish=False)
    assert (served(AGENTS, cast), record(AGENTS, cast.alice)["instructions"]) == ("two", "three")
