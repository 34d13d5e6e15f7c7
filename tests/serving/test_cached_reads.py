"""Cached answers that a server gives without Django, to all requests that are waiting."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from threading import Event, Thread, current_thread
from typing import Any

import pytest
from django.db import connections

from editor_project.log_config import DiscreetHandler, JsonLines
from editor_project.server.gateway import Gateway
from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.door import Exchange, FrontDoor, one_connection
from versioning.api.request_log import RequestLine, logger, make_record
from versioning.serving.followed_log import log

pytestmark = pytest.mark.usefixtures("committed_db")

WAIT = 30.0


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """A server without its connections."""
    loop = asyncio.new_event_loop()
    yield Gateway(application, loop, threads=1, streams=1)
    loop.close()


@pytest.mark.database
def test_a_request_after_a_change_waits_for_the_next_query_of_the_log(
    cast: Cast, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(cast.alice, "writer", "Be brief.", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    door.get("/agents/writer")
    early, late = (Exchange.of(*door.prepare("GET", "/agents/writer")) for _ in range(2))
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


def test_waiting_requests_share_one_query_of_the_log(
    cast: Cast, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    first = door.get("/agents/writer")
    requests = (door.prepare("GET", "/agents/writer", x_request_id=str(number)) for number in range(5))
    exchanges = [Exchange.of(*request) for request in requests]
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


def test_cached_answers_reach_every_log_handler(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    door = FrontDoor(cast.edgar.key)
    door.get("/agents/writer")
    with caplog.at_level(logging.INFO, logger.name):
        caplog.clear()
        answer = door.get("/agents/writer")
    [record] = [vars(one) for one in caplog.records]
    assert (record["method"], record["path"], record["status"]) == ("GET", "/api/agents/writer", 200)
    assert record["requestId"] == answer.headers["X-Request-ID"]


def test_a_cached_answer_is_logged_like_any_other() -> None:
    lines = JsonLines()
    for path in ("/api/agents/writer", '/api/agents/"ü\n'):
        line = RequestLine("an-id", "GET", path, 304, 0.25)
        one, other = (
            json.loads(text) for text in (lines.format_requests([line]), lines.format(make_record(line)))
        )
        assert one.pop("timestamp")[:10] == other.pop("timestamp")[:10]
        assert list(one.items()) == list(other.items())
    assert lines.format_requests([line] * 3).count("\n") == 2


def test_a_secret_sent_as_an_id_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    handler = DiscreetHandler()
    handler.setFormatter(JsonLines())
    handler.handle_requests([RequestLine("ek_" + "x" * 40, "GET", "/api/agents/writer", 200, 0.1)])
    assert '"requestId": "ek_[secret]"' in capsys.readouterr().err


class Server:
    """A server without its connections, which records the requests that it left to Django."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.left_to_django: list[str] = []
        gateway._application = self._note

    def _note(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.left_to_django.append(environ["PATH_INFO"])
        return application(environ, start_response)

    def answer(self, api: Api, path: str, query: dict[str, Any] | None = None, **headers: str) -> Answer:
        """Answer a request."""
        exchange = Exchange.of(*api.prepare("GET", path, query=query, **headers))
        with one_connection():
            self.gateway.take(exchange)
        return exchange.answer


@pytest.fixture
def server(cast: Cast, gateway: Gateway) -> Server:
    """A server that has answered a read of one agent, with other agents stored."""
    for name in ("writer", "editor"):
        AGENTS.make(cast.alice, name, f"I am the {name}.", autoPublish=True)
    AGENTS.make(cast.charlie, "theirs", autoPublish=True)
    AGENTS.make(cast.alice, "draft")
    server = Server(gateway)
    for _ in range(2):
        assert server.answer(cast.edgar, "/agents/writer").status == 200
    assert server.left_to_django == ["/api/agents/writer"]
    return server


def test_the_same_read_of_another_agent_is_answered_without_django(cast: Cast, server: Server) -> None:
    given = server.answer(cast.edgar, "/agents/editor")
    AGENTS.save(cast.alice, "editor", "I am another one.", autoPublish=True)
    changed = server.answer(cast.edgar, "/agents/editor")
    assert len(server.left_to_django) == 1
    expected = cast.edgar.request("GET", "/agents/editor", accept="*/*")
    assert given.body["instructions"] == "I am the editor." and changed.body == expected.body
    compared = {name for name in expected.headers if name != "X-Request-ID"}
    assert {name: changed.headers[name] for name in compared} == {
        name: expected.headers[name] for name in compared
    }
    assert set(changed.headers) == {*compared, "X-Request-ID"}


def test_other_requests_are_left_to_django(cast: Cast, server: Server) -> None:
    asked: list[tuple[str, str, int, dict[str, Any]]] = [
        ("edgar", "theirs", 404, {}),
        ("edgar", "missing", 404, {}),
        ("edgar", "writer/editor", 404, {}),
        ("edgar", "", 404, {}),
        ("vera", "editor", 200, {}),
        ("vera", "draft", 404, {}),
        ("charlie", "editor", 404, {}),
        ("nobody", "editor", 401, {}),
        ("edgar", "editor", 200, {"query": {"status": "draft"}}),
        ("edgar", "editor", 200, {"query": {"requestContext": "e30="}}),
        ("edgar", "editor", 200, {"if_none_match": '"other"'}),
        ("edgar", "editor", 406, {"accept": "text/html"}),
        ("edgar", "editor", 400, {"host": "elsewhere.example"}),
        ("edgar", "editor", 200, {"cookie": "sessionid=none"}),
    ]
    for who, path, status, more in asked:
        server.left_to_django.clear()
        assert server.answer(getattr(cast, who), f"/agents/{path}", **more).status == status
        assert server.left_to_django == [f"/api/agents/{path}"], (who, path, more)
