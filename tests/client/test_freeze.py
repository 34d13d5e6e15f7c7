"""A server that is frozen: it accepts connections and answers nothing, and finding out takes the timeout."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from editor_client import Client, Unreachable

from tests.support.clients import Clients, with_both_clients
from tests.support.service import Service, running_service

pytestmark = pytest.mark.processes

TIMEOUT = 1.0
AT_ONCE = 0.5 * TIMEOUT
"""All reads together take less than half of what waiting for one would."""
SECONDS_TO_WAIT = 60
AGENTS = ("one", "two", "checked")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server that can be frozen, with agents that say their id; of one only the server checks contexts."""
    with (
        running_service(tmp_path_factory.mktemp("frozen")) as service,
        Client(service.url, api_key=service.key) as client,
    ):
        for one in AGENTS:
            schema = {"properties": {"name": {"pattern": "^a"}}} if one == "checked" else None
            text = [{"type": "prompt_block", "content": f"{one} {{{{ name || 'you' }}}}", "rules": None}]
            client.create_stored_agent(id=one, name="W", instructions=text, request_context_schema=schema)
        client.create_stored_agent(id="never-read", name="W", instructions="never read")
        yield service


@pytest.fixture
def holding(connect: Clients, service: Service) -> Callable[..., Any]:
    """Makes clients that hold every agent."""

    def make(**settings: Any) -> Any:
        client = connect(service.url, service.key, timeout=TIMEOUT, **settings)
        assert [client.get_agent(one).details().stale for one in AGENTS] == [False] * len(AGENTS)
        return client

    return make


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client try again sooner."""
    monkeypatch.setattr("editor_client.reads.exchange.REST_SECONDS", 0.2)
    monkeypatch.setattr("editor_client.reads.following.ATTEMPT_SECONDS", 0.2)


def timed(read: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result, and the seconds that it took."""
    began = time.monotonic()
    found = read()
    return found, time.monotonic() - began


def read_everything(client: Any) -> list[tuple[str, bool]]:
    """Read every agent, each in a context of its own as well."""
    read = [client.get_agent(one).details for one in AGENTS]
    found = [one() for one in read] + [one(request_context={"name": "ada"}) for one in read]
    return [(one.instructions, one.stale) for one in found]


EVERYTHING = [(f"{one} {name}", True) for name in ("you", "ada") for one in AGENTS]


def is_fresh_soon(client: Any) -> bool:
    """Wait until an agent is read from the server again."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while (stale := client.get_agent("one").details().stale) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not stale


@with_both_clients
def test_one_read_finds_out_and_all_others_return_at_once(
    holding: Callable[..., Any], service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    client = holding()
    with caplog.at_level(logging.INFO, "editor_client"), service.frozen():
        assert client.get_agent("one").details().stale
        for _ in range(3):
            found, seconds = timed(lambda: read_everything(client))
            assert found == EVERYTHING and seconds < AT_ONCE
        with pytest.raises(Unreachable):
            client.get_agent("never-read").details()
        found, seconds = timed(lambda: read_everything(client))
        assert found == EVERYTHING and seconds < AT_ONCE
    # Any answer shows that the server is back, so that a client sees its own change at once.
    client.get_stored_agent("one").update(description="x")
    assert not client.get_agent("one").details().stale
    [line] = [one for one in caplog.messages if "last good answer" in one]
    assert "/agents/one" in line and "took too long" in line


@pytest.mark.usefixtures("impatient")
def test_after_a_pause_one_thread_tries_again(
    holding: Callable[..., Any], service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    client = holding()

    def read(_: int) -> tuple[Any, float]:
        return timed(client.get_agent("one").details)

    with caplog.at_level(logging.INFO, "editor_client"), ThreadPoolExecutor(8) as threads:
        with service.frozen():
            assert client.get_agent("one").details().stale
            time.sleep(0.3)
            found = list(threads.map(read, range(8)))
            assert all(agent.stale for agent, _ in found)
            assert len([seconds for _, seconds in found if seconds > AT_ONCE]) == 1
        assert is_fresh_soon(client)
    assert len([one for one in caplog.messages if "last good answer" in one]) == 1
    assert caplog.messages[-1] == "the server answers again"


@with_both_clients
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("updates", ["poll", "stream"])
def test_while_the_log_is_followed_no_read_of_what_is_held_waits(
    holding: Callable[..., Any], service: Service, updates: str
) -> None:
    client = holding(updates=updates)
    with service.frozen():
        with pytest.raises(Unreachable):
            client.get_agent("never-read").details()
        until = time.monotonic() + 2 * TIMEOUT  # longer than one attempt in the background
        while time.monotonic() < until:
            found, seconds = timed(lambda: [client.get_agent(one).details() for one in AGENTS])
            assert all(one.stale for one in found) and seconds < AT_ONCE
            time.sleep(0.02)
    assert is_fresh_soon(client)


@with_both_clients
@pytest.mark.usefixtures("impatient")
def test_what_could_not_be_revalidated_in_the_background_is_stale(
    holding: Callable[..., Any], service: Service
) -> None:
    client = holding(max_age=0.01, stale_while_revalidate=3600)
    with service.frozen():
        found, seconds = timed(client.get_agent("one").details)
        assert seconds < AT_ONCE
        time.sleep(1.2 * TIMEOUT)
        found, seconds = timed(lambda: [client.get_agent(one).details().stale for one in AGENTS])
        assert all(found) and seconds < AT_ONCE
    assert is_fresh_soon(client)
