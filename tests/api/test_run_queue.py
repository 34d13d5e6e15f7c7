"""Runs have threads and a queue of their own: other requests go on, and more runs than fit are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest
from django.test import Client

from tests.runtime.model_server import ModelServer, Says, running_model_server
from tests.support.api import AGENTS, Answer, Api
from tests.support.remote import RemoteApi, opened
from tests.support.runs import OPENAI, agent, run, run_path
from tests.support.service import Service
from tests.support.streams import beside, listening, served_asynchronously
from versioning.api.limits import is_run, runs

KEY = "sk-test-0123456789abcdef"
RUNS = 2
SECONDS = 30
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class HeldModel:
    """A model that answers when the test lets it."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.released = Event()
        server.requests.clear()
        server.model = self._answer

    def _answer(self, request: dict[str, Any]) -> Says:
        assert self.released.wait(SECONDS)
        return Says("done")

    def wait_for(self, requests: int) -> None:
        """Wait until the model has so many requests."""
        until(lambda: len(self.server.requests) == requests)


def until(is_so: Callable[[], bool]) -> None:
    deadline = monotonic() + SECONDS
    while not is_so():
        assert monotonic() < deadline
        sleep(0.01)


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


@pytest.fixture
def held(model_server: ModelServer) -> Iterator[HeldModel]:
    """The model of all agents in this module, which answers nothing yet."""
    model = HeldModel(model_server)
    yield model
    model.released.set()


@pytest.fixture(scope="module")
def addresses(
    tmp_path_factory: pytest.TempPathFactory, live_service: Service, model_server: ModelServer
) -> Iterator[dict[str, str]]:
    """The host and port of the application by interface, each with few places for runs."""
    environment = {
        "OPENAI_BASE_URL": model_server.url,
        "OPENAI_API_KEY": KEY,
        "EDITOR_RUN_THREADS": str(RUNS),
    }
    service = beside(live_service, tmp_path_factory.mktemp("queue"), **environment)
    service.start()
    try:
        with served_asynchronously(service) as asgi:
            wsgi = service.url.removeprefix("http://")
            with opened(wsgi, service.key) as api:
                agent(api, "queued", model=OPENAI)
                yield {"wsgi": wsgi, "asgi": asgi}
                assert api.delete("/stored/agents/queued").status == 200
    finally:
        began = monotonic()
        service.stop()
        # Those who left the queue without an answer do not keep the server from ending.
        assert monotonic() - began < SECONDS / 2


@pytest.fixture(params=["wsgi", "asgi"])
def api(
    request: pytest.FixtureRequest, live_service: Service, addresses: dict[str, str]
) -> Iterator[RemoteApi]:
    """The admin of the service, under either interface."""
    with opened(addresses[request.param], live_service.key) as api:
        yield api


@contextmanager
def callers(api: RemoteApi) -> Iterator[Callable[[], Future[Answer]]]:
    """Yield a function that starts a run on a new connection."""

    def ask() -> Answer:
        with opened(api.address, api.key) as own:
            while (answer := run(own, "queued")).status == 503:  # `is_full` has the last place for a moment
                sleep(0.01)
            return answer

    with ThreadPoolExecutor(3 * RUNS) as threads:
        yield lambda: threads.submit(ask)


def refused(api: Api, verb: str = "generate", agent_id: str = "queued") -> bool:
    """Return whether a run is refused, at once and with a time at which to try again."""
    began = monotonic()
    answer = run(api, agent_id, verb=verb)
    assert (answer.status, answer.code) == (503, "runs_full"), answer.body
    assert answer.headers["Retry-After"] == "5" and answer.headers["X-Request-ID"]
    return monotonic() - began < 2


@pytest.mark.processes
def test_saves_go_on_beside_runs_and_more_runs_wait_or_are_refused(api: RemoteApi, held: HeldModel) -> None:
    with ExitStack() as stack:
        # A stream has a place like any other run.
        stream = stack.enter_context(listening(api, "queued"))
        ask = stack.enter_context(callers(api))
        running = [ask()]
        held.wait_for(RUNS)
        waiting = [ask() for _ in range(RUNS)]
        until(lambda: is_full(api))
        assert refused(api) and refused(api, "stream")
        assert AGENTS.save(api, "queued", f"saved at {monotonic()}")["hasDraft"]
        assert api.get("/stored/agents").status == 200
        assert not any(answer.done() for answer in running + waiting)
        held.released.set()
        *_, last = stream.events()
        assert last["type"] == "finish"
        assert {answer.result(SECONDS).status for answer in running + waiting} == {200}
        assert run(api, "queued").status == 200


@pytest.mark.processes
def test_a_caller_who_leaves_the_queue_is_not_run(api: RemoteApi, held: HeldModel) -> None:
    with callers(api) as ask:
        running = [ask() for _ in range(RUNS)]
        held.wait_for(RUNS)
        for _ in range(2 * RUNS):
            assert not is_full(api)
        waiting = [ask() for _ in range(RUNS)]
        until(lambda: is_full(api))
        held.released.set()
        assert {answer.result(SECONDS).status for answer in running + waiting} == {200}
    assert len(held.server.requests) == 2 * RUNS


def is_full(api: RemoteApi) -> bool:
    """Ask for a run, and go away if there is no answer soon; return whether it is refused."""
    with opened(api.address, api.key) as own:
        own.connection.timeout = 0.3
        try:
            return run(own, "queued").status == 503
        except TimeoutError:
            return False


@pytest.mark.processes
def test_a_caller_without_a_key_gets_401_and_takes_no_place(api: RemoteApi, held: HeldModel) -> None:
    with callers(api) as ask:
        running = [ask() for _ in range(RUNS)]
        held.wait_for(RUNS)
        with opened(api.address, "") as anyone:
            assert [run(anyone, "queued").status for _ in range(3 * RUNS)] == [401] * 3 * RUNS
        held.released.set()
        assert {answer.result(SECONDS).status for answer in running} == {200}


@pytest.mark.processes
def test_a_visitor_who_is_not_signed_in_takes_no_place(api: RemoteApi, held: HeldModel) -> None:
    with callers(api) as ask:
        running = [ask() for _ in range(RUNS)]
        held.wait_for(RUNS)
        connection = HTTPConnection(api.address, timeout=SECONDS / 3)
        for _ in range(3 * RUNS):
            connection.request("POST", "/studio/versioning/agent/queued/try/run/", "message=hello", FORM)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 401  # the page of a run is a view of the API
        connection.close()
        assert not is_full(api)
        held.released.set()
        assert {answer.result(SECONDS).status for answer in running} == {200}


# Another server, such as Django's own


def test_a_view_refuses_runs_for_which_its_process_has_no_place(alice: Api, settings: Any) -> None:
    settings.EDITOR_RUN_THREADS = 1
    agent(alice)
    client = Client(headers={"authorization": f"Bearer {alice.key}"})
    address, body = f"/api{run_path('writer', 'stream')}", {"messages": "hello"}
    stream = client.post(address, body, content_type="application/json")
    waiting = runs.join()
    for verb in ("generate", "stream"):
        assert refused(alice, verb, "writer")
    assert not waiting.turn.done()
    stream.close()
    assert waiting.turn.done()
    waiting.leave()
    assert run(alice).status == run(alice, verb="stream").status == 200


def test_a_failed_run_gives_its_place_up(alice: Api, settings: Any) -> None:
    settings.EDITOR_RUN_THREADS = 1
    for _ in range(3):
        assert run(alice, "nobody").status == run(alice, "nobody", verb="stream").status == 404


@pytest.mark.parametrize(
    "path",
    ["/stored/scorers/none/try", "/datasets/none/experiments/none/items/none/run", "/agents/none/stream"],
)
def test_all_that_waits_for_models_needs_a_place(alice: Api, settings: Any, path: str) -> None:
    settings.EDITOR_RUN_THREADS = 1
    places = [runs.join(), runs.join()]
    assert is_run("POST", f"/api{path}")
    answer = alice.post(path, {"input": "a", "output": "b"})
    assert (answer.status, answer.code) == (503, "runs_full")
    for place in places:
        place.leave()
