"""The content of a stream: the events of the feed, with the same filters and positions."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.event_streams import GENEROUS, open_stream
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service

pytestmark = pytest.mark.processes

INTERLEAVED = """
from threading import Event, Thread
from versioning.domain.access import APPLICATION
from versioning.models import Workspace, events

inserted, committed = Event(), Event()

def write(name, wait_before_the_end):
    with events.transaction():
        events.record("workspace.updated", by=APPLICATION, workspace_id="default", fields=[name])
        Workspace.objects.create(id=name, name=name)
        wait_before_the_end()

def first():
    write("first", lambda: (inserted.set(), committed.wait(30)))

def second():
    inserted.wait(30)
    write("second", lambda: None)
    committed.set()

threads = [Thread(target=one) for one in (first, second)]
[one.start() for one in threads]
[one.join() for one in threads]
try:
    with events.transaction():
        events.record("workspace.updated", by=APPLICATION, workspace_id="default", fields=["undone"])
        raise ValueError
except ValueError:
    pass
with events.transaction():
    events.record("workspace.updated", by=APPLICATION, workspace_id="default", fields=["last"])
"""


def now(api: RemoteApi) -> int:
    return int(api.get("/events", after="now").body["next"])


def feed(api: RemoteApi, start: int, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("/events", after=start, limit=1000, **query)
    assert answer.status == 200 and not answer.body["hasMore"]
    return list(answer.body["events"])


def test_a_stream_has_the_events_of_the_feed(live_service: Service, kind: Kind) -> None:
    with connected(live_service) as api, open_stream(live_service) as stream:
        start = now(api)
        kind.make(api, "in-the-feed", 'one\r\n\r\ndata: x\u2028id: 7\n: "Zoë" 日本', autoPublish=True)
        api.patch(kind.url("in-the-feed"), {"metadata": {"a\r\n\r\ndata: {}": "\n\nid: 1"}})
        kind.save(api, "in-the-feed", autoPublish=True)
        api.delete(kind.url("in-the-feed"))
        told = feed(api, start)
        assert stream.wait_for(len(told)) == told
        assert stream.ids == [str(event["position"]) for event in told]
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert stream.response.headers["Cache-Control"] == "private, no-store"
        assert stream.response.headers["X-Accel-Buffering"] == "no"


def test_each_filter_selects_the_same_events_as_in_the_feed(live_service: Service) -> None:
    with connected(live_service) as api:
        start = now(api)
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(api, "one", autoPublish=True)
            kind.make(api, "two")
            kind.save(api, "one")
        filters: list[dict[str, str]] = [
            {"type": "agent.published,promptBlock.*"},
            {"kind": "promptBlock"},
            {"kind": "agent", "id": "two"},
            {"workspaceId": "default", "id": "one"},
            {"actor": "tester", "type": "agent.versionCreated"},
            {"workspaceId": "elsewhere"},
            {"actor": "nobody"},
            {"id": "missing"},
        ]
        expected = [feed(api, start, **one) for one in filters]
        last = {"type": "promptBlock.deleted"}
        for wanted, query in zip(expected, filters, strict=True):
            with open_stream(live_service, after=start, **query) as late:
                assert late.wait_for(len(wanted)) == wanted
        # The same for events as they happen; filtered events must not arrive late either.
        with open_stream(live_service) as everything, open_stream(live_service, **last) as filtered:
            for kind in (AGENTS, PROMPT_BLOCKS):
                for name in ("one", "two"):
                    assert api.delete(kind.url(name)).status == 200
            assert [event["resource"]["id"] for event in filtered.wait_for(2)] == ["one", "two"]
            assert everything.wait_for(4)[2:] == filtered.events


def test_a_stream_is_resumed_where_it_ended(live_service: Service) -> None:
    with connected(live_service) as api:
        start = now(api)
        AGENTS.make(api, "resumed", autoPublish=True)
        with open_stream(live_service, after=start) as stream:
            before = stream.wait_for(2)
        AGENTS.save(api, "resumed", autoPublish=True)
        with open_stream(live_service, after=0, last_event_id=stream.ids[-1]) as stream:
            AGENTS.save(api, "resumed", "three")
            missed = stream.wait_for(3)
        assert before + missed == feed(api, start)
        api.delete(AGENTS.url("resumed"))


@pytest.mark.parametrize("place", [{"after": "9" * 30, "last_event_id": ""}, {"last_event_id": "9" * 30}])
def test_a_stream_from_beyond_the_end_reports_that_and_ends(
    live_service: Service, place: dict[str, str]
) -> None:
    with connected(live_service) as api, open_stream(live_service, **place) as stream:
        (refused,) = stream.wait_for(1)
        ahead = api.get("/events", after="9" * 30)
        assert (refused, refused["code"]) == (ahead.body, "cursor_ahead")
        assert stream.ended.wait(GENEROUS)


def test_a_long_log_is_caught_up_with_in_order(live_service: Service) -> None:
    """More than one page, with changes meanwhile."""
    program = """
        from versioning.domain.access import APPLICATION
        from versioning.models import events
        with events.transaction():
            for _ in range(450):
                events.record("workspace.updated", by=APPLICATION, workspace_id="default", fields=["name"])
    """
    with connected(live_service) as api:
        start = now(api)
        live_service.manage("shell", "--no-imports", "-c", textwrap.dedent(program))
        with open_stream(live_service, after=start) as stream:
            AGENTS.make(api, "meanwhile")
            stream.wait(lambda stream: "agent.created" in stream.types)
            api.delete(AGENTS.url("meanwhile"))
            assert stream.wait_for(452) == feed(api, start)


def test_events_of_one_position_are_sent_again_unless_all_have_arrived(live_service: Service) -> None:
    shell = ("create_api_key", "stranger", "--workspace", "strange", "--role", "viewer")
    stranger = live_service.manage(*shell)
    with connected(live_service) as api:
        PROMPT_BLOCKS.make(api, "shown", autoPublish=True)
        for name in ("shows-1", "shows-2", "shows-3"):
            shown = [{"type": "prompt_block_ref", "id": "shown"}]
            AGENTS.make(api, name, shown, visibility="public", autoPublish=True)
        start = now(api)
        with open_stream(live_service, stranger) as stream:
            PROMPT_BLOCKS.save(api, "shown", autoPublish=True)
            told = stream.wait_for(3)
            assert [event["resource"]["id"] for event in told] == ["shows-1", "shows-2", "shows-3"]
            assert {(event["type"], event["position"]) for event in told} == {("agent.updated", start + 2)}
            assert "shown" not in {event["resource"]["id"] for event in told}
            # No client can resume between them: only the last has an id.
            assert stream.ids == [str(start + 2)]
            frames = [frame for frame in stream.frames if "data: " in frame]
            assert [frame.startswith("id: ") for frame in frames] == [False, False, True]
        with open_stream(live_service, stranger, last_event_id=start + 1) as again:
            assert again.wait_for(3) == told
        with open_stream(live_service, stranger, kind="agent", id="shows-1", after=start) as one:
            assert one.wait_for(1) == told[:1]
            assert one.ids == [str(start + 2)]
        for name in ("shows-1", "shows-2", "shows-3"):
            api.delete(AGENTS.url(name))
        api.delete(PROMPT_BLOCKS.url("shown"))


@pytest.mark.postgresql
def test_a_late_commit_of_an_early_insert_is_not_missed(live_service: Service) -> None:
    with connected(live_service) as api, open_stream(live_service, type="workspace.*") as stream:
        start = now(api)
        live_service.manage("shell", "--no-imports", "-c", INTERLEAVED)
        told = stream.wait_for(3)
        assert [event["detail"]["fields"] for event in told] == [["second"], ["first"], ["last"]]
        assert told == feed(api, start, type="workspace.*")
