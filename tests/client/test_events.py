"""The log of a real server, through both clients and on the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import pytest
from editor_client import Client, CursorExpired, ValidationFailed
from editor_client.__main__ import main

from tests.support.clients import Clients, with_both_clients
from tests.support.service import ROOT, Service

pytestmark = pytest.mark.processes

SECONDS_TO_WAIT = 60


@pytest.fixture
def agent(client: Any, new_id: str) -> Any:
    """A published agent, which has three events: created, published, and a draft."""
    client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    agent = client.get_stored_agent(new_id)
    agent.update(instructions="two")
    return agent


@pytest.fixture
def fresh_client(fresh_service: Service) -> Iterator[Client]:
    """A client of a server that may be killed."""
    with Client(fresh_service.url, api_key=fresh_service.key) as client:
        yield client


def types(events: Any) -> list[str]:
    return [event.type for event in events]


CREATED, PUBLISHED, SAVED = "agent.created", "agent.published", "agent.versionCreated"


class TestPages:
    """`list_events` is one page of the log."""

    def test_a_page_names_the_position_of_the_next(self, client: Any, agent: Any) -> None:
        page = client.list_events(id=agent.id, kind="agent", limit=2)
        assert (types(page.events), page.has_more) == ([CREATED, PUBLISHED], True)
        rest = client.list_events(id=agent.id, after=page.next)
        assert (types(rest.events), rest.has_more) == ([SAVED], False)
        assert client.list_events(id=agent.id, after="now").events == ()
        assert types(client.list_events(id=agent.id, before=10**9).events) == [SAVED, PUBLISHED, CREATED]

    def test_an_event_names_action_and_actor(self, client: Any, agent: Any) -> None:
        *_, saved = client.list_events(id=agent.id).events
        assert (saved.resource.kind, saved.resource.id) == ("agent", agent.id)
        assert (saved.actor.id, saved.actor.via, saved.version_number) == ("tester", "api", 2)
        assert saved.version_id == agent.details().latest_version_id
        assert saved.detail["changedFields"] == ["instructions"] and saved.created_at.tzinfo

    def test_types_can_be_listed(self, client: Any, agent: Any) -> None:
        both = client.list_events(id=agent.id, type=["agent.published", "agent.versionCreated"])
        assert types(both.events) == [PUBLISHED, SAVED]
        assert len(client.list_events(id=agent.id, type="agent.*", actor="tester").events) == 3
        with pytest.raises(ValidationFailed, match="type"):
            client.list_events(type="agent.painted")


class TestFollowing:
    """`events` continues until the client is closed."""

    @with_both_clients
    def test_events_arrive_as_they_happen(self, client: Any, agent: Any) -> None:
        events = client.events(after=0, id=agent.id)
        assert types(islice(events, 3)) == [CREATED, PUBLISHED, SAVED]
        agent.update(instructions="three")
        assert next(events).version_number == 3
        events.close()

    def test_by_default_only_new_events_are_followed(
        self, connect: Clients, agent: Any, live_service: Service
    ) -> None:
        client = connect(live_service.url, live_service.key)
        heard: list[str] = []
        is_heard = threading.Event()

        def listen() -> None:
            for event in client.events(id=agent.id):
                heard.append(event.type)
                is_heard.set()

        listener = threading.Thread(target=listen)
        listener.start()
        # It began to listen at some time; until then every save is one of the past.
        for number in range(SECONDS_TO_WAIT * 10):
            agent.update(instructions=f"draft {number}")
            if is_heard.wait(0.1):
                break
        client.close()
        listener.join(SECONDS_TO_WAIT)
        assert not listener.is_alive() and set(heard) == {SAVED}

    def test_no_event_is_lost_in_a_restart_and_pruned_events_are_reported(
        self, fresh_service: Service, fresh_client: Client
    ) -> None:
        client = fresh_client
        client.create_stored_agent(id="writer", name="Writer", instructions="one")
        events = client.events(after=None, id="writer")
        assert types(islice(events, 2)) == [CREATED, PUBLISHED]
        fresh_service.kill()
        fresh_service.start()
        client.get_stored_agent("writer").update(instructions="two")
        assert types(islice(events, 1)) == [SAVED]
        fresh_service.manage("prune_events", "--before", "2999-01-01")
        with pytest.raises(CursorExpired) as raised:
            next(client.events(after=1))
        assert raised.value.oldest == client.list_events(after="now").next


class Followed:
    """`events --follow` as a separate process."""

    def __init__(self, agent_id: str) -> None:
        command = ["-m", "editor_client", "events", "--follow", "--json", "--after", "0", "--id", agent_id]
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell makes background processes ignore it, and this process would inherit that.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )

    def read(self) -> dict[str, Any]:
        """Wait for the next line, and return the event in it."""
        assert self.process.stdout
        event: dict[str, Any] = json.loads(self.process.stdout.readline())
        return event


@pytest.fixture
def followed(environment: None, agent: Any) -> Iterator[Followed]:
    """The events of the agent, followed on the command line."""
    followed = Followed(agent.id)
    with followed.process:
        yield followed
        followed.process.kill()


class TestTheCommandLine:
    """`events` prints a line for each."""

    @pytest.fixture
    def client(self, live_service: Service) -> Iterator[Client]:
        with Client(live_service.url, api_key=live_service.key) as client:
            yield client

    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch: pytest.MonkeyPatch, live_service: Service) -> None:
        monkeypatch.setenv("EDITOR_URL", live_service.url)
        monkeypatch.setenv("EDITOR_API_KEY", live_service.key)

    def test_the_newest_events_are_shown(self, agent: Any, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["events", "--id", agent.id, "--limit", "2"]) == 0
        published, saved = capsys.readouterr().out.splitlines()
        assert f"agent.published  agent {agent.id}  version 1  tester (api)" in published
        assert f"agent.versionCreated  agent {agent.id}  version 2  tester (api)" in saved

    def test_events_are_printed_as_json_on_request(
        self, client: Any, agent: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["events", "--after", "0", "--id", agent.id, "--type", "agent.created", "--json"]) == 0
        [event] = client.list_events(id=agent.id, type="agent.created").events
        assert json.loads(capsys.readouterr().out) == event.raw

    def test_an_invalid_position_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as raised:
            main(["events", "--after", "-1"])
        assert raised.value.code == 2 and "--after" in capsys.readouterr().err

    def test_events_are_followed_until_an_interrupt(self, agent: Any, followed: Followed) -> None:
        assert [followed.read()["type"] for _ in range(3)] == [CREATED, PUBLISHED, SAVED]
        agent.update(instructions="three")
        assert followed.read()["versionNumber"] == 3
        followed.process.send_signal(signal.SIGINT)
        assert followed.process.wait(SECONDS_TO_WAIT) == 0
        assert followed.process.stderr and "Traceback" not in followed.process.stderr.read()

    def test_a_closed_pipe_ends_the_command(self, agent: Any, followed: Followed) -> None:
        followed.read()
        assert followed.process.stdout
        followed.process.stdout.close()
        agent.update(instructions="three")
        assert followed.process.wait(SECONDS_TO_WAIT) == 0
        assert followed.process.stderr and "Traceback" not in followed.process.stderr.read()
