"""What publishing, unpublishing and deleting do to the version that serves."""

from __future__ import annotations

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.lifecycle import (
    Begin,
    begin_with_draft_over_published,
    from_any_start,
    record,
    served,
)


def test_publishing_serves_exactly_the_version_named(cast: Cast, kind: Kind) -> None:
    ids = [kind.make(cast.alice, text="text 0")["resolvedVersionId"]]
    assert served(kind, cast) is None
    ids += [kind.save(cast.alice, text=f"text {number}")["resolvedVersionId"] for number in (1, 2)]
    for number in (1, 2, 0):
        answer = cast.alice.post(kind.url("writer", "versions", ids[number], "activate"))
        assert answer.status == 200
        assert answer.body["success"] is True and answer.body["activeVersionId"] == ids[number]
        assert served(kind, cast) == f"text {number}"
        after = record(kind, cast.alice)
        assert (after["activeVersionId"], after["latestVersionId"]) == (ids[number], ids[2])
        assert after["status"] == "published" and after["hasDraft"] is (number != 2)


def test_publishing_never_takes_a_version_saved_in_between(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, text="one", autoPublish=True)
    reviewed = kind.save(cast.alice, text="reviewed")["latestVersionId"]
    kind.save(cast.edgar, text="saved in between")
    kind.publish(cast.paula, "writer", reviewed)
    assert served(kind, cast) == "reviewed"
    assert record(kind, cast.alice)[kind.text] == "saved in between"


def test_publishing_the_published_version_changes_nothing(cast: Cast, kind: Kind) -> None:
    begin_with_draft_over_published(kind, cast.alice)
    before = record(kind, cast.alice)
    kind.publish(cast.alice, "writer", before["activeVersionId"])
    assert record(kind, cast.alice) == before and served(kind, cast) == "one"


@from_any_start
def test_a_patch_with_auto_publish_publishes_the_version_that_it_makes(
    cast: Cast, kind: Kind, begin: Begin
) -> None:
    begin(kind, cast.alice)
    known = [version["id"] for version in kind.versions(cast.alice)]
    after = kind.save(cast.alice, text="at once", autoPublish=True)
    assert after["activeVersionId"] == after["latestVersionId"] == after["resolvedVersionId"]
    assert after["activeVersionId"] not in known
    assert (after["status"], after["hasDraft"]) == ("published", False)
    assert served(kind, cast) == "at once"


@from_any_start
def test_a_patch_with_auto_publish_and_no_difference_publishes_the_latest(
    cast: Cast, kind: Kind, begin: Begin
) -> None:
    begin(kind, cast.alice)
    before, known = record(kind, cast.alice), kind.versions(cast.alice)
    answer = cast.alice.patch(kind.url("writer"), {"autoPublish": True})
    assert answer.status == 200
    assert answer.body["activeVersionId"] == before["latestVersionId"] == answer.body["latestVersionId"]
    assert len(kind.versions(cast.alice)) == len(known)
    assert served(kind, cast) == before[kind.text]


def test_a_new_agent_is_published_and_a_new_block_is_a_draft_by_default(alice: Api) -> None:
    agent = alice.post(AGENTS.path, AGENTS.body()).body
    assert agent["activeVersionId"] == agent["latestVersionId"] == agent["resolvedVersionId"]
    assert (agent["status"], agent["hasDraft"]) == ("published", False)
    block = alice.post(PROMPT_BLOCKS.path, PROMPT_BLOCKS.body()).body
    assert (block["activeVersionId"], block["status"], block["hasDraft"]) == (None, "draft", True)


def test_unpublishing_leaves_no_active_version_and_deletes_nothing(cast: Cast, kind: Kind) -> None:
    begin_with_draft_over_published(kind, cast.alice)
    known = kind.versions(cast.alice)
    answer = cast.alice.post(kind.url("writer", "unpublish"))
    assert answer.status == 200
    assert (answer.body["activeVersionId"], answer.body["status"]) == (None, "draft")
    assert answer.body["latestVersionId"] == known[0]["id"] and answer.body["hasDraft"] is True
    assert [version["id"] for version in kind.versions(cast.alice)] == [version["id"] for version in known]
    assert [version["state"] for version in kind.versions(cast.alice)] == ["draft", "historical"]
    assert served(kind, cast) is None
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200  # twice is no error


@from_any_start
def test_a_deleted_id_is_used_again_from_version_1(alice: Api, kind: Kind, begin: Begin) -> None:
    begin(kind, alice)
    old = kind.versions(alice)
    assert alice.put(kind.url("writer", "labels", "stable"), {"versionId": old[0]["id"]}).status == 200
    answer = alice.delete(kind.url("writer"))
    assert (answer.status, answer.body["success"], set(answer.body)) == (200, True, {"success", "message"})
    assert alice.delete(kind.url("writer")).status == 404
    assert alice.get(kind.path, status="all").body["total"] == 0
    assert alice.get(kind.url("writer"), status="draft").status == 404
    assert alice.get(kind.url("writer", "versions")).status == 404
    kind.make(alice, text="afresh")
    [version] = kind.versions(alice)
    assert (version["versionNumber"], version[kind.text], version["labels"]) == (1, "afresh", [])
    assert alice.get(kind.url("writer", "versions", old[0]["id"])).status == 404
    assert alice.get(kind.url("writer"), label="stable").status == 404


def test_deleting_an_agent_leaves_the_block_of_the_same_id(alice: Api) -> None:
    AGENTS.make(alice, text="of the agent")
    PROMPT_BLOCKS.make(alice, text="of the block")
    assert alice.delete(AGENTS.url("writer")).status == 200
    assert alice.get(PROMPT_BLOCKS.url("writer")).body["content"] == "of the block"
