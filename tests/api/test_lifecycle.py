"""What saving, restoring and updating do to the draft, and never to what is served."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.calls import make_history, undone
from tests.support.lifecycle import (
    Begin,
    begin_with_draft_over_published,
    from_any_start,
    record,
    served,
)
from versioning.editor import Editor


@from_any_start
def test_saving_a_difference_makes_a_new_latest_version_and_publishes_nothing(
    alice: Api, kind: Kind, begin: Begin
) -> None:
    begin(kind, alice)
    before, known = record(kind, alice), kind.versions(alice)
    after = kind.save(alice, text="different")
    newest, *others = kind.versions(alice)
    assert [version["id"] for version in others] == [version["id"] for version in known]
    assert after["latestVersionId"] == newest["id"] != before["latestVersionId"]
    assert newest["versionNumber"] == known[0]["versionNumber"] + 1
    assert (newest[kind.text], newest["changedFields"]) == ("different", [kind.text])
    assert (after["activeVersionId"], after["status"]) == (before["activeVersionId"], before["status"])
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


def test_an_edit_back_to_the_published_text_is_still_a_new_version(cast: Cast, kind: Kind) -> None:
    begin_with_draft_over_published(kind, cast.alice)
    back = kind.save(cast.alice, text="one")
    assert [version["versionNumber"] for version in kind.versions(cast.alice)] == [3, 2, 1]
    assert back["hasDraft"] is True and back["latestVersionId"] != back["activeVersionId"]


def test_restoring_a_version_always_makes_a_new_draft_and_leaves_the_published_one_serving(
    cast: Cast, kind: Kind
) -> None:
    history = make_history(kind, cast.alice)
    known = [version["id"] for version in kind.versions(cast.alice)]
    for number, version_id in enumerate(reversed(known), start=1):
        with undone():
            answer = cast.alice.post(kind.url("writer", "versions", version_id, "restore"))
            made, old = answer.body, kind.versions(cast.alice)[-number]
            assert (answer.status, made["versionNumber"], made["state"]) == (201, 5, "draft")
            assert made["id"] not in known and made[kind.text] == old[kind.text]
            assert made["changeMessage"] == f"Restored from version {number}"
            after = record(kind, cast.alice)
            assert (after["activeVersionId"], after["latestVersionId"]) == (history.published, made["id"])
            assert served(kind, cast) == "published words"
            assert [version["state"] for version in kind.versions(cast.alice)] == [
                *("draft", "historical", "published", "historical", "historical"),
            ]


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
