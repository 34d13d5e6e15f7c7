"""A receiver of webhooks: an HTTP server in a thread, which records messages and answers as specified."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.ports import free_port


@dataclass(frozen=True)
class Message:
    """A received message."""

    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


Answer = tuple[int, dict[str, str], bytes]
OK: Answer = (200, {}, b"thanks")


@dataclass
class Receiver:
    port: int
    answer: Callable[[Message], Answer] = lambda _message: OK
    messages: list[Message] = field(default_factory=list)
    """In the order of arrival, each before it is answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def wait_for(self, number: int, seconds: float = 60) -> list[Message]:
        """Wait until so many messages have come, and return all that have."""
        until = time.monotonic() + seconds
        while len(self.messages) < number:
            assert time.monotonic() < until, f"{len(self.messages)} of {number} messages have come"
            time.sleep(0.01)
        return list(self.messages)


@contextmanager
def receiving(port: int | None = None) -> Iterator[Receiver]:
    """Start a receiver on a port of this machine."""
    receiver = Receiver(port or free_port())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            message = Message(self.path, headers, body)
            receiver.messages.append(message)
            status, more, text = receiver.answer(message)
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
