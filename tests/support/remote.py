"""How tests speak to a real server: the same words as in this process, or bytes of one's own choice."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from threading import Barrier
from typing import TypeVar

from tests.support.api import Answer, Api
from tests.support.service import Service

T = TypeVar("T")

SECONDS_FOR_AN_ANSWER = 60


@dataclass
class RemoteApi(Api):
    """A caller on one connection, which stays open and so stays with one worker of the server.

    It is not for several threads at once, and it is closed by `opened`.
    """

    address: str = ""
    connection: HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = HTTPConnection(self.address, timeout=SECONDS_FOR_AN_ANSWER)

    def exchange(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        self.connection.request(method, target, data, headers)
        return answer_of(self.connection.getresponse())


@contextmanager
def connected(service: Service, key: str | None = None) -> Iterator[RemoteApi]:
    """Open a connection of the service's admin, or of another key."""
    with opened(service.url.removeprefix("http://"), service.key if key is None else key) as api:
        yield api


@contextmanager
def opened(address: str, key: str) -> Iterator[RemoteApi]:
    """Open a connection to this host and port."""
    api = RemoteApi(key=key, address=address)
    try:
        yield api
    finally:
        api.connection.close()


@contextmanager
def streaming(
    address: str, method: str, target: str, data: bytes | None, headers: dict[str, str]
) -> Iterator[HTTPResponse]:
    """Send what `Api.prepare` returns on a new connection, and yield the answer; leaving is going away."""
    connection = HTTPConnection(address, timeout=2 * SECONDS_FOR_AN_ANSWER)
    connection.request(method, target, data, headers)
    connected = connection.sock
    try:
        response = connection.getresponse()
        assert response.status == 200, response.read()
        yield response
    finally:
        # This wakes a thread that waits for the next line, which `close` alone does not do.
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)
        connection.close()


def at_once(service: Service, jobs: Sequence[Callable[[RemoteApi], T]]) -> list[T]:
    """Run the jobs at the same time, each on a separate connection, and return their results."""
    start = Barrier(len(jobs))

    def run(job: Callable[[RemoteApi], T]) -> T:
        with connected(service) as api:
            assert api.get("/healthz").status == 200
            start.wait(SECONDS_FOR_AN_ANSWER)
            return job(api)

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs))


def service_connection(service: Service) -> socket.socket:
    """Open a connection without sending anything."""
    address, port = service.url.removeprefix("http://").split(":")
    return socket.create_connection((address, int(port)), timeout=SECONDS_FOR_AN_ANSWER)


def send(service: Service, request: bytes, *, more_to_come: bool = True) -> Answer:
    """Send exactly these bytes on a new connection and return the answer.

    Without `more_to_come`, the sending side is closed afterwards.
    """
    with service_connection(service) as connection:
        connection.sendall(request)
        if not more_to_come:
            connection.shutdown(socket.SHUT_WR)
        with HTTPResponse(connection) as response:
            response.begin()
            return answer_of(response)


def answer_of(response: HTTPResponse) -> Answer:
    """Return the whole of an answer."""
    return Answer.of(response.status, response.headers, response.read())
