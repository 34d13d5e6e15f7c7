"""Releases on a real server with several processes: read while they go live, raced, and killed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPException
from threading import Event
from typing import Any

import pytest
from editor_client import Client

from tests.releases.conftest import item, make, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.factories import ECHO
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.served import reference
from tests.support.service import Service, running_service

pytestmark = [pytest.mark.processes, pytest.mark.database]

TURNS = 5
KILLED = 20
KILLS = 2
ITEMS = 20
Sides = list[list[dict[str, Any]]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes."""
    with running_service(tmp_path_factory.mktemp("releases"), "--workers", "2") as running:
        yield running


def saying(which: str) -> list[dict[str, str]]:
    return [{"type": "text", "content": which}, reference("tone")]


@pytest.fixture(scope="module")
def sides(service: Service) -> Sides:
    """The items that publish a block, an agent that shows it and one that runs that agent, old and new."""
    with connected(service) as api:
        old = {"tone": PROMPT_BLOCKS.make(api, "tone", "old", autoPublish=True)["latestVersionId"]}
        new = {"tone": PROMPT_BLOCKS.save(api, "tone", "new")["latestVersionId"]}
        agents: dict[str, Any] = {"writer": {}, "lead": {"agents": {"writer": {}}}}
        for agent_id, more in agents.items():
            fields = {"model": ECHO, "autoPublish": True, **more}
            old[agent_id] = AGENTS.make(api, agent_id, saying("old"), **fields)["latestVersionId"]
            new[agent_id] = AGENTS.save(api, agent_id, saying("new"))["latestVersionId"]
    return [
        [item(PROMPT_BLOCKS if one == "tone" else AGENTS, one, versions[one]) for one in versions]
        for versions in (old, new)
    ]


def side_of(said: str) -> str:
    """Return whether everything in an answer is old or new; fails for a mixture."""
    found = set(re.findall(r"\b(old|new)\b", said))
    assert len(found) == 1, said
    return found.pop()


def over_http(service: Service, read: Callable[[Api], Any], is_over: Event) -> int:
    """Read until the end of the test; return the number of answers."""
    count = 0
    with connected(service) as api:
        while not is_over.is_set():
            answer = read(api)
            assert answer.status == 200, answer.body
            side_of(str(answer.body))
            count += 1
    return count


def in_a_client(service: Service, is_over: Event, **settings: Any) -> int:
    """Read by the Python client until it is over."""
    count = 0
    with Client(service.url, api_key=service.key, **settings) as client:
        while not is_over.is_set():
            side_of(client.get_agent("writer").details().instructions)
            side_of(client.get_agent("writer").details(request_context={"a": count % 3}).instructions)
            count += 1
    return count


def test_no_reader_sees_half_of_a_release(service: Service, sides: Sides) -> None:
    reads: list[Callable[[Event], int]] = [
        partial(over_http, service, lambda api: api.get("/agents/writer")),
        partial(over_http, service, lambda api: api.get("/agents/writer", requestContext="eyJhIjoxfQ==")),
        partial(over_http, service, lambda api: api.get("/agents/lead", form="parts")),
        partial(over_http, service, lambda api: api.get("/agents")),
        partial(over_http, service, lambda api: api.post("/agents/lead/generate", {"messages": "Go."})),
        partial(in_a_client, service, updates="stream"),
        partial(in_a_client, service, updates="poll"),
        partial(in_a_client, service),
    ]
    is_over = Event()
    with ThreadPoolExecutor(len(reads)) as threads:
        readers = [threads.submit(read, is_over) for read in reads]
        try:
            with connected(service) as publisher, connected(service) as other:
                for turn in range(1, TURNS + 1):
                    release = make(publisher, *sides[turn % 2], workspace="default")
                    assert publish(publisher, release).status == 200
                    # Reads that begin now see all of it, in either process.
                    seen = {side_of(str(api.get("/agents/writer").body)) for api in (publisher, other)}
                    seen.add(side_of(str(other.get(PROMPT_BLOCKS.url("tone")).body["content"])))
                    assert seen == {("old", "new")[turn % 2]}
                    if any(reader.done() for reader in readers):
                        break
        finally:
            is_over.set()
        assert all(reader.result(60) > 0 for reader in readers)


def test_releases_that_share_items_are_published_one_after_the_other(service: Service) -> None:
    with connected(service) as api:
        versions: dict[tuple[str, str], list[str]] = {}
        for kind, number in ((PROMPT_BLOCKS, 0), (AGENTS, 1), (PROMPT_BLOCKS, 2), (AGENTS, 3)):
            name = f"shared-{number}"
            made = [kind.make(api, name, "0")["latestVersionId"]]
            made += [kind.save(api, name, str(text))["latestVersionId"] for text in range(1, 8)]
            versions[kind.path, name] = made
        releases = []
        for number in range(8):
            items = [
                item(kind, name, made[number])
                for kind in (AGENTS, PROMPT_BLOCKS)
                for (path, name), made in versions.items()
                if path == kind.path
            ]
            random.Random(number).shuffle(items)
            releases.append(make(api, *items, workspace="default"))
        start = api.get("/events", after="now").body["next"]
    answers = at_once(service, [partial(publish_as, release=release) for release in releases])
    assert [answer.status for answer in answers] == [200] * 8, [answer.body for answer in answers]
    with connected(service) as api:
        events = api.get("/events", after=start, type="release.published").body["events"]
        last = events[-1]["detail"]["releaseId"]
        [winner] = [number for number, release in enumerate(releases) if release["id"] == last]
        for (path, name), made in versions.items():
            kind = AGENTS if path == AGENTS.path else PROMPT_BLOCKS
            assert api.get(kind.url(name)).body["activeVersionId"] == made[winner]
        # Each revert restored the state before its release.
        moves = api.get("/events", after=start, kind="agent", id="shared-1").body["events"]
        assert [one["previousVersionId"] for one in moves[1:]] == [one["versionId"] for one in moves[:-1]]


def publish_as(api: RemoteApi, release: dict[str, Any]) -> Any:
    return publish(api, release)


@pytest.mark.parametrize("kind", [AGENTS, PROMPT_BLOCKS], ids=["agents", "prompt-blocks"])
def test_a_release_raced_by_a_deletion_is_published_completely_or_not_at_all(
    service: Service, kind: Kind
) -> None:
    for turn in range(5):
        names = [f"{kind.text}-{turn}-{number}" for number in range(3)]
        with connected(service) as api:
            for name in names:
                kind.make(api, name)
            release = make(api, *(item(kind, name) for name in names), workspace="default")
        published, deleted = at_once(
            service,
            [partial(publish_as, release=release), lambda api, name=names[1]: api.delete(kind.url(name))],
        )
        assert deleted.status == 200, deleted.body
        assert published.status in {200, 409}, published.body
        with connected(service) as api:
            others = [
                api.get(kind.url(name), status="draft").body["status"] for name in names if name != names[1]
            ]
        assert set(others) == {"published" if published.status == 200 else "draft"}


def test_a_killed_server_has_published_all_of_a_release_or_none_of_it(service: Service) -> None:
    names = [f"many-{number}" for number in range(ITEMS)]
    with connected(service) as api:
        versions = {}
        for number, name in enumerate(names):
            kind = AGENTS if number % 2 else PROMPT_BLOCKS
            versions[name] = (
                kind,
                [kind.make(api, name)["latestVersionId"], kind.save(api, name)["latestVersionId"]],
            )
        start = api.get("/events", after="now").body["next"]
    published: list[str] = []
    dice = random.Random(17)

    def go_on(until: int, dying: Event) -> None:
        """Publish one release after the other until the server is gone."""
        with connected(service) as api:
            while len(published) < until + 5:
                items = [
                    item(kind, name, made[len(published) % 2]) for name, (kind, made) in versions.items()
                ]
                try:
                    release = make(api, *items, workspace="default")
                    answer = publish(api, release)
                except (OSError, HTTPException):
                    return
                assert answer.status == 200, answer.body
                published.append(release["id"])
                if len(published) >= until:
                    dying.set()

    for kill in range(1, KILLS + 1):
        dying = Event()
        with ThreadPoolExecutor(1) as threads:
            writer = threads.submit(go_on, KILLED // KILLS * kill, dying)
            assert dying.wait(60) or writer.result(1) is None
            Event().wait(dice.random() * 0.02)  # somewhere in the next release
            service.kill()
            writer.result(60)
        service.start()
        with connected(service) as api:
            events = api.get("/events", after=start, type="release.published", limit=1000).body["events"]
            done = [event["detail"]["releaseId"] for event in events]
            assert set(published) <= set(done)
            last = api.get(f"/releases/{done[-1]}").body
            assert last["state"] == "published"
            live = {
                name: api.get(kind.url(name)).body["activeVersionId"] for name, (kind, _) in versions.items()
            }
            assert live == {one["resource"]["id"]: one["versionId"] for one in last["items"]}
            drafts = api.get("/releases", state="draft", perPage=1000).body["releases"]
            assert not {release["id"] for release in drafts} & set(done)
            published[:] = done
    assert len(published) >= KILLED
