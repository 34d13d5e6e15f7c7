"""A small OpenAI-compatible server on loopback, whose model does as the test says."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STOP_AFTER_SECONDS = 30


@dataclass(frozen=True)
class Says:
    """The model answers."""

    text: str


@dataclass(frozen=True)
class Pieces:
    """The model answers in these pieces; without a finish reason the stream just ends."""

    pieces: tuple[str, ...]
    finish_reason: str | None = "stop"

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)


@dataclass(frozen=True)
class Calls:
    """The model calls a tool."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Fails:
    """The server answers with an error."""

    status: int
    message: str
    retry_after: int | None = None


@dataclass(frozen=True)
class FallsSilent:
    """The model says no more after the text, until the client goes away."""

    text: str = ""


@dataclass(frozen=True)
class BreaksOff:
    """The connection ends in the middle of the answer."""

    text: str


Reply = Says | Pieces | Calls | Fails | FallsSilent | BreaksOff
Request = dict[str, Any]
Model = Callable[[Request], Reply]


@dataclass
class ModelServer:
    """The requests of the server, and whether a client disconnected while it was waiting."""

    model: Model = lambda request: Says("Hello there.")
    requests: list[Request] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    """The `traceparent` of each request that had one."""
    asked: threading.Event = field(default_factory=threading.Event)
    client_left: threading.Event = field(default_factory=threading.Event)
    url: str = ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # connections that arrive at once
    state: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.state.requests.append(request)
        self.server.state.keys.append(self.headers["Authorization"])
        self.server.state.traces += filter(None, [self.headers["traceparent"]])
        assert self.path == "/v1/chat/completions", self.path
        self.server.state.asked.set()
        reply = self.server.state.model(request)
        try:
            self._answer(request, reply)
        except ConnectionError:  # it left while it was written to, or with bytes that it never read
            self.server.state.client_left.set()
            self.close_connection = True

    def _answer(self, request: Request, reply: Reply) -> None:
        if isinstance(reply, Fails):
            wait = {} if reply.retry_after is None else {"Retry-After": str(reply.retry_after)}
            error = {"message": reply.message, "type": "server_error"}
            self._send(reply.status, {"error": error}, **wait)
        elif request.get("stream"):
            self._stream(reply)
        elif isinstance(reply, Says | Pieces | Calls):
            self._send(200, _completion(reply))
        elif isinstance(reply, FallsSilent):
            self._wait_for_the_client_to_leave()

    def _send(self, status: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for delta in _deltas(reply):
            self._chunk(_chunk_of(delta))
        if isinstance(reply, FallsSilent):
            self._wait_for_the_client_to_leave()
        elif not isinstance(reply, BreaksOff):
            reason = _finish_reason(reply)
            if reason is not None:
                choice = {"index": 0, "delta": {}, "finish_reason": reason}
                self._chunk({**_chunk_of({}), "choices": [choice]})
            self._chunk({**_chunk_of({}), "choices": [], "usage": _USAGE})
            self._raw("data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _chunk(self, chunk: dict[str, Any]) -> None:
        self._raw(f"data: {json.dumps(chunk)}\n\n")

    def _raw(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
        self.wfile.flush()

    def _wait_for_the_client_to_leave(self) -> None:
        readable, _, _ = select.select([self.connection], [], [], STOP_AFTER_SECONDS)
        if readable and self.connection.recv(1) == b"":
            self.server.state.client_left.set()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


@contextmanager
def running_model_server() -> Iterator[ModelServer]:
    """Run the server in threads of this process."""
    server = _Server(("127.0.0.1", 0), _Handler)
    state = server.state = ModelServer(url=f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _call(reply: Calls) -> dict[str, Any]:
    function = {"name": reply.tool, "arguments": json.dumps(reply.args)}
    return {"id": f"call-{reply.tool}", "type": "function", "function": function}


def _finish_reason(reply: Reply) -> str | None:
    if isinstance(reply, Pieces):
        return reply.finish_reason
    return "tool_calls" if isinstance(reply, Calls) else "stop"


def _completion(reply: Says | Pieces | Calls) -> dict[str, Any]:
    said = (
        {"content": None, "tool_calls": [_call(reply)]}
        if isinstance(reply, Calls)
        else {"content": reply.text}
    )
    message = {"role": "assistant", **said}
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply)}
    return {
        "id": "completion-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "small",
        "choices": [choice],
        "usage": _USAGE,
    }


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    if isinstance(reply, Calls):
        yield {"role": "assistant", "tool_calls": [{"index": 0, **_call(reply)}]}
    elif not isinstance(reply, Fails):
        pieces = reply.pieces if isinstance(reply, Pieces) else [f"{word} " for word in reply.text.split()]
        for piece in pieces:
            yield {"role": "assistant", "content": piece}


def _chunk_of(delta: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "completion-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "small",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
