"""The log of a real server: writers on two processes, readers that follow, and a server that is killed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import chain
from threading import Event
from typing import Any

import pytest

from tests.support.api import AGENTS, Api
from tests.support.event_streams import open_stream
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.service import Service, running_service
from tests.support.writing import Record, history, writing

pytestmark = [pytest.mark.processes, pytest.mark.database]

WRITERS = 16
CHANGES = 8
READERS = 2
STREAMS = 4
SHARED = 4
"""So many writers change one and the same agent."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes."""
    with running_service(tmp_path_factory.mktemp("log"), "--workers", "2") as running:
        yield running


def follow(service: Service, start: int, is_over: Event) -> list[Record]:
    """Read all events after a position, until all writers are done and no event is left."""
    found: list[Record] = []
    cursor = start
    with connected(service) as api:
        while True:
            was_over = is_over.is_set()
            page = read(api, after=cursor, limit=7)
            found += page["events"]
            assert page["next"] >= cursor
            cursor = page["next"]
            if was_over and not page["hasMore"]:
                return found


def read(api: Api, **query: Any) -> Record:
    answer = api.get("/events", **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def everything(api: Api, start: int) -> list[Record]:
    events: list[Record] = []
    more, cursor = True, start
    while more:
        page = read(api, after=cursor, limit=1000)
        events, cursor, more = events + page["events"], page["next"], page["hasMore"]
    return events


def change(api: RemoteApi, writer: int) -> list[str]:
    """Make changes, every fourth of which is refused after it has begun; return the versions that it made."""
    agent = "shared" if writer < SHARED else f"own-{writer}"
    made = []
    for turn in range(CHANGES):
        text = f"{writer}/{turn}"
        if turn % 4 == 3:
            missing = [{"type": "prompt_block_ref", "id": "missing"}]
            refused = api.patch(AGENTS.url(agent), {"instructions": missing, "autoPublish": True})
            assert refused.status == 400
        made.append(AGENTS.save(api, agent, text, autoPublish=turn % 2 == 0)["latestVersionId"])
    return made


def test_followers_see_every_change_once_and_in_order(service: Service) -> None:
    with connected(service) as api:
        for agent in ("shared", *(f"own-{writer}" for writer in range(SHARED, WRITERS))):
            AGENTS.make(api, agent)
        start = read(api, after="now")["next"]
    is_over = Event()
    with ThreadPoolExecutor(READERS) as threads, ExitStack() as stack:
        streams = [stack.enter_context(open_stream(service, after=start)) for _ in range(STREAMS)]
        followers = [threads.submit(follow, service, start, is_over) for _ in range(READERS)]
        try:
            made = at_once(service, [partial(change, writer=writer) for writer in range(WRITERS)])
        finally:
            is_over.set()
        followed = [follower.result(60) for follower in followers]
        with connected(service) as api:
            whole = everything(api, start)
        assert all(events == whole for events in followed)
        assert all(stream.wait_for(len(whole)) == whole for stream in streams)
    positions = [event["position"] for event in whole]
    assert positions == list(range(start + 1, start + 1 + len(whole)))
    created = [event for event in whole if event["type"] == "agent.versionCreated"]
    assert sorted(event["versionId"] for event in created) == sorted(chain.from_iterable(made))
    assert len(created) == WRITERS * CHANGES
    assert len(whole) == len(created) * 3 // 2  # every second one was published, too
    for agent in {event["resource"]["id"] for event in created}:
        numbers = [event["versionNumber"] for event in created if event["resource"]["id"] == agent]
        assert numbers == sorted(numbers)
        live = [event for event in whole if event["type"] == "agent.published"]
        moves = [event for event in live if event["resource"]["id"] == agent]
        assert [event["previousVersionId"] for event in moves[1:]] == [
            event["versionId"] for event in moves[:-1]
        ]


def test_after_a_crash_the_log_matches_the_stored_versions(service: Service) -> None:
    with connected(service) as api:
        first = AGENTS.make(api, "burst")["latestVersionId"]
        start = read(api, after="now")["next"]

    def save(api: RemoteApi, writer: int, turn: int) -> Record:
        return AGENTS.save(api, "burst", f"{writer}/{turn}", autoPublish=True)

    with writing(service, save) as acknowledged:
        acknowledged.wait_for(40)
        service.kill()
    service.start()
    with connected(service) as api:
        whole = everything(api, start)
        stored = [version["id"] for version in history(api, AGENTS, "burst")]
        after = AGENTS.save(api, "burst", "afterwards", autoPublish=True)["latestVersionId"]
        newest = everything(api, whole[-1]["position"])
    created = [event["versionId"] for event in whole if event["type"] == "agent.versionCreated"]
    published = [event["versionId"] for event in whole if event["type"] == "agent.published"]
    assert [first, *created] == stored
    assert published == created
    assert {answer["latestVersionId"] for answer in acknowledged.records} <= set(created)
    assert [event["versionId"] for event in newest] == [after, after]
    positions = [event["position"] for event in [*whole, *newest]]
    assert positions == list(range(start + 1, start + 1 + len(positions)))
