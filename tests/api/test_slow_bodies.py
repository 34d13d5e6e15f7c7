"""Clients that begin a body and stop: they get an answer, and other clients do not wait for them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.remote import RemoteApi, answer_of, connected, service_connection
from tests.support.service import Service, running_service
from tests.support.streams import served_asynchronously
from versioning.api.limits import ANONYMOUS_LIMIT, MEMORY_LIMIT

HOST = "Host: 127.0.0.1"
JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
BY_LENGTH = ("Content-Length: 1000", b"x")
IN_CHUNKS = ("Transfer-Encoding: chunked", b"5\r\nx")
FRAMINGS = {"with a length": BY_LENGTH, "in chunks": IN_CHUNKS}


@dataclass(frozen=True)
class Slow:
    """A connection on which the head of a request was sent, and a byte of its body."""

    connection: socket.socket

    def answer(self) -> Answer:
        """Return the answer, once it has arrived."""
        with HTTPResponse(self.connection) as response:
            response.begin()
            return answer_of(response)

    def is_closed(self) -> bool:
        """Wait for the end of the connection."""
        try:
            return self.connection.recv(1) == b""
        except ConnectionResetError:
            return True


@contextmanager
def slow(address: str, line: str, framing: tuple[str, bytes], *headers: str) -> Iterator[Slow]:
    """Begin a request, and say no more."""
    name, _, port = address.rpartition(":")
    length, beginning = framing
    head = "\r\n".join([f"{line} HTTP/1.1", HOST, length, *headers])
    with socket.create_connection((name, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n" + beginning)
        yield Slow(connection)


def trickle(connection: socket.socket, pieces: Iterable[bytes], seconds_between: float) -> None:
    """Send one piece after the other until the server has had enough."""
    try:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(seconds_between)
    except OSError:
        return


pytestmark = pytest.mark.processes

DEADLINE = 3
CLIENTS_PER_REQUEST = 10
PROMPT = 10  # seconds, on a machine that has much else to do; a stopped process does not answer at all
SIGN_IN = "POST /studio/login/"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server in which bodies have little time."""
    folder = tmp_path_factory.mktemp("slow")
    with running_service(folder, EDITOR_BODY_TIMEOUT=str(DEADLINE)) as running:
        with connected(running) as api:
            for kind in (AGENTS, PROMPT_BLOCKS):
                kind.make(api, autoPublish=True)
        yield running


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def address(request: pytest.FixtureRequest, service: Service) -> Iterator[str]:
    """Where it is served, under either interface."""
    if request.param == "wsgi":
        yield service.url.removeprefix("http://")
    else:
        with served_asynchronously(service) as address:
            yield address


def requests_of_slow_clients(service: Service) -> dict[str, tuple[str, tuple[str, ...], int]]:
    """Return the requests of slow clients: line, headers and expected status."""
    known, unknown = (f"Authorization: Bearer {key}" for key in (service.key, "ek_unknown"))
    api = f"POST /api{AGENTS.path}"
    return {
        "nobody": (api, (JSON,), 401),
        "a wrong key": (api, (JSON, unknown), 401),
        "a made-up session": (api, (JSON, "Cookie: sessionid=made-up-but-long-enough"), 401),
        "a known key": (api, (JSON, known), 408),
        "the sign-in": (SIGN_IN, (FORM,), 408),
    }


def test_a_hundred_slow_clients_block_no_other_request_and_are_each_answered_and_closed(
    service: Service, address: str
) -> None:
    """One of them sends its body byte by byte, and gets no extra time."""
    known = f"Authorization: Bearer {service.key}"
    with ExitStack() as stack:
        waiting: list[tuple[str, int, Slow]] = []
        for name, (line, headers, status) in requests_of_slow_clients(service).items():
            for framing in FRAMINGS.values():
                for _ in range(CLIENTS_PER_REQUEST):
                    client = stack.enter_context(slow(address, line, framing, *headers))
                    waiting.append((name, status, client))
        tireless = stack.enter_context(slow(address, f"POST /api{AGENTS.path}", BY_LENGTH, JSON, known))
        begun = time.monotonic()
        sender = threading.Thread(target=trickle, args=(tireless.connection, [b"x"] * 900, 0.1))
        sender.start()
        api = RemoteApi(key=service.key, address=address)
        stack.callback(api.connection.close)
        assert api.request("GET", "/healthz").status == 200
        for kind in (AGENTS, PROMPT_BLOCKS):
            assert api.get(kind.url("writer")).status == 200
            assert api.patch(kind.url("writer"), {kind.text: f"at {begun} on {address}"}).status == 200
        assert time.monotonic() - begun < PROMPT

        answer = tireless.answer()
        assert (answer.status, answer.code, answer.headers["Connection"]) == (408, "request_timeout", "close")
        assert time.monotonic() - begun < DEADLINE + PROMPT
        sender.join()
        answers = [(name, status, client.answer()) for name, status, client in waiting]
        assert {(name, answer.status) for name, status, answer in answers if answer.status != status} == set()
        assert {answer.code for *_, answer in answers} == {"unauthorized", "request_timeout"}
        assert all(client.is_closed() for *_, client in waiting)


def test_100_continue_is_sent_only_to_known_callers(service: Service, address: str) -> None:
    expecting = ("Expect: 100-continue", JSON)
    line = f"POST /api{AGENTS.path}"
    with slow(address, line, ("Content-Length: 1000", b""), *expecting) as client:
        assert client.connection.recv(12) == b"HTTP/1.1 401"
    known = f"Authorization: Bearer {service.key}"
    with slow(address, line, ("Content-Length: 1000", b""), *expecting, known) as client:
        assert client.connection.recv(12) == b"HTTP/1.1 100"


def test_incomplete_bodies_take_no_more_memory_than_allowed(service: Service, address: str) -> None:
    known = f"Authorization: Bearer {service.key}"
    size = 1024 * 1024
    unfinished = (f"Content-Length: {size}", b" " * (size - 1))
    at_most = MEMORY_LIMIT // (size - 1)
    with ExitStack() as stack:
        waiting = [
            stack.enter_context(slow(address, f"POST /api{AGENTS.path}", unfinished, JSON, known))
            for _ in range(at_most + 20)
        ]
        answers = [client.answer() for client in waiting]
    busy = [answer for answer in answers if answer.status == 503]
    assert len(busy) >= 20
    assert {(answer.code, answer.headers["Retry-After"]) for answer in busy} == {("too_busy", "1")}
    assert {answer.status for answer in answers} == {408, 503}
    api = RemoteApi(key=service.key, address=address)
    for _ in range(at_most + 1):  # received and refused bodies release their memory
        assert api.post(AGENTS.path, b" " * size).status == 400
    api.connection.close()


def test_heads_sent_byte_by_byte_block_no_other_request(service: Service) -> None:
    with ExitStack() as stack:
        senders = []
        for _ in range(2 * CLIENTS_PER_REQUEST):
            connection = stack.enter_context(service_connection(service))
            head = f"POST /api{AGENTS.path} HTTP/1.1\r\n{HOST}\r\nX-Long: {'x' * 900}".encode()
            pieces = (head[at : at + 1] for at in range(len(head)))
            senders.append(threading.Thread(target=trickle, args=(connection, pieces, 0.1), daemon=True))
        for sender in senders:
            sender.start()
        with connected(service) as api:
            assert api.get("/agents/writer").status == 200
            assert api.patch(AGENTS.url("writer"), {"instructions": str(time.monotonic())}).status == 200


@pytest.mark.parametrize("key", ["", "ek_unknown"])
def test_a_large_body_without_a_valid_key_is_a_401(address: str, key: str) -> None:
    api = RemoteApi(key=key, address=address)
    answer = api.post(AGENTS.path, b'"' + b"x" * 900_000 + b'"')
    assert (answer.status, answer.code) == (401, "unauthorized")
    api.connection.close()


def test_the_size_of_a_sign_in_form_is_limited(service: Service, address: str) -> None:
    api = RemoteApi(key="", prefix="", address=address)
    body = b"username=" + b"x" * ANONYMOUS_LIMIT
    answer = api.post("/studio/login/", body, content_type="application/x-www-form-urlencoded")
    assert (answer.status, answer.code) == (413, "payload_too_large")
    assert str(ANONYMOUS_LIMIT) in answer.body["error"]
    api.connection.close()


def test_a_large_form_sent_without_a_session_redirects_to_the_sign_in(
    service: Service, address: str, kind: Kind
) -> None:
    api = RemoteApi(key="", prefix="", address=address)
    page = f"/studio/versioning/{'agent' if kind is AGENTS else 'promptblock'}/writer/change/"
    answer = api.post(page, b"a=" + b"x" * 200_000, content_type="application/x-www-form-urlencoded")
    assert (answer.status, answer.headers["Location"]) == (302, f"/studio/login/?next={page}")
    api.connection.close()
