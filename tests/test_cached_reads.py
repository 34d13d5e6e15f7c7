"""Cached answers that a server gives before Django does anything, to all requests that wait by then."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from threading import Event, Thread, current_thread

import pytest
from django.db import connections

from editor_project.log_config import DiscreetHandler, JsonLines
from editor_project.server.gateway import Gateway
from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.door import Exchange, FrontDoor
from versioning.api.middleware.request_log import RequestLine, record_of
from versioning.serving.followed_log import log

pytestmark = pytest.mark.django_db(transaction=True)

WAIT = 30.0


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """A server, but for its connections."""
    loop = asyncio.new_event_loop()
    yield Gateway(application, loop, threads=1, streams=1)
    loop.close()


def test_a_request_that_comes_after_a_change_waits_for_the_next_question(
    cast: Cast, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(cast.alice, "writer", "Be brief.", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    door.get("/agents/writer")
    early, late = (Exchange.of(door, "/agents/writer") for _ in range(2))
    ask, has_asked, may_answer = log._ask, Event(), Event()

    def slowly() -> int | None:
        position = ask()
        if current_thread() is answering:
            has_asked.set()
            assert may_answer.wait(WAIT)
        return position

    def answer() -> None:
        gateway.take(early)
        connections.close_all()

    monkeypatch.setattr(log, "_ask", slowly)
    answering = Thread(target=answer)
    answering.start()
    assert has_asked.wait(WAIT)
    AGENTS.save(cast.alice, "writer", "Be kind.", autoPublish=True)
    gateway.take(late)
    assert early.sent == late.sent == []
    may_answer.set()
    answering.join(WAIT)
    assert [one.answer.body["instructions"] for one in (early, late)] == ["Be brief.", "Be kind."]


def test_requests_that_wait_share_a_question(
    cast: Cast, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    first = door.get("/agents/writer")
    exchanges = [Exchange.of(door, "/agents/writer", x_request_id=str(number)) for number in range(5)]
    ask, asked = log._ask, list[int | None]()

    def counted() -> int | None:
        if not asked:
            for one in exchanges[1:]:
                gateway.take(one)
        asked.append(ask())
        return asked[-1]

    monkeypatch.setattr(log, "_ask", counted)
    gateway.take(exchanges[0])
    answers = [one.answer for one in exchanges]
    assert len(asked) == 2 and [one.body for one in answers] == [first.body] * 5
    assert [one.headers["X-Request-ID"] for one in answers] == ["0", "1", "2", "3", "4"]


def test_any_handler_hears_of_a_cached_answer(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    door.get("/agents/writer")
    with caplog.at_level(logging.INFO):
        caplog.clear()
        answer = door.get("/agents/writer")
    [record] = [vars(one) for one in caplog.records]
    assert (record["method"], record["path"], record["status"]) == ("GET", "/api/agents/writer", 200)
    assert record["request_id"] == answer.headers["X-Request-ID"]


def test_the_line_of_a_cached_answer_is_that_of_any_other() -> None:
    lines = JsonLines()
    for path in ("/api/agents/writer", '/api/agents/"ü\n'):
        line = RequestLine("an-id", "GET", path, 304, 0.25)
        one, other = (
            json.loads(text) for text in (lines.format_requests([line]), lines.format(record_of(line)))
        )
        assert one.pop("timestamp")[:10] == other.pop("timestamp")[:10]
        assert list(one.items()) == list(other.items())
    assert lines.format_requests([line] * 3).count("\n") == 2


def test_a_secret_in_an_id_that_a_caller_sends_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    handler = DiscreetHandler()
    handler.setFormatter(JsonLines())
    handler.handle_requests([RequestLine("ek_" + "x" * 40, "GET", "/api/agents/writer", 200, 0.1)])
    assert '"request_id": "ek_[secret]"' in capsys.readouterr().err
