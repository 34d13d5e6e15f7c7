"""The processes that serve streams: limits, other requests, and their end."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support import fork_server
from tests.support.api import AGENTS
from tests.support.event_streams import GENEROUS, open_stream, until
from tests.support.ports import free_port, wait_for
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.streams import served_asynchronously
from versioning.api.limits import IN_THREADS

pytestmark = pytest.mark.processes

MANY = 300
FEW = 3


@contextmanager
def started(service: Service, address: str, *command: str) -> Iterator[Service]:
    """Run a command that serves on another port, with the database of a service."""
    log = service.folder / f"{command[0]}.log"
    with log.open("ab") as output:
        process = fork_server.start(
            "manage.py", *command, env=service.environment, stdout=output, stderr=output, is_set_up=True
        )
    wait_for(int(address.rpartition(":")[2]), process, log)
    try:
        yield replace(service, url=f"http://{address}", process=process)
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def serving_events(service: Service, *options: str) -> Iterator[Service]:
    """Run `serve_events` with the database of a service."""
    address = f"127.0.0.1:{free_port()}"
    with started(service, address, "serve_events", "--bind", address, *options) as running:
        yield running


@pytest.fixture(scope="module")
def files() -> Iterator[None]:
    """Enough open files for the clients of this module."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def events_service(live_service: Service, files: None) -> Iterator[Service]:
    """`serve_events` on the database of the live service."""
    with serving_events(live_service) as service:
        yield service


def answer(service: Service, path: str = "/api/events/stream") -> tuple[int, dict[str, str], str]:
    connection = HTTPConnection(service.url.removeprefix("http://"), timeout=30)
    connection.request("GET", path, headers={"Authorization": f"Bearer {service.key}"})
    response = connection.getresponse()
    found = response.status, dict(response.headers), response.read().decode()
    connection.close()
    return found


def test_hundreds_of_streams_get_a_publication_by_another_process(
    live_service: Service, events_service: Service
) -> None:
    with connected(live_service) as api, ExitStack() as stack:
        streams = [stack.enter_context(open_stream(events_service, type="agent.*")) for _ in range(MANY)]
        AGENTS.make(api, "broadcast", autoPublish=True)
        for stream in streams:
            stream.wait_for(2)
        assert {tuple(stream.types) for stream in streams} == {("agent.created", "agent.published")}
        api.delete(AGENTS.url("broadcast"))


@pytest.mark.parametrize(
    "path", ["/api/agents", "/api/events", "/api/schema", "/studio/", "/", "/api/events/stream/x"]
)
def test_the_process_of_the_streams_serves_nothing_else(events_service: Service, path: str) -> None:
    status, _, body = answer(events_service, path)
    assert (status, '"not_found"' in body) == (404, True)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/api/healthz"])
def test_the_process_of_the_streams_answers_health_checks(events_service: Service, path: str) -> None:
    assert answer(events_service, path)[0] == 200


def test_too_many_streams_are_refused_and_reads_are_answered(tmp_path: Path) -> None:
    options = ("--threads", "2")
    with running_service(tmp_path, *options, EDITOR_STREAMS=str(FEW)) as service, connected(service) as api:
        people = keys_of_people(service, FEW)
        with ExitStack() as stack:
            streams = [stack.enter_context(open_stream(service, key)) for key in people]
            status, headers, body = answer(service)
            assert (status, '"too_many_streams"' in body) == (503, True)
            assert int(headers["retry-after"]) >= 1
            AGENTS.make(api, "beside", autoPublish=True)
            assert api.get("/agents/beside").status == 200
            assert {stream.wait_for(2)[1]["type"] for stream in streams} == {"agent.published"}
        # A client that disconnects makes room.
        until(lambda: status_of_a_stream(service) == 200)


def keys_of_people(service: Service, number: int) -> list[str]:
    """Return keys of as many people, each of whom may hold one stream."""
    limits = ("--workspace", "default", "--role", "admin")
    return [service.manage("create_api_key", f"listener-{one}", *limits) for one in range(number)]


def status_of_a_stream(service: Service) -> int:
    try:
        with open_stream(service):
            return 200
    except AssertionError:
        return 503


def test_an_asgi_server_sends_streams_too(live_service: Service) -> None:
    with served_asynchronously(live_service) as address:
        all_hear_of_a_publish(live_service, replace(live_service, url=f"http://{address}"), 1)


def test_a_wsgi_server_has_a_thread_for_each_of_its_few_streams(live_service: Service) -> None:
    address = f"127.0.0.1:{free_port()}"
    with started(live_service, address, "runserver", address, "--noreload") as service:
        all_hear_of_a_publish(live_service, service, IN_THREADS)
        # A thread notices that its client has left when it sends the next comment.
        until(lambda: status_of_a_stream(service) == 200, every=0.5)


def all_hear_of_a_publish(publishing: Service, listening: Service, number: int) -> None:
    people = keys_of_people(publishing, number)
    with connected(publishing) as api, ExitStack() as stack:
        streams = [stack.enter_context(open_stream(listening, key)) for key in people]
        assert number < IN_THREADS or answer(listening)[0] == 503
        AGENTS.make(api, "heard", autoPublish=True)
        assert [stream.wait_for(2)[1]["type"] for stream in streams] == ["agent.published"] * number
        api.delete(AGENTS.url("heard"))


@pytest.mark.parametrize("command", ["serve", "serve_events"])
def test_streams_end_when_their_process_is_stopped(
    live_service: Service, tmp_path: Path, command: str
) -> None:
    with ExitStack() as stack:
        if command == "serve":
            service = stack.enter_context(running_service(tmp_path))
        else:
            service = stack.enter_context(serving_events(live_service))
        streams = [stack.enter_context(open_stream(service)) for _ in range(FEW)]
        assert service.process is not None
        service.process.terminate()
        service.process.wait(GENEROUS)
        for stream in streams:
            assert stream.ended.wait(GENEROUS)


def test_a_worker_ends_when_its_parent_is_killed(live_service: Service) -> None:
    with serving_events(live_service) as service, open_stream(service):
        assert service.process is not None
        os.kill(service.process.pid, signal.SIGKILL)
        until(lambda: not is_listening(service))


def is_listening(service: Service) -> bool:
    try:
        return answer(service, "/healthz")[0] == 200
    except OSError:
        return False


@pytest.mark.parametrize(
    ("command", "environment", "sentence"),
    [
        (("serve_events", "--streams", "0"), {}, "--streams must be at least 1"),
        (("serve_events", "--streams", "9000000000"), {}, "too few files"),
        (("serve",), {"EDITOR_STREAMS": "100000"}, "EDITOR_STREAMS must be from 0 to"),
        (("serve",), {"EDITOR_STREAMS": "-1"}, "EDITOR_STREAMS must not be negative"),
    ],
)
def test_an_impossible_number_of_streams_is_refused_at_the_start(
    live_service: Service, command: tuple[str, ...], environment: dict[str, str], sentence: str
) -> None:
    bind = ("--bind", f"127.0.0.1:{free_port()}")
    done = fork_server.run(
        "manage.py", *command, *bind, env=live_service.environment | environment, is_set_up=True
    )
    assert done.returncode != 0 and sentence in done.stderr
