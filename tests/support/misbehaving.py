"""A real HTTP server that behaves as a test specifies, including misbehaviour."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS_TO_WAIT = 60
SECONDS_BETWEEN_BYTES = 0.02
POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[["Handler"], None]


@dataclass
class Misbehaving:
    """The server: its requests so far, and how it answers from now on."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    _behaviours: list[Behaviour] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)
    closing: threading.Event = field(default_factory=threading.Event)

    def does(self, *behaviours: Behaviour) -> None:
        """Answer the next requests in this order; the last answer is repeated."""
        with self._news:
            self._behaviours = list(behaviours)
            self.asked.clear()

    def wait_for(self, number: int) -> None:
        """Wait until this many requests have arrived."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.asked) >= number, SECONDS_TO_WAIT), self.asked

    def next_behaviour(self, asked: Asked) -> Behaviour:
        """Record a request and return how it is to be answered."""
        with self._news:
            self.asked.append(asked)
            self._news.notify_all()
            return self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: Misbehaving

    def answer(self) -> None:
        """Behave as the test specifies."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behave = self.owner.next_behaviour(Asked(self.command, self.path, headers, body))
        try:
            behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

    def send(self, status: int, content: bytes, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def record(etag: str | None = '"1"', **fields: Any) -> Behaviour:
    """Answer with a record of `writer` or its parts, or 304 if the client has it already."""
    whole = {"id": "writer", "instructions": "one", "resolvedVersionId": "v1", **fields}
    parts = parts_of(whole)

    def behave(handler: Handler) -> None:
        if etag is not None and handler.headers.get("If-None-Match") == etag:
            handler.send(304, b"", ETag=etag)
        else:
            content = json.dumps(parts if "form=parts" in handler.path else whole).encode()
            handler.send(200, content, **({"ETag": etag} if etag else {}))

    return behave


def parts_of(agent: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an agent that refers to no prompt block."""
    return {"config": {"name": "Writer", **agent}, "promptBlocks": {}, **agent}


def says(status: int, body: Any = None, **headers: str) -> Behaviour:
    """Answer with this status, and this body as JSON unless it is bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body or {"error": "no", "code": "no"}).encode()
    return lambda handler: handler.send(status, content, **headers)


def half(handler: Handler) -> None:
    """Promise a long answer, send its beginning and hang up."""
    handler.send(200, b'{"id": "writer", "instr', Content_Length="1000")
    handler.close_connection = True


def cut_off(handler: Handler) -> None:
    """Send the beginning of an answer as if it were the whole."""
    handler.send(200, b'{"id": "writer", "instr')


def hang_up(handler: Handler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def silence(handler: Handler) -> None:
    """Never answer."""
    handler.owner.closing.wait(SECONDS_TO_WAIT)
    handler.close_connection = True


def drip_headers(handler: Handler) -> None:
    """Send one header after the other, without an end."""
    _drip(handler, b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n")


def drip_body(handler: Handler) -> None:
    """Send one byte of the body after the other, without an end."""
    _drip(handler, b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b" ")


def _drip(handler: Handler, beginning: bytes, more: bytes) -> None:
    handler.wfile.write(beginning)
    while not handler.owner.closing.wait(SECONDS_BETWEEN_BYTES):
        handler.wfile.write(more)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Of connections that arrive at once; beyond it one waits for seconds until it is tried again."""


@contextmanager
def misbehaving_server() -> Iterator[Misbehaving]:
    """Serve on a free loopback port."""
    owner = Misbehaving()
    handler = type("OwnHandler", (Handler,), {"owner": owner})
    with _Server(("127.0.0.1", 0), handler) as server:
        owner.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=[POLL_SECONDS])
        thread.start()
        try:
            yield owner
        finally:
            owner.closing.set()
            server.shutdown()
            thread.join()
