"""`GET /events`: positions, pages, filters, and what happens at the ends of the log."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.calls import make_history
from tests.support.people import command, give_role
from versioning.domain.access import APPLICATION
from versioning.models import Event, LogPosition, events
from versioning.models.log import new_epoch


def read(api: Api, **query: Any) -> dict[str, Any]:
    answer = api.get("/events", **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def types(api: Api, **query: Any) -> list[str]:
    return [event["type"].partition(".")[2] for event in read(api, **query)["events"]]


@pytest.mark.database
def test_an_event_names_actor_action_and_version(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.publish(cast.paula, "writer", history.draft)
    event = read(cast.vera)["events"][-1]
    assert event.pop("id") and event.pop("createdAt").endswith("Z")
    slug = "agent" if kind is AGENTS else "promptBlock"
    assert event == {
        "position": events.position(),
        "type": f"{slug}.published",
        "workspaceId": "acme",
        "resource": {"kind": slug, "id": "writer"},
        "versionId": history.draft,
        "versionNumber": 4,
        "previousVersionId": history.published,
        "label": None,
        "actor": {"id": "paula", "via": "api", "keyPrefix": cast.paula.key[:11]},
        "detail": {},
    }


def test_members_that_do_not_apply_are_null(cast: Cast) -> None:
    give_role("vera", "acme", "editor")
    [event] = read(cast.alice)["events"]
    nothing = ("resource", "versionId", "versionNumber", "previousVersionId", "label")
    assert [event[name] for name in nothing] == [None] * 5
    assert event["actor"] == {"id": None, "via": "python", "keyPrefix": None}
    assert event["detail"] == {"username": "vera", "from": "viewer", "to": "editor"}


# Pages


def test_following_next_yields_every_event_exactly_once(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    whole = read(cast.alice)["events"]
    found, cursor, more = [], 0, True
    while more:
        page = read(cast.alice, after=cursor, limit=2)
        found += page["events"]
        cursor, more = page["next"], page["hasMore"]
    assert found == whole and len(whole) == 7
    assert cursor == events.position()
    epoch = events.extent().epoch
    assert read(cast.alice, after=cursor) == {"events": [], "next": cursor, "hasMore": False, "epoch": epoch}


def test_before_pages_backwards_from_the_newest(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    whole = read(cast.alice)["events"]
    found, cursor, more = [], events.position() + 1, True
    while more:
        page = read(cast.alice, before=cursor, limit=3)
        found += page["events"]
        cursor, more = page["next"], page["hasMore"]
    assert found == whole[::-1]
    assert read(cast.alice, before=cursor)["events"] == read(cast.alice, before=0)["events"] == []
    assert read(cast.alice, before="9" * 30, limit=9)["events"] == whole[::-1]


def test_next_advances_past_events_that_do_not_match_or_cannot_be_read(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    end = events.position()
    nothing = {"events": [], "next": end, "hasMore": False, "epoch": events.extent().epoch}
    assert read(cast.charlie) == read(cast.alice, type="webhook.*") == nothing
    assert read(cast.alice, after="now") == nothing


def test_has_more_counts_readable_events_only(cast: Cast) -> None:
    AGENTS.make(cast.alice, autoPublish=True)
    AGENTS.save(cast.alice, text="two", autoPublish=False)
    page = read(cast.vera, limit=1)
    assert [event["type"] for event in page["events"]] == ["agent.published"]
    assert page["hasMore"] is False and page["next"] == events.position()


def test_events_of_one_position_are_never_split_between_pages(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    shows = [{"type": "prompt_block_ref", "id": "tone"}]
    for number in range(3):
        AGENTS.make(cast.alice, f"a{number}", shows, visibility="public", autoPublish=True)
    start = events.position()
    PROMPT_BLOCKS.save(cast.alice, "tone", autoPublish=True)
    AGENTS.save(cast.alice, "a1", autoPublish=True)
    first = read(cast.charlie, after=start, limit=1)
    assert [event["resource"]["id"] for event in first["events"]] == ["a0", "a1", "a2"]
    assert first["hasMore"] is True
    assert len({event["position"] for event in first["events"]}) == 1
    second = read(cast.charlie, after=first["next"], limit=1)
    assert [event["type"] for event in second["events"]] == ["agent.published"]
    back = read(cast.charlie, before=second["events"][0]["position"], limit=2)
    assert len(back["events"]) == 3


# Filters


def test_filters_narrow_the_events(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    PROMPT_BLOCKS.make(cast.paula, "writer")
    give_role("vera", "acme", "editor")
    assert types(cast.alice, type="agent.published,promptBlock.*") == ["published", "created"]
    assert types(cast.alice, type="member.*") == ["roleChanged"]
    assert types(cast.alice, kind="promptBlock") == types(cast.alice, actor="paula") == ["created"]
    assert len(types(cast.alice, kind="agent", id="writer")) == 7
    assert len(types(cast.alice, id="writer")) == 8
    assert len(types(cast.alice, workspaceId="acme")) == 9
    assert types(cast.root, workspaceId="elsewhere") == []


def test_filters_answer_the_same_for_unreadable_and_unknown_values(cast: Cast) -> None:
    AGENTS.make(cast.alice, autoPublish=True)
    AGENTS.make(cast.alice, "open", visibility="public", autoPublish=True)
    for query in ({"id": "writer"}, {"workspaceId": "acme"}):
        unknown = cast.charlie.get("/events", **dict.fromkeys(query, "unknown"))
        known = cast.charlie.get("/events", **query)
        assert known.body == unknown.body and known.etag == unknown.etag


def test_malformed_parameters_of_events_are_refused(cast: Cast) -> None:
    wrong = {
        "after": ("soon", "-1"),
        "before": ("now", "1.5"),
        "limit": ("0", "1001", "٣"),
        "type": ("agent.painted", "agent.published,", "*", "agent"),
        "kind": ("prompt block",),
        "page": ("1",),
        "id": ("a\0b",),
    }
    for field, values in wrong.items():
        for value in values:
            answer = cast.alice.get("/events", **{field: value})
            assert (answer.status, answer.fields) == (400, [field]), value
    assert cast.alice.get("/events", after="1", before="2").fields == ["before"]


def test_an_unchanged_page_is_not_sent_again(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    first = cast.alice.get("/events")
    again = cast.alice.request("GET", "/events", if_none_match=first.etag)
    assert (again.status, again.body, again.etag) == (304, None, first.etag)
    AGENTS.save(cast.alice)
    assert cast.alice.request("GET", "/events", if_none_match=first.etag).status == 200


# Pruning


def test_a_cursor_older_than_the_pruned_log_has_expired(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    old, entries = events.position(), len(events.entries(after=0))
    border = timezone.now()
    AGENTS.save(cast.alice)
    assert events.prune(border) == entries
    expired = cast.alice.get("/events", after=old - 1)
    assert (expired.status, expired.code, expired.body["oldest"]) == (410, "cursor_expired", old)
    assert types(cast.alice) == types(cast.alice, after=expired.body["oldest"]) == ["versionCreated"]
    assert types(cast.alice, before=events.position()) == []


def test_a_position_beyond_the_end_is_refused_as_of_another_log(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    end = events.position()
    page = read(cast.alice, after=end)
    assert page == {"events": [], "next": end, "hasMore": False, "epoch": events.extent().epoch}
    assert read(cast.alice, after=end, epoch=page["epoch"]) == page
    LogPosition.objects.update(epoch=new_epoch())  # restored, and grown past the position since
    for query in (
        {"after": end + 1},
        {"after": "9" * 30, "workspaceId": "none"},
        {"after": end, "epoch": page["epoch"]},
        {"before": end, "epoch": page["epoch"]},
    ):
        ahead = cast.alice.get("/events", **query)
        assert (ahead.status, ahead.code, ahead.body["newest"]) == (410, "cursor_ahead", end)
        assert read(cast.alice, after=end, epoch=ahead.body["epoch"])["events"] == []


def test_the_oldest_position_is_known_after_all_entries_were_pruned(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    AGENTS.save(cast.alice)
    end = events.position()
    tomorrow = timezone.now() + datetime.timedelta(days=1)
    assert "Removed 2 events" in command("prune_events", "--before", tomorrow.isoformat())
    assert events.prune(tomorrow) == 0
    assert cast.alice.get("/events", after=end - 1).body["oldest"] == end
    assert read(cast.alice) == {"events": [], "next": end, "hasMore": False, "epoch": events.extent().epoch}
    AGENTS.save(cast.alice, text="three")
    assert [event["position"] for event in read(cast.alice)["events"]] == [end + 1]


def test_pruning_continues_beyond_one_batch(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "AT_ONCE", 3)
    with events.transaction():
        for _ in range(10):
            events.record("workspace.updated", by=APPLICATION, workspace_id="acme", fields=["name"])
    assert events.prune(timezone.now() + datetime.timedelta(days=1)) == 10
    assert not Event.objects.exists()
