"""Slow clients: partial requests, and how they are answered."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse

from tests.support.api import Answer
from tests.support.remote import answer_of

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
