"""A client that follows the log: cached answers cost no request, and are never older than an event."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from editor_client import Client, EditorError, NotFound, Unauthorized, Unreachable

from tests.support.clients import Clients, with_both_clients
from tests.support.misbehaving import Handler, Misbehaving, record
from tests.support.relay import Relay, relay_to
from tests.support.service import ROOT, Service

SECONDS_TO_WAIT = 60
READS = 50


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clients poll more often than once a second, and wait longer on a busy machine.

    tests/client/test_feed.py counts the seconds.
    """
    monkeypatch.setattr("editor_client.reads.feed.POLL_SECONDS", 0.1)
    monkeypatch.setattr("editor_client.reads.feed.POLL_HOLDS_SECONDS", SECONDS_TO_WAIT)
    monkeypatch.setattr("editor_client.reads.following.FIRST_WORD_SECONDS", SECONDS_TO_WAIT)


@pytest.fixture(params=["poll", "stream"])
def updates(request: pytest.FixtureRequest) -> str:
    """Both ways to receive changes."""
    way: str = request.param
    return way


@pytest.fixture
def relay(live_service: Service) -> Iterator[Relay]:
    """A way to the real server that counts."""
    with relay_to(live_service.url) as relay:
        yield relay


@pytest.fixture
def follow(connect: Clients, relay: Relay, updates: str) -> Callable[..., Any]:
    """Makes clients that follow the log: `follow(key, **settings)`."""
    return lambda key, **settings: connect(relay.url, key, **{"updates": updates, **settings})


@pytest.fixture
def follower(follow: Callable[..., Any], live_service: Service) -> Any:
    """A client that follows the log, with the key of an admin."""
    return follow(live_service.key)


def reads(relay: Relay) -> list[str]:
    """Return the requests that are not part of following the log."""
    return [line for line in relay.requests if "/events" not in line]


def soon(holds: Callable[[], bool]) -> bool:
    """Wait until something holds."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return held


def outcome(read: Callable[[], Any]) -> Any:
    """Return the text that is read, or the code of the error."""
    try:
        return read().instructions
    except EditorError as error:
        return error.code


def text_block(text: str) -> dict[str, Any]:
    return {"type": "prompt_block", "content": text, "rules": None}


class TestWhatIsHeld:
    """No requests while nothing changes; the next read after a change shows it."""

    @pytest.mark.processes
    @with_both_clients
    def test_cached_answers_cost_no_request(
        self, client: Any, follower: Any, relay: Relay, new_id: str
    ) -> None:
        client.create_stored_agent(
            id=new_id, name="Writer", instructions=[text_block("Hi {{ name || 'you' }}.")]
        )
        agent, stored = follower.get_agent(new_id), follower.get_stored_agent(new_id)
        assert (agent.details().instructions, stored.details().name) == ("Hi you.", "Writer")
        before = reads(relay)
        assert len(before) == 2
        for number in range(READS):
            found = agent.details(request_context={"name": f"n{number}"})
            assert (found.instructions, found.stale) == (f"Hi n{number}.", False)
            assert agent.details() is agent.details() and stored.details() is stored.details()
        assert reads(relay) == before

    @pytest.mark.processes
    def test_every_change_is_seen(
        self, client: Any, follower: Any, follow: Callable[..., Any], relay: Relay, viewers_key: str
    ) -> None:
        viewer, new_id = follow(viewers_key), f"it-{uuid.uuid4().hex[:12]}"
        changes: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Any]] = {}

        def changing(
            name: str, change: Callable[[Any], Any], then: Any, of: Any = follower, **selector: str
        ) -> None:
            agent_id = f"{new_id}-{name}"
            client.create_stored_agent(
                id=agent_id, name="Writer", instructions="one", visibility="public", workspace_id="default"
            )
            stored = client.get_stored_agent(agent_id)
            if "label" in selector:
                stored.set_label(selector["label"], stored.details().active_version_id, released=True)
            if "status" in selector:
                stored.update(instructions="draft one")
            changes[name] = (of.get_agent(agent_id, **selector).details, lambda: change(stored), then)

        def move_label(stored: Any) -> None:
            stored.set_label("tested", stored.update(instructions="two").latest_version_id)

        changing("published", lambda one: one.update(instructions="two", auto_publish=True), "two")
        changing("by-a-viewer", lambda one: one.update(instructions="two", auto_publish=True), "two", viewer)
        changing("saved", lambda one: one.update(instructions="draft two"), "draft two", status="draft")
        changing("unpublished", lambda one: one.unpublish(), "not_found", viewer)
        changing("deleted", lambda one: one.delete(), "not_found")
        changing("labelled", move_label, "two", viewer, label="tested")
        changing("unlabelled", lambda one: one.remove_label("tested"), "not_found", viewer, label="tested")
        before = {name: outcome(read) for name, (read, _, _) in changes.items()}
        assert set(before.values()) == {"one", "draft one"}
        asked = reads(relay)
        assert {name: outcome(read) for name, (read, _, _) in changes.items()} == before
        assert reads(relay) == asked
        for _, change, _ in changes.values():
            change()
        wanted = {name: then for name, (_, _, then) in changes.items()}
        soon(lambda: {name: outcome(read) for name, (read, _, _) in changes.items()} == wanted)
        assert {name: outcome(read) for name, (read, _, _) in changes.items()} == wanted

    @pytest.mark.processes
    def test_an_agent_is_requested_once_for_all_threads(
        self, live_service: Service, relay: Relay, updates: str, new_id: str
    ) -> None:
        ids = [f"{new_id}-{number}" for number in range(10)]
        with (
            Client(live_service.url, api_key=live_service.key) as client,
            Client(relay.url, api_key=live_service.key, updates=updates) as follower,
            ThreadPoolExecutor(8) as threads,
        ):
            for one in ids:
                client.create_stored_agent(id=one, name="Writer", instructions="one")
            for _ in range(2):
                found = list(threads.map(lambda one: follower.get_agent(one).details().instructions, ids * 8))
            assert found == ["one"] * 80 and len(reads(relay)) == len(ids)
            assert relay.connections <= 2
            assert any(thread.name == "editor-client-follower" for thread in threading.enumerate())
        assert not any(thread.name == "editor-client-follower" for thread in threading.enumerate())


@pytest.fixture(scope="module")
def viewers_key(live_service: Service) -> str:
    return live_service.manage("create_api_key", "vera", "--workspace", "default", "--role", "viewer")


class TestAServerThatIsAway:
    """Reads succeed with cached answers, in any context; after the outage each is requested once."""

    @pytest.mark.processes
    @with_both_clients
    def test_reads_succeed_and_changes_during_the_outage_are_seen(
        self, client: Any, follower: Any, relay: Relay, new_id: str
    ) -> None:
        ids = [f"{new_id}-{number}" for number in range(5)]
        for one in ids:
            client.create_stored_agent(id=one, name="Writer", instructions=[text_block("Hi {{ name }}.")])
        agents = [follower.get_agent(one) for one in ids]
        assert not any(agent.details().stale for agent in agents)
        relay.cut()
        assert soon(lambda: all(agent.details().stale for agent in agents))
        asked = len(reads(relay))
        for agent in agents:
            found = agent.details(request_context={"name": "ada"}, fallback={"instructions": "no"})
            assert (found.instructions, found.stale) == ("Hi ada.", True)
        assert len(reads(relay)) == asked
        client.get_stored_agent(ids[0]).update(instructions="two", auto_publish=True)
        relay.recover()
        assert soon(lambda: not any(agent.details().stale for agent in agents))
        assert agents[0].details().instructions == "two"
        # Once more for those that were read before the log was followed again.
        assert len(agents) <= len(reads(relay)) - asked <= 2 * len(agents)

    @pytest.mark.processes
    def test_stored_answers_serve_a_client_that_revalidates(
        self, follow: Callable[..., Any], client: Any, live_service: Service, relay: Relay, tmp_path: Path
    ) -> None:
        key, text, new_id = live_service.key, "Hi {{ name }}.", f"it-{uuid.uuid4().hex[:12]}"
        for one in (new_id, f"{new_id}-gone"):
            client.create_stored_agent(id=one, name="Writer", instructions=[text_block(text)])
        follower = follow(key, cache_dir=tmp_path)
        for one in (new_id, f"{new_id}-gone"):
            assert follower.get_agent(one).details().instructions == text
        follower.close()
        client.get_stored_agent(f"{new_id}-gone").delete()
        asking = follow(key, updates="ask", retries=0, cache_dir=tmp_path)
        with pytest.raises(NotFound):
            asking.get_agent(f"{new_id}-gone").details()
        relay.cut()
        found = asking.get_agent(new_id).details(request_context={"name": "ada"})
        assert (found.instructions, found.stale) == ("Hi ada.", True)
        for reader in (asking, follow(key, updates="ask", retries=0, cache_dir=tmp_path)):
            with pytest.raises(Unreachable):
                reader.get_agent(f"{new_id}-gone").details()

    @pytest.mark.processes
    def test_a_schema_that_only_the_server_can_check_is_left_unchecked(
        self, client: Any, follower: Any, relay: Relay, new_id: str
    ) -> None:
        schema = {"properties": {"name": {"pattern": "^a"}}}
        client.create_stored_agent(
            id=new_id, name="Writer", instructions=[text_block("{{ name }}")], request_context_schema=schema
        )
        read = follower.get_agent(new_id).details
        for name, codes in (("ada", []), ("bob", ["request_context_invalid"])):
            found = read(request_context={"name": name})
            assert (found.instructions, [one.code for one in found.warnings]) == (name, codes)
            asked = reads(relay)
            assert read(request_context={"name": name}) is found and reads(relay) == asked
        relay.cut()
        found = read(request_context={"name": "cy"})
        assert (found.instructions, found.stale) == ("cy", True)
        assert [one.code for one in found.warnings] == ["request_context_unchecked"]


class Viewer(NamedTuple):
    """A key that may read an agent."""

    key: str
    agent_id: str


class TestARefusedKey:
    """A revoked key is noticed without a read."""

    @pytest.fixture
    def viewer(self, live_service: Service, client: Any, new_id: str) -> Viewer:
        client.create_stored_agent(id=new_id, name="Writer", instructions="one")
        key = live_service.manage("create_api_key", "vera", "--workspace", "default", "--role", "viewer")
        return Viewer(key, new_id)

    @pytest.mark.processes
    def test_cached_answers_are_removed_without_a_read(
        self, follow: Callable[..., Any], relay: Relay, live_service: Service, viewer: Viewer, tmp_path: Path
    ) -> None:
        agent = follow(viewer.key, cache_dir=tmp_path).get_agent(viewer.agent_id)
        assert agent.details().instructions == "one" and list(tmp_path.rglob("rights"))
        live_service.manage("revoke_api_key", viewer.key)
        assert soon(lambda: not list(tmp_path.rglob("rights")))
        assert outcome(agent.details) == "unauthorized"
        relay.cut()
        for reader in (agent, follow(viewer.key, cache_dir=tmp_path).get_agent(viewer.agent_id)):
            assert outcome(reader.details) == "unreachable"

    @pytest.mark.processes
    def test_cached_answers_are_retained_with_keep(
        self,
        follow: Callable[..., Any],
        relay: Relay,
        live_service: Service,
        viewer: Viewer,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        follower = follow(viewer.key, on_unauthorized="keep")
        agent = follower.get_agent(viewer.agent_id)
        assert agent.details().instructions == "one"
        live_service.manage("revoke_api_key", viewer.key)
        with caplog.at_level(logging.WARNING, "editor_client"):
            assert soon(lambda: agent.details().stale)
            asked = len(reads(relay))
            assert {agent.details().instructions for _ in range(READS)} == {"one"}
        assert len(reads(relay)) - asked < READS / 2  # one in a while finds out whether it is let in again
        assert len([line for line in caplog.messages if "served as stale" in line]) == 1
        with pytest.raises(Unauthorized):
            follower.get_agent("never-read").details()


@pytest.mark.processes
def test_lost_rights_are_noticed_while_the_log_is_polled(
    live_service: Service, connect: Clients, client: Any, new_id: str
) -> None:
    key = live_service.manage("create_api_key", new_id, "--workspace", "default", "--role", "editor")
    client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    client.get_stored_agent(new_id).update(instructions="not yet")
    read = connect(live_service.url, key, updates="poll").get_agent(new_id, status="draft").details
    assert outcome(read) == "not yet"
    live_service.manage("set_role", new_id, "default", "viewer")
    assert soon(lambda: outcome(read) == "forbidden")


class OldServer:
    """A server in the application's own transport, without the routes that a test removes."""

    def __init__(self, **refusals: httpx2.Response) -> None:
        self.refusals = refusals
        self.asked: list[str] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        place = request.url.path.removeprefix("/api/").replace("/", "_")
        if "form" in request.url.params:
            place = "parts"
        if place in self.refusals:
            refusal = self.refusals[place]
            return httpx2.Response(refusal.status_code, content=refusal.content)
        if place == "events":
            return httpx2.Response(200, json={"events": [], "next": 1, "hasMore": False})
        self.asked.append(str(request.url))
        return httpx2.Response(200, json={"id": "writer", "instructions": "one"})

    def client(self) -> Client:
        """Return a client of this server."""
        transport = httpx2.MockTransport(self)
        own = httpx2.Client(transport=transport)
        return Client("http://old.test", api_key="ek_test", updates="stream", http_client=own)


NOT_THERE = httpx2.Response(404, json={"error": "no", "code": "not_found"})
UNKNOWN = httpx2.Response(
    400, json={"error": "no", "code": "validation_failed", "issues": [{"field": "form"}]}
)
NO_PARTS = httpx2.Response(409, json={"error": "no", "code": "parts_unavailable"})


class TestAnOlderServer:
    """Its routes are used; the client manages without the missing ones."""

    @pytest.mark.parametrize(
        ("server", "asked"),
        [
            (OldServer(events_stream=NOT_THERE, parts=UNKNOWN), 1),
            (OldServer(events_stream=NOT_THERE, parts=NO_PARTS), 3),
            (OldServer(events=NOT_THERE, events_stream=NOT_THERE, parts=UNKNOWN), 3),
            (OldServer(events=httpx2.Response(502), parts=UNKNOWN), 3),
        ],
        ids=["no streams and no parts", "it chooses by the context", "no events", "events that fail"],
    )
    def test_reads_are_revalidated_if_no_events_are_available(self, server: OldServer, asked: int) -> None:
        with server.client() as client:
            for _ in range(3):
                assert client.get_agent("writer").details().instructions == "one"
        assert len(server.asked) == asked


def test_after_the_log_was_restored_all_answers_are_requested_again(
    connect: Clients, server: Misbehaving
) -> None:
    log = {"newest": 5}

    def behave(handler: Handler) -> None:
        after = parse_qs(urlsplit(handler.path).query).get("after", ["now"])[0]
        if "/events" not in handler.path:
            found = record(None, instructions=f"as of {log['newest']}")
            found(handler) if "form=parts" not in handler.path else handler.send(400, UNKNOWN.content)
        elif after != "now" and int(after) > log["newest"]:
            body = {"error": "Ahead.", "code": "cursor_ahead", "newest": log["newest"]}
            handler.send(410, json.dumps(body).encode())
        else:
            page = {"events": [], "next": log["newest"], "hasMore": False}
            handler.send(200, json.dumps(page).encode())

    server.does(behave)
    agent = connect(server.url, updates="poll").get_agent("writer")
    assert agent.details().instructions == agent.details().instructions == "as of 5"
    log["newest"] = 3
    assert soon(lambda: agent.details().instructions == "as of 3")


FORKING = """
import os, sys, time
from editor_client import Client

url, key, agent = sys.argv[1:]
with Client(url, api_key=key, updates="stream") as client:
    agent = client.get_agent(agent)
    assert agent.details().instructions == "one"
    child = os.fork()
    if child == 0:
        assert agent.details().instructions == "one"
    print("ready", flush=True)
    while agent.details().instructions != "two":
        time.sleep(0.01)
    if child == 0:
        client.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.processes
def test_a_forked_process_has_its_own_follower(live_service: Service, new_id: str) -> None:
    command = [sys.executable, "-c", FORKING, live_service.url, live_service.key, new_id]
    with Client(live_service.url, api_key=live_service.key) as client:
        client.create_stored_agent(id=new_id, name="Writer", instructions="one")
        with subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE) as forking:
            assert forking.stdout
            assert [forking.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
            client.get_stored_agent(new_id).update(instructions="two", auto_publish=True)
            assert forking.wait(SECONDS_TO_WAIT) == 0
