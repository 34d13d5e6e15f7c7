"""Failures: the server is killed, slow or broken, or another server answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from editor_client import EditorError, NotFound, RateLimited, ServerError, Unreachable
from editor_client.reads import exchange

from tests.support.clients import Clients, with_both_clients
from tests.support.misbehaving import (
    Behaviour,
    Misbehaving,
    cut_off,
    drip_body,
    drip_headers,
    half,
    hang_up,
    record,
    says,
    silence,
)
from tests.support.service import Service

HTML = b"<html><body>Bad Gateway</body></html>"

# Failures of the server, and the message of the client if it has no stored answer.
SLOW: dict[str, tuple[Behaviour, type[EditorError]]] = {
    "says nothing": (silence, Unreachable),
    "sends headers without an end": (drip_headers, Unreachable),
    "sends a body byte by byte": (drip_body, Unreachable),
}
BROKEN: dict[str, tuple[Behaviour, type[EditorError]]] = {
    "hangs up": (hang_up, Unreachable),
    "sends half an answer": (half, Unreachable),
    "sends half an answer as if it were whole": (cut_off, ServerError),
    "fails": (says(500), ServerError),
    "fails with a page": (says(500, HTML), ServerError),
    "is behind a gateway that fails": (says(502, HTML), ServerError),
    "is not available": (says(503, Retry_After="0"), ServerError),
    "answers with a page": (says(200, HTML), ServerError),
    "answers with nothing": (says(200, b""), ServerError),
    "answers with a list": (says(200, [1]), ServerError),
    "answers with no record": (says(200, {"error": "no"}), ServerError),
    "answers with another record": (record('"2"', id="other"), ServerError),
    "answers with a record of the wrong shape": (record('"2"', createdAt=5), ServerError),
    "answers with JSON nested without an end": (says(200, b"[" * 100_000), ServerError),
    "sends elsewhere": (says(302, Location="/"), ServerError),
}
IMPATIENT, PATIENT = 0.2, 60
PROBLEMS = [*((*one, IMPATIENT) for one in SLOW.values()), *((*one, PATIENT) for one in BROKEN.values())]
SENT_AGAIN = (hang_up, half, says(502), says(503), says(504))
SENT_ONCE = (says(500), says(400), says(200, HTML))
PASSING = (hang_up, says(503), says(429, Retry_After="0"))
REFUSALS = {
    404: says(404, {"error": "There is nothing here.", "code": "not_found"}),
    403: says(403, {"error": "You may not.", "code": "forbidden"}),
    401: says(401, {"error": "Who are you?", "code": "unauthorized"}),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "update": lambda client: client.get_stored_agent("writer").update(instructions="two"),
    "delete": lambda client: client.get_stored_agent("writer").delete(),
    "export": lambda client: client.get_stored_agent("writer").export(),
    "create": lambda client: client.create_stored_agent(id="writer", name="x", instructions="y"),
    "generate": lambda client: client.get_agent("writer").generate("hello"),
}


def read(client: Any) -> Any:
    return client.get_stored_agent("writer").details()


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent again is sent soon."""
    monkeypatch.setattr(exchange, "BACK_OFF_SECONDS", 0.01)


@pytest.fixture
def warmed(connect: Clients, server: Misbehaving, tmp_path: Path) -> Callable[..., Any]:
    """Makes clients that hold a good answer from a folder, and that wait no longer than their timeout."""
    server.does(record())
    read(connect(server.url, cache_dir=tmp_path))

    def client(timeout: float = PATIENT) -> Any:
        return connect(server.url, cache_dir=tmp_path, timeout=timeout, retries=1)

    return client


@pytest.fixture
def warm(warmed: Callable[..., Any]) -> Any:
    """A patient client that holds a good answer."""
    return warmed()


def test_the_last_good_answer_is_served_and_marked(warmed: Callable[..., Any], server: Misbehaving) -> None:
    for behaviour, _, timeout in PROBLEMS:
        client = warmed(timeout)
        server.does(behaviour)
        for _ in range(2):  # the wrong answer is not stored in its place
            found = read(client)
            assert (found.instructions, found.stale) == ("one", True)


@with_both_clients
def test_without_a_good_answer_it_is_an_error(connect: Clients, server: Misbehaving) -> None:
    for behaviour, error, timeout in PROBLEMS:
        server.does(behaviour)
        with pytest.raises(EditorError) as raised:
            read(connect(server.url, timeout=timeout, retries=1))
        assert type(raised.value) is error


@with_both_clients
def test_a_write_waits_for_a_slow_server_until_the_timeout(connect: Clients, server: Misbehaving) -> None:
    for write in ("update", "create", "generate"):
        server.does(silence)
        client = connect(server.url, timeout=IMPATIENT, run_timeout=IMPATIENT)
        with pytest.raises(Unreachable, match="It is unknown whether it was done") as raised:
            WRITES[write](client)
        assert (raised.value.code, raised.value.status, len(server.asked)) == ("timeout", None, 1)


def test_a_refusal_is_raised_and_removes_the_good_answer(
    warmed: Callable[..., Any], server: Misbehaving
) -> None:
    for status, behaviour in [*REFUSALS.items(), (404, says(404, HTML))]:
        server.does(record())
        client = warmed()
        read(client)
        server.does(behaviour, hang_up)
        with pytest.raises(EditorError) as raised:
            read(client)
        assert raised.value.status == status
        with pytest.raises(Unreachable):
            read(client)


def test_a_recovered_server_is_used_immediately(warm: Any, server: Misbehaving) -> None:
    server.does(hang_up)
    assert read(warm).stale
    server.does(record('"2"', instructions="two"))
    found = read(warm)
    assert (found.instructions, found.stale) == ("two", False)


def test_the_etag_of_the_good_answer_is_still_sent_after_a_failure(warm: Any, server: Misbehaving) -> None:
    server.does(says(500), record())
    for _ in range(2):
        read(warm)
    assert [one.headers["if-none-match"] for one in server.asked] == ['"1"', '"1"']


def test_an_error_names_the_url_and_the_request_id(connect: Clients, server: Misbehaving) -> None:
    body = {"error": "There is nothing here.", "code": "not_found"}
    server.does(says(404, body, X_Request_ID="abc-1"))
    agent = connect(server.url).get_agent("team/writer")
    for ask in (agent.details, lambda: agent.generate("hello"), lambda: list(agent.stream("hello"))):
        with pytest.raises(NotFound) as raised:
            ask()
        error: Any = raised.value
        assert (error.message, error.request_id) == ("There is nothing here.", "abc-1")
        assert f" {server.url}/api/agents/team%2Fwriter" in str(error) and "request abc-1" in str(error)
        assert "url" not in str(error).removeprefix(str(error.asked))
    server.does(hang_up)
    with pytest.raises(Unreachable, match=f"GET {server.url}/api/agents/team%2Fwriter"):
        agent.details()


def test_an_error_explains_that_the_url_names_the_api_twice(connect: Clients, server: Misbehaving) -> None:
    for url, settings, is_wrong in (
        ("/api/", {}, True),
        ("/api", {"api_prefix": ""}, False),
        ("/apis", {}, False),
    ):
        server.does(says(404, HTML))
        with pytest.raises(NotFound) as raised:
            read(connect(server.url + url, **settings))
        assert ("remove it from the url" in str(raised.value)) is is_wrong


def test_a_stale_answer_is_logged(warm: Any, server: Misbehaving, caplog: pytest.LogCaptureFixture) -> None:
    server.does(says(500, {"error": "Out of order.", "code": "x"}))
    with caplog.at_level(logging.WARNING, "editor_client"):
        read(warm)
    assert "Out of order." in caplog.text and "/stored/agents/writer" in caplog.text


def test_an_answer_to_another_request_is_an_error(connect: Clients, server: Misbehaving) -> None:
    server.does(record(resolvedVersionId="v2"), says(304, b""))
    for _ in range(2):  # another version, and "not modified" without anything that could be
        with pytest.raises(ServerError):
            connect(server.url).get_agent("writer", version_id="v1").details()


def test_records_of_newer_and_older_servers_are_read(connect: Clients, server: Misbehaving) -> None:
    newer = record(pinned=True, status="archived", guardrails={"strict": [1]})
    server.does(newer, says(200, {"id": "writer", "name": "Writer"}))
    found = read(connect(server.url))
    assert (found["pinned"], found.status, found["guardrails"]) == (True, "archived", {"strict": [1]})
    found = read(connect(server.url))
    assert (found.name, found.visibility, found.metadata, found.etag) == ("Writer", None, {}, None)


def test_a_read_is_retried_after_temporary_failures(connect: Clients, server: Misbehaving) -> None:
    for behaviour in SENT_AGAIN:
        server.does(behaviour, behaviour, record())
        assert read(connect(server.url)).stale is False
        assert len(server.asked) == 3
    for behaviour in SENT_ONCE:
        server.does(behaviour)
        with pytest.raises(EditorError):
            read(connect(server.url))
        assert len(server.asked) == 1


def test_only_reads_are_retried(connect: Clients, server: Misbehaving) -> None:
    cases = [(one, "update") for one in PASSING] + [(hang_up, one) for one in WRITES if one != "update"]
    for behaviour, write in cases:
        server.does(behaviour)
        with pytest.raises(EditorError):
            WRITES[write](connect(server.url))
        assert len(server.asked) == 1


def test_a_busy_server_is_retried_after_retry_after_unless_that_is_too_late(
    connect: Clients, server: Misbehaving
) -> None:
    server.does(says(429, Retry_After="1"), record())
    assert read(connect(server.url)).instructions == "one"
    server.does(says(429, {"error": "Too many.", "code": "throttled"}, Retry_After="3600"))
    with pytest.raises(RateLimited) as raised:
        read(connect(server.url))
    assert (raised.value.status, raised.value.code, raised.value.retry_after) == (429, "throttled", 3600)
    assert len(server.asked) == 1


def test_a_good_answer_is_served_instead_of_waiting_for_retry_after(warm: Any, server: Misbehaving) -> None:
    for status in (429, 503):
        server.does(says(status, Retry_After="1"))
        assert read(warm).stale
        assert len(server.asked) == 1


def test_a_server_that_is_down_gets_one_request_per_read(warm: Any, server: Misbehaving) -> None:
    server.does(hang_up)
    for _ in range(3):
        assert read(warm).stale
    # The first read tried twice because of `retries=1`; the others only checked whether the server is back.
    assert len(server.asked) == 4


@with_both_clients
def test_a_proxy_of_the_environment_is_used_within_the_timeout(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.does(record(), drip_headers)
    assert read(connect("http://editor.invalid")).instructions == "one"
    assert [one.path for one in server.asked] == ["http://editor.invalid/api/stored/agents/writer"]
    with pytest.raises(Unreachable):
        read(connect("http://editor.invalid", timeout=IMPATIENT))


@pytest.mark.processes
def test_reads_succeed_while_the_server_is_killed(
    connect: Clients, fresh_service: Service, tmp_path: Path
) -> None:
    client = connect(fresh_service.url, fresh_service.key, cache_dir=tmp_path / "cache")
    client.create_stored_agent(id="writer", name="Writer", instructions="one")
    assert client.get_agent("writer").details().stale is False
    fresh_service.kill()
    found = client.get_agent("writer").details()
    assert (found.instructions, found.stale) == ("one", True)
    restarted = connect(fresh_service.url, fresh_service.key, cache_dir=tmp_path / "cache")
    assert restarted.get_agent("writer").details().stale is True
    with pytest.raises(Unreachable):
        restarted.get_stored_agent("writer").details()
    with pytest.raises(Unreachable):
        client.get_stored_agent("writer").update(instructions="two")
    fresh_service.start()
    assert client.get_agent("writer").details().stale is False
    with pytest.raises(NotFound):
        client.get_agent("nobody").details()
