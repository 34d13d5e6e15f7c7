"""Streams of a real server, WSGI and ASGI: their events, their timing, and clients that disconnect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from itertools import groupby, islice, pairwise
from threading import Event
from time import monotonic
from typing import Any

import pytest

from tests.runtime.model_server import BreaksOff, Fails, FallsSilent, ModelServer, Says, running_model_server
from tests.support.api import AGENTS
from tests.support.remote import RemoteApi, opened
from tests.support.runs import OPENAI, agent, draft, ran, run, run_path
from tests.support.service import Service
from tests.support.streams import DONE, PING, Stream, beside, listening, served_asynchronously

pytestmark = pytest.mark.processes

KEY = "sk-test-0123456789abcdef"
STREAMS = 30
SECONDS_TO_LEAVE = 20  # promised is one; a busy machine is given more
PINGS = 4
SECONDS_BETWEEN_PINGS = 0.5

STEP_WITH_TEXT = ["step-start", "text-start", "text-delta", "text-end", "step-finish"]
STEPS_WITH_A_DELEGATION = [
    *("start", "step-start", "tool-call", "tool-result", "step-finish"),
    *(*STEP_WITH_TEXT, "finish"),
]


@pytest.fixture(scope="module")
def shared_model_server() -> Iterator[ModelServer]:
    """The model that both servers know as the provider `openai`."""
    with running_model_server() as server:
        yield server


@pytest.fixture
def model_server(shared_model_server: ModelServer) -> ModelServer:
    """The model server, with an empty record of requests.

    A test with a silent model waits until its client's departure was noticed, so nothing of it remains.
    """
    shared_model_server.requests.clear()
    shared_model_server.asked.clear()
    shared_model_server.client_left.clear()
    return shared_model_server


@pytest.fixture(scope="module")
def addresses(
    tmp_path_factory: pytest.TempPathFactory, live_service: Service, shared_model_server: ModelServer
) -> Iterator[dict[str, str]]:
    """The host and port of the application by interface, with agents that no test changes."""
    environment = {"OPENAI_BASE_URL": shared_model_server.url, "OPENAI_API_KEY": KEY}
    service = beside(live_service, tmp_path_factory.mktemp("stream"), **environment)
    service.start()
    try:
        with served_asynchronously(service) as asgi:
            wsgi = service.url.removeprefix("http://")
            with opened(wsgi, service.key) as api:
                agent(api, "slow", "slow", model=OPENAI)
                agent(api, "waiting", "waiting", agents={"slow": {}})
                agent(api, "mute", "mute", model=None)
                agent(api, "player", "one")
                draft(api, "player")
                agent(api, "conductor", "lead", agents={"player": {}})
            yield {"wsgi": wsgi, "asgi": asgi}
            # A pytest worker can be handed the rest of this module later, and then creates them again.
            with opened(wsgi, service.key) as api:
                for agent_id in ("slow", "waiting", "mute", "player", "conductor"):
                    assert api.delete(f"/stored/agents/{agent_id}").status == 200
    finally:
        service.stop()


@pytest.fixture(params=["wsgi", "asgi"])
def api(
    request: pytest.FixtureRequest, live_service: Service, addresses: dict[str, str]
) -> Iterator[RemoteApi]:
    """The admin of the service, under either interface."""
    with opened(addresses[request.param], live_service.key) as api:
        yield api


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [kind for kind, _ in groupby(event["type"] for event in events)]


def listened(api: RemoteApi, agent_id: str, **body: Any) -> list[dict[str, Any]]:
    with listening(api, agent_id, **body) as stream:
        return list(stream.events())


def until(stream: Stream, wanted: Callable[[str], bool]) -> list[str]:
    """Return the frames up to the first one that is wanted."""
    frames: list[str] = []
    for frame in stream.frames():
        frames.append(frame)
        if wanted(frame):
            return frames
    raise AssertionError(frames)


# The events


def test_the_events_come_in_order_and_end_with_done(api: RemoteApi) -> None:
    with listening(api, "supervisor") as stream:
        frames = list(stream.frames())
    assert stream.headers["Content-Type"].partition(";")[0] == "text/event-stream"
    assert stream.headers["Cache-Control"] == "private, no-store"
    assert frames[-1] == DONE
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames[:-1] if frame != PING]
    assert kinds(events) == STEPS_WITH_A_DELEGATION
    assert kinds(listened(api, "support")) == ["start", *STEP_WITH_TEXT, "finish"]
    assert all(set(event) == {"type", "runId", "from", "payload"} for event in events)
    assert {event["from"] for event in events} == {"AGENT"}
    assert len({event["runId"] for event in events}) == 1


def test_a_stream_has_the_same_content_as_generate(api: RemoteApi) -> None:
    body = {"versions": {"agents": {"player": {"status": "draft"}, "nobody": {"status": "draft"}}}}
    answer, events = ran(api, "conductor", **body), listened(api, "conductor", **body)
    payloads: dict[str, dict[str, Any]] = {event["type"]: event["payload"] for event in events}
    texts = [event["payload"]["text"] for event in events if event["type"] == "text-delta"]
    assert "".join(texts) == answer["text"] == "lead\n\nhello\n\ntwo\n\nhello"
    assert answer["toolCalls"] == [payloads["tool-call"]]
    assert answer["toolResults"] == [payloads["tool-result"]]
    assert payloads["step-start"]["messageId"]
    assert payloads["finish"]["usage"].keys() == answer["usage"].keys()
    said = ("finishReason", "resolvedVersions", "warnings")
    assert {name: payloads["finish"][name] for name in said} == {name: answer[name] for name in said}
    assert [warning["field"] for warning in answer["warnings"]] == ["versions.agents.nobody"]


def test_any_text_is_streamed_unchanged(api: RemoteApi) -> None:
    message = 'data: [DONE]\n\nevent: x\r\nZoë 🙂 \u2028 \\ " 日本語'
    events = listened(api, "player", messages=message)
    texts = [event["payload"]["text"] for event in events if event["type"] == "text-delta"]
    assert "".join(texts) == f"one\n\n{message}"


WRONG: list[tuple[str, dict[str, Any], int]] = [
    ("nothing", {}, 404),
    ("player", {"versions": {"self": {"label": "gone"}}}, 404),
    ("player", {"bogus": 1}, 400),
    ("mute", {}, 422),
    ("supervisor", {"versions": {"agents": {"support": {"label": "gone"}}, "strict": True}}, 424),
]


def test_an_error_before_the_start_is_json_with_a_status(api: RemoteApi) -> None:
    for agent_id, body, status in WRONG:
        answer = api.request(
            "POST", run_path(agent_id, "stream"), {"messages": "hello", **body}, accept="text/event-stream"
        )
        assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json")
        assert answer.body["error"] and answer.body == run(api, agent_id, **body).body


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(Fails(401, f"Wrong key {KEY}."), "Wrong key"), (BreaksOff("half a sentence"), "broke off")],
    ids=["refused", "broken off"],
)
def test_a_failure_after_the_start_is_an_error_event_without_the_key(
    api: RemoteApi, model_server: ModelServer, reply: Fails | BreaksOff, reason: str
) -> None:
    model_server.model = lambda request: reply
    events = listened(api, "slow")
    assert [event["type"] for event in events].count("error") == 1
    assert (events[0]["type"], events[-1]["type"]) == ("start", "error")
    assert reason in events[-1]["payload"]["error"]
    assert model_server.keys[-1] == f"Bearer {KEY}" and KEY not in json.dumps(events)


# When it comes


def test_the_first_words_arrive_while_the_model_is_still_busy(
    api: RemoteApi, model_server: ModelServer
) -> None:
    model_server.model = lambda request: FallsSilent("first words")
    with listening(api, "slow") as stream:
        frames = until(stream, lambda frame: "words" in frame)
        assert not model_server.client_left.is_set()
    events = [json.loads(frame.removeprefix("data: ")) for frame in frames if frame != PING]
    assert kinds(events) == ["start", "step-start", "text-start", "text-delta"]
    assert model_server.client_left.wait(SECONDS_TO_LEAVE)


@pytest.mark.parametrize("agent_id", ["slow", "waiting"])
def test_comments_are_sent_while_a_model_is_silent_and_it_is_stopped_when_the_client_leaves(
    api: RemoteApi, model_server: ModelServer, agent_id: str
) -> None:
    model_server.model = lambda request: FallsSilent()
    began = monotonic()
    with listening(api, agent_id) as stream:
        until(stream, PING.__eq__)
        heard = [monotonic()]
        for frame in islice(stream.frames(), PINGS - 1):
            assert frame == PING
            heard.append(monotonic())
        # On a busy machine they may arrive late, even several together; never early, and not all late.
        assert heard[-1] - began > SECONDS_BETWEEN_PINGS * (PINGS - 1)
        assert min(after - before for before, after in pairwise(heard)) < 2 * SECONDS_BETWEEN_PINGS
        assert model_server.asked.is_set() and not model_server.client_left.is_set()
    assert model_server.client_left.wait(SECONDS_TO_LEAVE)


def test_open_streams_do_not_block_other_requests(api: RemoteApi, model_server: ModelServer) -> None:
    released = Event()

    def patient(request: dict[str, Any]) -> Says:
        assert released.wait(60)
        return Says("done")

    model_server.model = patient
    with ExitStack() as stack:
        stack.callback(released.set)
        streams = [stack.enter_context(listening(api, "slow")) for _ in range(STREAMS)]
        for stream in streams:
            until(stream, PING.__eq__)
        with opened(api.address, api.key) as other:
            assert other.request("GET", "/agents/slow").status == 200
            assert healthy(other)
            assert ran(other, "support")["text"].endswith("hello")
            assert AGENTS.save(other, "conductor", f"saved meanwhile at {monotonic()}")["hasDraft"]
        released.set()
        for stream in streams:
            *_, last = stream.events()
            assert last["type"] == "finish"
            assert last["payload"]["usage"] == {
                "inputTokens": 11,
                "outputTokens": 7,
                "totalTokens": 18,
                "cost": None,
            }


def healthy(api: RemoteApi) -> bool:
    connection = HTTPConnection(api.address, timeout=60)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
