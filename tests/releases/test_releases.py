"""Releases over HTTP: creating, changing, publishing, and refusals."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.releases.conftest import Pair, check, codes, item, live, make, post, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.served import reference
from versioning.conf import get_editor


def test_a_release_publishes_all_items_at_one_position(cast: Cast, pair: Pair) -> None:
    before = cast.alice.get("/events", after="now").body["next"]
    release = make(cast.edgar, *pair.items(), description="For October.")
    assert (release["state"], release["createdBy"], release["reverts"]) == ("draft", "edgar", None)
    assert [one["activeBefore"] for one in release["items"]] == [pair.old["writer"], pair.old["tone"]]
    assert check(cast.paula, release) == {"ok": True, "problems": [], "warnings": []}

    answer = publish(cast.paula, release)
    assert answer.status == 200, answer.body
    assert (answer.body["state"], answer.body["publishedBy"]) == ("published", "paula")
    assert [one["activeBefore"] for one in answer.body["items"]] == [pair.old["writer"], pair.old["tone"]]
    assert cast.vera.get("/agents/writer").body["instructions"] == "new\n\nnew"

    events = cast.alice.get("/events", after=before).body["events"]
    assert [event["type"] for event in events] == [
        "release.created",
        "release.published",
        "promptBlock.published",
        "agent.published",
    ]
    assert len({event["position"] for event in events[1:]}) == 1
    assert {event["detail"]["releaseId"] for event in events} == {release["id"]}
    assert events[2]["previousVersionId"] == pair.old["tone"]
    [one] = cast.alice.get("/events", after=before, limit=1, type="agent.*,promptBlock.*").body["events"][1:]
    assert one["type"] == "agent.published"  # a page never splits the events of one position


def test_every_effective_change_of_a_release_leaves_an_entry(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    address, old = f"/releases/{release['id']}", pair.items("old")
    for change in ({"title": "Winter"}, {"description": "Cold.", "title": "Winter"}, {"items": old}):
        changed = cast.edgar.patch(address, change)
        again = cast.edgar.patch(address, change)
        assert (changed.status, again.etag) == (200, changed.etag)
    assert cast.edgar.patch(address, {"items": list(reversed(old))}).status == 200
    told = [
        (event["type"], event["detail"].get("fields"))
        for event in cast.edgar.get("/events", type="release.*").body["events"]
    ]
    assert told == [
        ("release.created", None),
        ("release.changed", ["title"]),
        ("release.changed", ["description"]),
        ("release.changed", ["items"]),
        ("release.changed", ["items"]),
    ]
    assert cast.vera.get("/events", type="release.*").body["events"] == []


def test_blocks_of_the_release_count_as_published(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone")
    PROMPT_BLOCKS.make(cast.alice, "other", autoPublish=True)
    AGENTS.make(cast.alice, "writer", [reference("tone")])
    alone = make(cast.paula, item(AGENTS, "writer"))
    assert codes(check(cast.paula, alone)["problems"]) == [("writer", "unpublished_blocks")]
    answer = publish(cast.paula, alone)
    assert (answer.status, answer.code) == (409, "release_blocked")
    assert codes(answer.body["problems"]) == [("writer", "unpublished_blocks")]
    assert live(cast.alice, AGENTS, "writer") is None

    together = make(cast.paula, item(AGENTS, "writer"), item(PROMPT_BLOCKS, "tone"))
    assert check(cast.paula, together)["ok"]
    assert publish(cast.paula, together).status == 200
    assert live(cast.alice, AGENTS, "writer") is not None


def test_a_block_that_the_release_unpublishes_does_not_count_as_published(cast: Cast, pair: Pair) -> None:
    away = make(
        cast.paula,
        item(PROMPT_BLOCKS, "tone", action="unpublish"),
        item(AGENTS, "writer", pair.new["writer"]),
    )
    assert codes(check(cast.paula, away)["problems"]) == [("writer", "unpublished_blocks")]
    assert publish(cast.paula, away).status == 409
    both = make(
        cast.paula,
        item(PROMPT_BLOCKS, "tone", action="unpublish"),
        item(AGENTS, "writer", action="unpublish"),
    )
    assert publish(cast.paula, both).status == 200
    assert (live(cast.alice, AGENTS, "writer"), live(cast.alice, PROMPT_BLOCKS, "tone")) == (None, None)


def test_one_refused_item_leaves_all_others_unpublished(cast: Cast, pair: Pair) -> None:
    AGENTS.make(cast.alice, "broken", [reference("missing")])
    before = cast.alice.get("/events", after="now").body["next"]
    release = make(cast.paula, *pair.items(), item(AGENTS, "broken"))
    answer = publish(cast.paula, release)
    assert codes(answer.body["problems"]) == [("broken", "unpublished_blocks")]
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]
    assert live(cast.alice, PROMPT_BLOCKS, "tone") == pair.old["tone"]
    assert [event["type"] for event in cast.alice.get("/events", after=before).body["events"]] == [
        "release.created"
    ]
    assert cast.paula.get(f"/releases/{release['id']}").body["state"] == "draft"


def test_versions_are_pinned_and_newer_ones_are_shown(cast: Cast, kind: Kind) -> None:
    pinned = kind.make(cast.edgar)["latestVersionId"]
    release = make(cast.edgar, item(kind, "writer"))
    assert [(one["versionId"], one["newer"]) for one in release["items"]] == [(pinned, False)]
    kind.save(cast.edgar)
    seen = cast.edgar.get(f"/releases/{release['id']}").body["items"]
    assert [(one["versionId"], one["versionNumber"], one["newer"]) for one in seen] == [(pinned, 1, True)]
    assert codes(check(cast.paula, release)["warnings"]) == [("writer", "newer_version")]
    assert publish(cast.paula, release).status == 200
    assert live(cast.alice, kind, "writer") == pinned


def test_deleted_items_are_named(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "deleted")
    kind.make(cast.alice, "renewed")
    dropped = kind.make(cast.alice, "edited")["latestVersionId"]
    kind.save(cast.alice, "edited")
    release = make(cast.paula, item(kind, "deleted"), item(kind, "edited", dropped), item(kind, "renewed"))
    cast.alice.delete(kind.url("deleted"))
    cast.alice.delete(kind.url("edited", "versions", dropped))
    cast.alice.delete(kind.url("renewed"))
    kind.make(cast.alice, "renewed")
    assert codes(check(cast.paula, release)["problems"]) == [
        ("deleted", "gone"),
        ("edited", "gone"),
        ("renewed", "gone"),
    ]
    assert publish(cast.paula, release).code == "release_blocked"
    assert live(cast.alice, kind, "renewed") is None


def test_an_empty_release_is_not_published(cast: Cast) -> None:
    release = make(cast.paula)
    assert check(cast.paula, release)["problems"] == [
        {"resource": None, "code": "empty", "message": "The release is empty."}
    ]
    assert publish(cast.paula, release).code == "release_blocked"


def test_a_published_release_cannot_be_changed(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())
    publish(cast.paula, release)
    address = f"/releases/{release['id']}"
    for answer in (
        cast.alice.patch(address, {"title": "Other"}),
        cast.alice.delete(address),
        publish(cast.alice, release),
    ):
        assert (answer.status, answer.code) == (409, "release_published")


def test_a_draft_is_changed_and_deleted(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    address = f"/releases/{release['id']}"
    changed = cast.edgar.patch(address, {"title": " Winter ", "items": pair.items("old")[:1]})
    assert changed.status == 200, changed.body
    assert (changed.body["title"], len(changed.body["items"])) == ("Winter", 1)
    assert cast.edgar.get(address).body == changed.body
    assert codes(check(cast.paula, release)["warnings"]) == [
        ("writer", "newer_version"),
        ("writer", "unchanged"),
    ]
    cleared = cast.edgar.patch(
        address, {"description": None, "items": [item(AGENTS, "writer", versionId=None)]}
    )
    assert (cleared.status, cleared.body["description"]) == (200, "")
    assert cleared.body["items"][0]["versionId"] == pair.new["writer"]
    changed = cast.edgar.patch(address, {"items": pair.items("old")[:1]})
    assert cast.edgar.patch(address, {}).body["items"] == changed.body["items"]
    assert cast.edgar.patch(address, {"title": None}).status == 400
    assert cast.edgar.delete(address).status == 200
    assert cast.edgar.get(address).status == 404


def test_if_match_covers_the_release_and_not_the_state_of_its_items(cast: Cast, pair: Pair) -> None:
    release = make(cast.edgar, *pair.items())
    address = f"/releases/{release['id']}"
    read = cast.edgar.get(address)
    AGENTS.save(cast.edgar, "writer")
    again = cast.edgar.request("GET", address, if_none_match=read.etag)
    assert again.status == 200  # `newer` is another by now
    assert cast.edgar.request("GET", address, if_none_match=again.etag).status == 304
    assert cast.edgar.patch(address, {"title": "Winter"}, if_match=read.etag).status == 200
    for answer in (
        cast.edgar.patch(address, {"title": "Spring"}, if_match=read.etag),
        cast.edgar.delete(address, if_match=read.etag),
        cast.paula.post(f"{address}/publish", if_match=read.etag),
    ):
        assert (answer.status, answer.code) == (412, "edit_conflict")
    assert cast.edgar.get(address).body["title"] == "Winter"


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a resource twice": (
        {"items": [item(AGENTS, "writer"), item(AGENTS, "writer", action="unpublish")]},
        ["items.1.resource"],
    ),
    "an unknown resource": ({"items": [item(AGENTS, "nobody")]}, ["items.0.resource"]),
    "an impossible id": ({"items": [item(AGENTS, " a")]}, ["items.0.resource"]),
    "an unknown version": (
        {"items": [item(AGENTS, "writer", "00000000-0000-4000-8000-000000000000")]},
        ["items.0.versionId"],
    ),
    "no version id": ({"items": [item(AGENTS, "writer", "latest")]}, ["items.0.versionId"]),
    "a version to unpublish": (
        {"items": [item(AGENTS, "writer", "00000000-0000-4000-8000-000000000000", action="unpublish")]},
        ["items.0.versionId"],
    ),
    "a kind that does not exist": (
        {"items": [{"resource": {"kind": "tool", "id": "x"}}]},
        ["items.0.resource.kind"],
    ),
    "a blank title": ({"title": " "}, ["title"]),
    "a long title": ({"title": "x" * 201}, ["title"]),
    "what is read-only": ({"state": "published"}, ["state"]),
    "too many": ({"items": [item(AGENTS, f"agent-{number}") for number in range(201)]}, ["items"]),
}


def test_invalid_fields_are_named(cast: Cast, pair: Pair) -> None:
    for body, fields in WRONG.values():
        answer = post(cast.edgar, **body) if "items" not in body else post(cast.edgar, *body["items"])
        assert (answer.status, answer.fields) == (400, fields), answer.body


def test_a_version_of_another_resource_is_refused_as_an_item(cast: Cast, pair: Pair) -> None:
    answer = post(cast.edgar, item(AGENTS, "writer", pair.new["tone"]))
    assert (answer.status, answer.fields) == (400, ["items.0.versionId"])


def test_reverting_restores_the_previous_versions_except_hotfixes(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())
    not_yet = cast.paula.post(f"/releases/{release['id']}/revert")
    assert (not_yet.status, not_yet.code) == (409, "not_published")
    publish(cast.paula, release)
    hotfix = PROMPT_BLOCKS.save(cast.alice, "tone", "fixed", autoPublish=True)["activeVersionId"]

    made = cast.edgar.post(f"/releases/{release['id']}/revert")
    assert made.status == 201, made.body
    assert made.headers["Location"].endswith(made.body["id"])
    assert (made.body["state"], made.body["reverts"]) == ("draft", release["id"])
    assert [(one["resource"]["id"], one["versionId"]) for one in made.body["items"]] == [
        ("writer", pair.old["writer"])
    ]
    assert made.body["conflicts"] == [
        {
            "resource": {"kind": "promptBlock", "id": "tone"},
            "versionId": pair.new["tone"],
            "activeVersionId": hotfix,
        }
    ]
    assert live(cast.alice, AGENTS, "writer") == pair.new["writer"]  # nothing has moved yet
    assert publish(cast.paula, made.body).status == 200
    assert cast.vera.get("/agents/writer").body["instructions"] == "old\n\nfixed"
    assert cast.paula.get(f"/releases/{release['id']}").body["state"] == "reverted"
    types = [event["type"] for event in cast.alice.get("/events", type="release.*").body["events"]]
    assert types[-2:] == ["release.published", "release.reverted"]


def test_reverting_unpublishes_resources_that_were_not_live(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    release = make(cast.paula, item(kind, "writer"))
    publish(cast.paula, release)
    [back] = cast.paula.post(f"/releases/{release['id']}/revert").body["items"]
    assert (back["action"], back["versionId"], back["versionNumber"]) == ("unpublish", None, None)


def test_reverting_publishes_unpublished_resources_again(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, item(AGENTS, "writer", action="unpublish"))
    publish(cast.paula, release)
    made = cast.paula.post(f"/releases/{release['id']}/revert").body
    assert publish(cast.paula, made).status == 200
    assert live(cast.alice, AGENTS, "writer") == pair.old["writer"]


def test_pruning_retains_the_versions_of_a_draft_release(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    pinned, dropped = (kind.save(cast.alice, text=text)["latestVersionId"] for text in ("two", "three"))
    kind.save(cast.alice, text="four")
    release = make(cast.paula, item(kind, "writer", pinned))
    verbs = get_editor().agent if kind is AGENTS else get_editor().prompt
    verbs.prune("writer", 1)
    left = {version["id"] for version in kind.versions(cast.alice)}
    assert pinned in left
    assert dropped not in left
    cast.paula.delete(f"/releases/{release['id']}")
    verbs.prune("writer", 1)
    assert pinned not in {version["id"] for version in kind.versions(cast.alice)}
