"""What the client does when the server is killed, slow, broken or not itself."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from editor_client import EditorError, NotFound, RateLimited, ServerError, Unreachable

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

# What the server does, and what the client says about it when it has nothing better to give.
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
IMPATIENT, PATIENT = 0.4, 60
PROBLEMS = {
    **{name: (*problem, IMPATIENT) for name, problem in SLOW.items()},
    **{name: (*problem, PATIENT) for name, problem in BROKEN.items()},
}
SENT_AGAIN = {
    "hangs up": hang_up,
    "sends half an answer": half,
    "is behind a gateway that fails": says(502),
    "is not available": says(503),
    "is behind a gateway that waits": says(504),
}
SENT_ONCE = {"fails": says(500), "refuses": says(400), "answers with a page": says(200, HTML)}
PASSING = {
    "hangs up": hang_up,
    "is not available": says(503),
    "is busy": says(429, Retry_After="0"),
}
NOT_HIDDEN = {
    "not found": (says(404, {"error": "There is nothing here.", "code": "not_found"}), 404),
    "no right": (says(403, {"error": "You may not.", "code": "forbidden"}), 403),
    "no key": (says(401, {"error": "Who are you?", "code": "unauthorized"}), 401),
    "a page that says not found": (says(404, HTML), 404),
}


WRITES = {
    "update": lambda client: client.get_stored_agent("writer").update(instructions="two"),
    "delete": lambda client: client.get_stored_agent("writer").delete(),
    "unpublish": lambda client: client.get_stored_agent("writer").unpublish(),
    "export": lambda client: client.get_stored_agent("writer").export(),
    "create": lambda client: client.create_stored_agent(id="writer", name="x", instructions="y"),
    "generate": lambda client: client.get_agent("writer").generate("hello"),
}

every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
every_problem = pytest.mark.parametrize(("behaviour", "error", "timeout"), PROBLEMS.values(), ids=PROBLEMS)
every_refusal = pytest.mark.parametrize(("behaviour", "status"), NOT_HIDDEN.values(), ids=NOT_HIDDEN)


@pytest.fixture
def timeout() -> float:
    """How long a client waits, unless the test says else."""
    return PATIENT


@pytest.fixture
def warm(connect: Clients, server: Misbehaving, tmp_path: Path, timeout: float) -> Any:
    """A client that holds a good answer, and waits for another no longer than this test wants."""
    server.does(record())
    connect(server.url, cache_dir=tmp_path).get_stored_agent("writer").details()
    return connect(server.url, cache_dir=tmp_path, timeout=timeout, retries=1)


@every_problem
def test_the_last_good_answer_is_served_and_marked(
    warm: Any, server: Misbehaving, behaviour: Behaviour, error: type[EditorError], timeout: float
) -> None:
    server.does(behaviour)
    for _ in range(2):  # what is wrong is not kept in its place
        found = warm.get_stored_agent("writer").details()
        assert (found.instructions, found.stale) == ("one", True)


@with_both_clients
@every_problem
def test_without_a_good_answer_it_is_an_error(
    connect: Clients, server: Misbehaving, behaviour: Behaviour, error: type[EditorError], timeout: float
) -> None:
    server.does(behaviour)
    with pytest.raises(EditorError) as raised:
        connect(server.url, timeout=timeout, retries=1).get_stored_agent("writer").details()
    assert type(raised.value) is error


@with_both_clients
@pytest.mark.parametrize(
    ("behaviour", "write"),
    [
        *(pytest.param(one, WRITES["update"], id=f"update, {name}") for name, (one, _) in SLOW.items()),
        *(pytest.param(silence, write, id=name) for name, write in WRITES.items() if name != "update"),
    ],
)
def test_a_slow_server_does_not_keep_a_writer_for_ever(
    connect: Clients, server: Misbehaving, behaviour: Behaviour, write: Any
) -> None:
    server.does(behaviour)
    client = connect(server.url, timeout=IMPATIENT, run_timeout=IMPATIENT)
    with pytest.raises(Unreachable, match="Nobody knows whether it was done") as raised:
        write(client)
    assert (raised.value.code, raised.value.status, len(server.asked)) == ("timeout", None, 1)


@every_refusal
def test_a_refusal_is_never_hidden(warm: Any, server: Misbehaving, behaviour: Behaviour, status: int) -> None:
    server.does(behaviour)
    with pytest.raises(EditorError) as raised:
        warm.get_stored_agent("writer").details()
    assert raised.value.status == status


@every_refusal
def test_a_refusal_is_remembered_when_the_server_dies(
    warm: Any, server: Misbehaving, behaviour: Behaviour, status: int
) -> None:
    server.does(behaviour, hang_up)
    with pytest.raises(EditorError):
        warm.get_stored_agent("writer").details()
    with pytest.raises(Unreachable):
        warm.get_stored_agent("writer").details()


def test_a_server_that_recovers_is_believed_at_once(warm: Any, server: Misbehaving) -> None:
    server.does(hang_up)
    assert warm.get_stored_agent("writer").details().stale
    server.does(record('"2"', instructions="two"))
    found = warm.get_stored_agent("writer").details()
    assert (found.instructions, found.stale) == ("two", False)


def test_after_a_failure_the_tag_of_the_good_answer_still_counts(warm: Any, server: Misbehaving) -> None:
    server.does(says(500), record())
    for _ in range(2):
        warm.get_stored_agent("writer").details()
    assert [one.headers["if-none-match"] for one in server.asked] == ['"1"', '"1"']


def test_an_error_names_what_was_asked_for_and_the_request(connect: Clients, server: Misbehaving) -> None:
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


@pytest.mark.parametrize(
    ("url", "settings", "is_wrong"),
    [
        ("/api", {}, True),
        ("/api/", {}, True),
        ("/api", {"api_prefix": ""}, False),
        ("/apis", {}, False),
        ("", {}, False),
    ],
)
def test_whoever_names_the_api_twice_is_told(
    connect: Clients, server: Misbehaving, url: str, settings: dict[str, str], is_wrong: bool
) -> None:
    server.does(says(404, HTML))
    with pytest.raises(NotFound) as raised:
        connect(server.url + url, **settings).get_agent("writer").details()
    assert ("leave it out of the url" in str(raised.value)) is is_wrong


def test_a_stale_answer_is_logged(warm: Any, server: Misbehaving, caplog: pytest.LogCaptureFixture) -> None:
    server.does(says(500, {"error": "Out of order.", "code": "x"}))
    with caplog.at_level(logging.WARNING, "editor_client"):
        warm.get_stored_agent("writer").details()
    assert "Out of order." in caplog.text and "/stored/agents/writer" in caplog.text


def test_another_version_of_the_record_takes_the_place_of_the_held_one(
    connect: Clients, server: Misbehaving
) -> None:
    client = connect(server.url)
    server.does(record('"1"'), record('"2"', instructions="two", resolvedVersionId="v2"))
    assert [client.get_stored_agent("writer").details().instructions for _ in range(3)] == [
        "one",
        "two",
        "two",
    ]


def test_a_version_that_was_asked_for_is_not_another_one(connect: Clients, server: Misbehaving) -> None:
    server.does(record(resolvedVersionId="v2"))
    with pytest.raises(ServerError):
        connect(server.url).get_agent("writer", version_id="v1").details()


def test_who_holds_nothing_is_not_told_that_nothing_has_changed(
    connect: Clients, server: Misbehaving
) -> None:
    server.does(says(304, b""))
    with pytest.raises(ServerError):
        connect(server.url).get_stored_agent("writer").details()


def test_a_record_of_a_newer_server_is_read_with_all_that_it_says(
    connect: Clients, server: Misbehaving
) -> None:
    server.does(record(pinned=True, status="archived", guardrails={"strict": [1]}))
    found = connect(server.url).get_stored_agent("writer").details()
    assert (found["pinned"], found.status, found["guardrails"]) == (True, "archived", {"strict": [1]})


def test_a_record_of_an_older_server_is_read_without_what_it_lacks(
    connect: Clients, server: Misbehaving
) -> None:
    server.does(says(200, {"id": "writer", "name": "Writer"}))
    found = connect(server.url).get_stored_agent("writer").details()
    assert (found.name, found.visibility, found.metadata, found.etag) == ("Writer", None, {}, None)


@pytest.mark.parametrize("behaviour", SENT_AGAIN.values(), ids=SENT_AGAIN)
def test_a_read_is_sent_again(connect: Clients, server: Misbehaving, behaviour: Behaviour) -> None:
    server.does(behaviour, behaviour, record())
    assert connect(server.url).get_stored_agent("writer").details().stale is False
    assert len(server.asked) == 3


@pytest.mark.parametrize("behaviour", SENT_ONCE.values(), ids=SENT_ONCE)
def test_a_read_that_would_end_the_same_is_not_sent_again(
    connect: Clients, server: Misbehaving, behaviour: Behaviour
) -> None:
    server.does(behaviour)
    with pytest.raises(EditorError):
        connect(server.url).get_stored_agent("writer").details()
    assert len(server.asked) == 1


@pytest.mark.parametrize("behaviour", PASSING.values(), ids=PASSING)
@every_write
def test_what_is_no_read_is_sent_once(
    connect: Clients, server: Misbehaving, behaviour: Behaviour, write: Any
) -> None:
    server.does(behaviour)
    client = connect(server.url)
    with pytest.raises(EditorError):
        write(client)
    assert len(server.asked) == 1


def test_a_busy_server_is_asked_again_when_it_says(connect: Clients, server: Misbehaving) -> None:
    server.does(says(429, Retry_After="1"), record())
    assert connect(server.url).get_stored_agent("writer").details().instructions == "one"


def test_a_busy_server_that_wants_to_be_left_alone_for_long_is(connect: Clients, server: Misbehaving) -> None:
    server.does(says(429, {"error": "Too many.", "code": "throttled"}, Retry_After="3600"))
    with pytest.raises(RateLimited) as raised:
        connect(server.url).get_stored_agent("writer").details()
    assert (raised.value.status, raised.value.code, raised.value.retry_after) == (429, "throttled", 3600)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_wants_to_be_left_alone_is_where_an_answer_is_held(
    warm: Any, server: Misbehaving, status: int
) -> None:
    server.does(says(status, Retry_After="1"))
    assert warm.get_stored_agent("writer").details().stale
    assert len(server.asked) == 1


def test_a_server_that_is_down_is_asked_once_a_read(warm: Any, server: Misbehaving) -> None:
    server.does(hang_up)
    for _ in range(3):
        assert warm.get_stored_agent("writer").details().stale
    # The first read tried twice, as `retries=1` says; the others only looked whether it is back.
    assert len(server.asked) == 4


def test_a_proxy_of_the_environment_is_used(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.does(record())
    assert connect("http://editor.invalid").get_stored_agent("writer").details().instructions == "one"
    assert [one.path for one in server.asked] == ["http://editor.invalid/api/stored/agents/writer"]


@with_both_clients
def test_a_slow_proxy_does_not_keep_a_reader_for_ever(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.does(drip_headers)
    with pytest.raises(Unreachable):
        connect("http://editor.invalid", timeout=IMPATIENT).get_stored_agent("writer").details()


def test_a_killed_server_is_not_missed(connect: Clients, fresh_service: Service, tmp_path: Path) -> None:
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
