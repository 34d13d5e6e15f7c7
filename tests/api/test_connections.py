"""Idle connections: they do not block other clients, and the server closes them."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from editor_project.server.connections import MAX_HEAD
from tests.support.hasty_settings import IDLE_SECONDS
from tests.support.remote import SECONDS_FOR_AN_ANSWER, connected, service_connection
from tests.support.service import Service, running_service

pytestmark = pytest.mark.processes

MORE_THAN_GRANIAN_HOLDS = 1_100
MORE_THAN_BUFFERS_HOLD = 100
HEAD = b"GET /api/schema HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server, started with no more files than a system allows at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1_024, hard), hard))
    try:
        own = {"DJANGO_SETTINGS_MODULE": "tests.support.hasty_settings"}
        with running_service(tmp_path_factory.mktemp("idle"), **own) as running:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(8_192, hard), hard))
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_very_many_silent_clients_do_not_block_other_requests(service: Service) -> None:
    with ExitStack() as stack:
        for _ in range(MORE_THAN_GRANIAN_HOLDS):
            stack.enter_context(service_connection(service))
        with connected(service) as api:
            api.connection.timeout = 10
            assert api.get("/agents").status == 200


def test_an_idle_connection_is_closed(service: Service) -> None:
    """The client sends nothing, half of a head, HTTP/2, or many requests whose answers it never reads."""
    with ExitStack() as stack:
        silent, half, newer, unread = (stack.enter_context(service_connection(service)) for _ in range(4))
        half.sendall(HEAD)
        newer.sendall(HTTP_2)
        unread.sendall((HEAD + b"\r\n") * MORE_THAN_BUFFERS_HOLD)
        for connection in (silent, half, newer):
            connection.settimeout(SECONDS_FOR_AN_ANSWER)
            _read_to_the_end(connection)
        # The system notices what is not read when it asks again, which it does less and less often.
        time.sleep(IDLE_SECONDS * 3)
        received = _read_to_the_end(unread)
        assert received.count(b"HTTP/1.1 200") < MORE_THAN_BUFFERS_HOLD


def test_the_size_of_a_request_head_is_limited(service: Service) -> None:
    with service_connection(service) as connection:
        connection.sendall(HEAD + b"X-Long: " + b"x" * MAX_HEAD)
        assert connection.recv(12) == b"HTTP/1.1 431"


def _read_to_the_end(connection: socket.socket) -> bytes:
    received = bytearray()
    try:
        while part := connection.recv(1 << 20):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)
