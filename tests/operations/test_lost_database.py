"""PostgreSQL is down: requests are refused within seconds, and served within seconds of its return."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support import fork_server
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer
from tests.support.event_streams import open_stream, until
from tests.support.installation import Installation, installation
from tests.support.relay import Relay, relay_to
from tests.support.remote import RemoteApi, connected

pytestmark = pytest.mark.postgresql

SECONDS_UNTIL_READYZ = 10
SECONDS_UNTIL_AN_ANSWER = 15
SECONDS_UNTIL_BACK = 20
SECONDS_UNTIL_A_SIGN = 60
OUTAGE = 8  # seconds: long enough for attempts that become rarer to miss the return
PAUSE = 1  # between requests of all callers at once
STATEMENT_SECONDS = 2
CALLERS = 24
LOCK = "SELECT 1 FROM versioning_agent WHERE id = 'writer' FOR UPDATE"

Lose = Callable[[Relay], None]
Ask = Callable[[RemoteApi], Answer]


def home_page(api: RemoteApi) -> Answer:
    """Request a page of the studio with the cookie of an earlier session."""
    api.prefix = ""
    return api.request("GET", "/studio/", cookie="sessionid=made-up-but-long-enough")


ASKED: dict[str, Ask] = {
    "a kept answer": lambda api: api.get("/agents/writer"),
    "a list": lambda api: api.get(AGENTS.path, search="w"),
    "an edit of an agent": lambda api: api.patch(AGENTS.url("writer"), {"name": str(time.monotonic())}),
    "an edit of a block": lambda api: api.patch(PROMPT_BLOCKS.url("writer"), {"name": str(time.monotonic())}),
    "a page of the studio": home_page,
}


@dataclass(frozen=True)
class Served:
    """A service, and the relay to its database."""

    installation: Installation
    relay: Relay
    database_url: str
    """The way round the relay."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that reaches its database through a relay, with cached answers."""
    folder = tmp_path_factory.mktemp("lost") / "installation"
    environment = {"EDITOR_STATEMENT_TIMEOUT": str(STATEMENT_SECONDS)}
    with installation(folder, is_set_up=True, **environment) as made:
        direct = made.service.environment["DATABASE_URL"]
        parts = urlsplit(direct)
        with relay_to(f"http://{parts.hostname}:{parts.port}") as relay:
            near = f"{parts.hostname}:{parts.port}"
            made.service.environment["DATABASE_URL"] = direct.replace(near, relay.url.removeprefix("http://"))
            made.service.start()
            with connected(made.service) as api:
                for kind in (AGENTS, PROMPT_BLOCKS):
                    kind.make(api, autoPublish=True)
                assert api.get("/agents/writer").status == 200
            yield Served(made, relay, direct)


@pytest.fixture(autouse=True)
def connection_is_restored(service: Served) -> Iterator[None]:
    """Restore the connection to the database after each test."""
    yield
    service.relay.recover()


def timed(service: Served, ask: Ask) -> tuple[Answer, float]:
    """Send a request on a separate connection; return the answer and its duration in seconds."""
    with connected(service.installation.service) as api:
        begun = time.monotonic()
        return ask(api), time.monotonic() - begun


def test_streams_end_when_the_database_is_lost(service: Served, lose: Lose) -> None:
    with open_stream(service.installation.service) as stream:
        lose(service.relay)
        assert stream.ended.wait(SECONDS_UNTIL_A_SIGN)
        with connected(service.installation.service) as api:
            answer = api.request("GET", "/events/stream")
            assert (answer.status, answer.code) == (503, "database_unavailable")
    service.relay.recover()
    until(lambda: timed(service, lambda api: api.get("/events"))[0].status == 200)
    with connected(service.installation.service) as api, open_stream(service.installation.service) as stream:
        AGENTS.save(api, text=str(time.monotonic()), autoPublish=True)
        assert stream.wait_for(1)


def test_requests_are_refused_quickly_and_served_soon_after_the_database_returns(
    service: Served, lose: Lose
) -> None:
    asked = [list(ASKED.items())[position % len(ASKED)] for position in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS + 1) as threads:
        # Many connections are open when the database goes.
        assert {answer.status for answer, _ in threads.map(lambda one: timed(service, one[1]), asked)} <= {
            200,
            302,
        }
        lose(service.relay)
        gone = time.monotonic()
        while time.monotonic() < gone + OUTAGE:
            ready = threads.submit(timed, service, lambda api: api.get("/readyz"))
            others = threads.map(lambda one: (one[0], *timed(service, one[1])), asked)
            answer, seconds = ready.result()
            assert (answer.status, answer.code) == (503, "database_unavailable")
            assert seconds < SECONDS_UNTIL_READYZ
            for name, answer, seconds in others:
                assert (name, answer.status, answer.headers["Retry-After"]) == (name, 503, "1")
                assert name.startswith("a page") or answer.code == "database_unavailable"
                assert seconds < SECONDS_UNTIL_AN_ANSWER, name
            assert timed(service, lambda api: api.get("/healthz"))[0].status == 200
            time.sleep(PAUSE)
        service.relay.recover()
        back = time.monotonic()
        while timed(service, ASKED["a kept answer"])[0].status != 200:
            assert time.monotonic() - back < SECONDS_UNTIL_BACK
        for name, ask in ASKED.items():
            assert timed(service, ask)[0].status in {200, 302}, name


@pytest.fixture(params=["refused", "silent"])
def lose(request: pytest.FixtureRequest) -> Lose:
    """How the database becomes unreachable: it is stopped, or its packets are dropped."""
    return {"refused": Relay.cut, "silent": Relay.fall_silent}[request.param]


def test_a_worker_waits_for_the_database_and_continues(service: Served, lose: Lose, tmp_path: Path) -> None:
    def signs() -> int:
        """Count the heartbeats of a worker since the connection was restored."""
        with psycopg.connect(service.database_url) as other:
            found = other.execute(
                "SELECT count(*) FROM versioning_workerheartbeat WHERE seen_at > %s", [back]
            )
            return int((found.fetchone() or [0])[0])

    log = tmp_path / "worker.log"
    with log.open("wb") as output:
        environment = service.installation.service.environment
        worker = fork_server.start(
            "manage.py", "work", env=environment, stdout=output, stderr=output, is_set_up=True
        )
    try:
        back = datetime.datetime.now(datetime.UTC)
        while not signs():
            assert worker.poll() is None, log.read_text()
            time.sleep(0.1)
        lose(service.relay)
        time.sleep(OUTAGE)
        assert worker.poll() is None, log.read_text()
        service.relay.recover()
        back = datetime.datetime.now(datetime.UTC)
        until = time.monotonic() + SECONDS_UNTIL_A_SIGN
        while not signs():
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
    finally:
        worker.terminate()
        assert worker.wait(30) == 0
    assert "Traceback" not in log.read_text()


@pytest.mark.parametrize("lose", ["refused", "silent"], indirect=True)
def test_a_request_during_which_the_database_is_lost_is_answered(service: Served, lose: Lose) -> None:
    with psycopg.connect(service.database_url) as other, ThreadPoolExecutor(1) as threads:
        other.execute(LOCK)
        waiting = threads.submit(timed, service, ASKED["an edit of an agent"])
        until_a_statement_waits_for_a_lock(other)
        lose(service.relay)
        answer, seconds = waiting.result()
        assert (answer.status, answer.code) == (503, "database_unavailable")
        assert seconds < SECONDS_UNTIL_AN_ANSWER
        other.rollback()
    service.relay.recover()
    back = time.monotonic()
    while timed(service, ASKED["an edit of an agent"])[0].status != 200:
        assert time.monotonic() - back < SECONDS_UNTIL_BACK


def until_a_statement_waits_for_a_lock(connection: psycopg.Connection[tuple[int]]) -> None:
    """Wait until a statement of the service waits for a lock of this connection."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    deadline = time.monotonic() + STATEMENT_SECONDS
    while time.monotonic() < deadline:
        # Within a transaction PostgreSQL shows no connection that is newer than the first look.
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute(waiting).fetchone()
        if row and row[0]:
            return
        Event().wait(0.01)
    raise AssertionError("no one waits")


def test_a_statement_that_takes_too_long_is_answered_with_a_clear_error(service: Served) -> None:
    with psycopg.connect(service.database_url) as other:
        other.execute(LOCK)
        answer, seconds = timed(service, ASKED["an edit of an agent"])
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "database_timeout", "1")
        assert STATEMENT_SECONDS <= seconds < SECONDS_UNTIL_AN_ANSWER
    assert timed(service, ASKED["an edit of an agent"])[0].status == 200


def test_a_command_may_take_its_time(service: Served) -> None:
    program = (
        "from django.db import connection\n"
        f"connection.cursor().execute('SELECT pg_sleep({STATEMENT_SECONDS + 1})')\nprint('done')"
    )
    assert service.installation.python(program) == "done"
