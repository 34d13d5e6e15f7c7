"""Streams: the events of a run as they happen, and streams that end before their end."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from editor_client import EditorError, NotFound, ServerError, Unreachable

from tests.support.clients import Clients, Clock, with_both_clients
from tests.support.misbehaving import Behaviour, Handler, Misbehaving, drip_headers, hang_up, says, silence

ECHO = {"provider": "echo", "name": "echo"}


def event(kind: str, **payload: Any) -> bytes:
    """Return an event as it is sent."""
    body = {"type": kind, "runId": "r", "from": "AGENT", "payload": payload}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


DELTA, DONE = event("text-delta", text="Grüße"), b"data: [DONE]\n\n"


def streams(*pieces: bytes) -> Behaviour:
    """Send these pieces separately, and hang up."""

    def behave(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)

    return behave


def hear(client: Any) -> list[Any]:
    """Run `writer` and return all events."""
    return list(client.get_agent("writer").stream("hello"))


@pytest.mark.processes
@with_both_clients
def test_a_run_of_the_real_server_is_streamed(client: Any, new_id: str) -> None:
    client.create_stored_agent(id=new_id, name="Writer", instructions="Be brief.", model=ECHO)
    events = list(client.get_agent(new_id).stream("hello", max_steps=2))
    assert "".join(one.text for one in events) == "Be brief.\n\nhello"
    assert (events[0].type, events[-1].type) == ("start", "finish")
    assert events[-1].payload["resolvedVersions"][new_id] and len({one.run_id for one in events}) == 1
    client.get_stored_agent(new_id).update(instructions="two")
    drafted = client.get_agent(new_id, status="draft").stream("x")
    assert "".join(one.text for one in drafted) == "two\n\nx"
    with pytest.raises(NotFound):
        list(client.get_agent(f"{new_id}-gone").stream("x"))


def test_events_may_arrive_in_any_chunks(connect: Clients, server: Misbehaving) -> None:
    whole = b": ping\n\n" + DELTA + b": ping\r\n\r\n" + DELTA.replace(b"\n", b"\r\n") + DONE
    server.does(streams(*(whole[position : position + 1] for position in range(len(whole)))))
    assert [(one.type, one.text) for one in hear(connect(server.url))] == [("text-delta", "Grüße")] * 2


@with_both_clients
def test_events_arrive_as_they_happen_and_may_take_longer_than_the_timeout(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, heard = Clock(monkeypatch), threading.Event()

    def behave(handler: Handler) -> None:
        streams(DELTA)(handler)
        assert heard.wait(60)
        handler.wfile.write(DELTA + DONE)

    server.does(behave)
    events = connect(server.url, timeout=60).get_agent("writer").stream("hello")
    assert next(events).text == "Grüße"
    clock.now += 3600
    heard.set()
    assert [one.text for one in events] == ["Grüße"]


def stays_open(handler: Handler) -> None:
    """Send an event, and nothing more."""
    streams(DELTA)(handler)
    silence(handler)


@with_both_clients
def test_the_client_does_not_wait_after_the_end_of_a_stream(connect: Clients, server: Misbehaving) -> None:
    def behave(handler: Handler) -> None:
        streams(DELTA, DONE)(handler)
        silence(handler)

    server.does(behave)
    assert len(hear(connect(server.url))) == 1


@with_both_clients
def test_an_abandoned_stream_is_closed(connect: Clients, server: Misbehaving) -> None:
    left = threading.Event()

    def behave(handler: Handler) -> None:
        streams(DELTA)(handler)
        handler.connection.recv(1)
        left.set()

    server.does(behave)
    events = connect(server.url).get_agent("writer").stream("hello")
    next(events)
    events.close()
    assert left.wait(60)


def test_a_failed_run_raises_after_its_events(connect: Clients, server: Misbehaving) -> None:
    server.does(streams(DELTA, event("error", error="No credit.", code="provider_failed"), DONE))
    events = connect(server.url).get_agent("writer").stream("hello")
    assert next(events).text == "Grüße"
    with pytest.raises(ServerError, match="No credit") as raised:
        next(events)
    assert raised.value.code == "provider_failed"


BROKEN: list[tuple[Behaviour, type[EditorError]]] = [
    (streams(DELTA), Unreachable),
    (streams(DELTA, DELTA[:20]), Unreachable),
    (hang_up, Unreachable),
    (streams(b"data: hello\n\n"), ServerError),
    (streams(b"data: [1]\n\n"), ServerError),
    (says(500), ServerError),
    (says(302), ServerError),
]


@with_both_clients
def test_a_stream_that_is_broken_is_an_error(connect: Clients, server: Misbehaving) -> None:
    for behaviour, error in BROKEN:
        server.does(behaviour)
        with pytest.raises(EditorError) as raised:
            hear(connect(server.url))
        assert type(raised.value) is error
        assert len(server.asked) == 1


@with_both_clients
def test_a_silent_stream_times_out(connect: Clients, server: Misbehaving) -> None:
    for behaviour in (silence, drip_headers, stays_open):
        server.does(behaviour)
        with pytest.raises(Unreachable):
            list(connect(server.url, timeout=0.2).get_agent("writer").stream("hello"))
