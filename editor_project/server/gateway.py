"""From a connection to the WSGI application and back, without a thread that waits for a client.

Granian's own WSGI interface calls the application as soon as the head of a request has arrived. Reading the
body then blocks a thread for as long as the client likes, without interruption. So this uses its ASGI
interface, where a body is awaited and can be abandoned. The application still runs in threads; the first of
these is the one in which granian calls.
"""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

from editor_project.server.cached_reads import CachedReads
from editor_project.server.connections import IDLE_SECONDS
from versioning.api.cached_answers import UNANSWERED
from versioning.api.limits import (
    ADMITTED,
    IN_EVENT_LOOP,
    MAY_STILL_SEND,
    OPEN_STREAMS,
    REFUSAL,
    BodyLimits,
    BodyMemory,
    Refusal,
    RunsFull,
    discard,
    is_run,
    limits_for,
    runs,
    wait_for_disconnect,
)
from versioning.api.middleware import declared_length
from versioning.api.request_log import request_id_for

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
Disconnect = asyncio.Task[Any] | Future[Any]
"""Done when a client has disconnected."""
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

EVENT_STREAM: Final = "text/event-stream"
_FAILED: Final = [("Content-Type", "application/json"), ("Cache-Control", "private, no-store")]
_SAME_FOR_ALL: Final = {
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "granian",
    "wsgi.version": (1, 0),
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    "wsgi.input_terminated": True,
}


class Gateway:
    """A WSGI application behind granian's ASGI interface.

    Requests without a body are answered in the thread in which they arrive. A request with a body waits in
    the event loop until the body is complete and is then answered in a thread of this pool, so that it never
    delays reads. Runs, and other requests that wait for models, have a third pool, so that they delay neither
    reads nor saves; a run waits for its turn in the event loop. Asynchronous streams, at most `streams` of
    them, take no thread.
    """

    def __init__(
        self,
        application: Application,
        loop: asyncio.AbstractEventLoop,
        threads: int,
        streams: int = IN_EVENT_LOOP,
    ) -> None:
        self._application = application
        self._streams = streams
        self._loop = loop
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="body")
        self._run_threads = ThreadPoolExecutor(settings.EDITOR_RUN_THREADS, thread_name_prefix="run")
        self._body_memory = BodyMemory()
        self._cached_reads = CachedReads(self._take_ordinarily, threads)
        self._tasks: set[asyncio.Task[None]] = set()
        self._pushing: set[asyncio.Task[None]] = set()
        self._ending = False

    def take(self, watcher: Any) -> None:
        """Accept a request from granian; must not raise."""
        try:
            scope = watcher.scope
            if not self._cached_reads.take(watcher, scope):
                self._take(scope, watcher.proto)
        except BaseException:
            logger.exception("a request could not be taken")
            watcher.done()

    def _take_ordinarily(self, watcher: Any, scope: dict[str, Any]) -> None:
        try:
            self._take(scope, watcher.proto)
        except BaseException:
            logger.exception("a request could not be taken")
            watcher.done()

    def _take(self, scope: dict[str, Any], proto: Any) -> None:
        environ = make_environ(scope)
        environ[OPEN_STREAMS] = self._streams
        has_body = environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ
        if not has_body and environ["REQUEST_METHOD"] != "POST":
            self._answer(environ, proto)
            return
        # A copy: Django rewrites the path of a request into a form that is not valid WSGI.
        request = WSGIRequest(dict(environ))
        waits_for_models = is_run(environ["REQUEST_METHOD"], request.path_info)
        if not has_body and not waits_for_models:
            self._answer(environ, proto)
            return
        limits, length = limits_for(request), declared_length(request)
        if limits is None:
            self._answer(_with(environ, b""), proto)
            if has_body:
                self._soon(discard(proto.receive))
        elif waits_for_models and not limits.is_for_anonymous:
            self._soon(self._receive_run(environ, proto, limits, length))
        else:
            self._soon(self._receive(environ, proto, limits, length))

    async def _receive(self, environ: Environ, proto: Any, limits: BodyLimits, length: int | None) -> None:
        async with self._body_memory.receive_body(proto.receive, limits, length) as body:
            await asyncio.wrap_future(self._threads.submit(self._answer, _with(environ, body), proto))
        if body in MAY_STILL_SEND:
            await discard(proto.receive)

    async def _receive_run(
        self, environ: Environ, proto: Any, limits: BodyLimits, length: int | None
    ) -> None:
        # The queue limits the memory of complete bodies; other requests need that of incomplete ones.
        async with self._body_memory.receive_body(proto.receive, limits, length) as body:
            pass
        environ = _with(environ, body)
        if isinstance(body, Refusal):
            await asyncio.wrap_future(self._threads.submit(self._answer, environ, proto))
            if body in MAY_STILL_SEND:
                await discard(proto.receive)
            return
        try:
            place = runs.join()
        except RunsFull:
            environ[REFUSAL] = Refusal.RUNS_FULL
            await asyncio.wrap_future(self._threads.submit(self._answer, environ, proto))
            return
        disconnect = self._loop.create_task(wait_for_disconnect(proto.receive))
        try:
            first: set[asyncio.Future[Any]] = {disconnect, asyncio.wrap_future(place.turn)}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not disconnect.done():
                environ[ADMITTED] = True
                await asyncio.wrap_future(self._run_threads.submit(self._answer, environ, proto, disconnect))
        finally:
            disconnect.cancel()
            place.leave()

    def _answer(self, environ: Environ, proto: Any, disconnect: Disconnect | None = None) -> None:
        """Run the application in this thread and send its response.

        For a run, `gone` is set when its client has disconnected; this thread also sends its stream.
        """
        head: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            parts = self._application(environ, lambda *args: head.append(args[:2]))
            status, headers = head[-1]
            start = {"type": "http.response.start", "status": int(status[:3]), "headers": _as_bytes(headers)}
            if getattr(parts, "streaming", False) and dict(headers).get("Content-Type") == EVENT_STREAM:
                proto.send(start)
                if getattr(parts, "is_async", False):
                    self._soon(self._push(proto, parts))
                    return
                if disconnect is None:
                    self._threads.submit(self._stream, proto, parts)
                else:
                    self._send_parts(proto, parts, disconnect)
                return
            try:
                body = b"".join(parts)
            finally:
                _close(parts)
        except Exception:
            logger.exception("the application failed outside of its error handling")
            request_id = request_id_for(environ.get("HTTP_X_REQUEST_ID", ""))
            failed = [*_FAILED, ("X-Request-ID", request_id)]
            start = {"type": "http.response.start", "status": 500, "headers": _as_bytes(failed)}
            body = (
                b'{"error": "Something went wrong on the server; its log says what.", '
                b'"code": "server_error", "requestId": "%s"}' % request_id.encode()
            )
        proto.send(start)
        proto.send({"type": "http.response.body", "body": body})

    def _stream(self, proto: Any, parts: Iterable[bytes]) -> None:
        disconnect = asyncio.run_coroutine_threadsafe(wait_for_disconnect(proto.receive), self._loop)
        try:
            self._send_parts(proto, parts, disconnect)
        finally:
            disconnect.cancel()

    def _send_parts(self, proto: Any, parts: Iterable[bytes], disconnect: Disconnect) -> None:
        """Send the parts one after another, until there are no more or the client has disconnected."""
        try:
            for part in parts:
                if disconnect.done():
                    return
                message = {"type": "http.response.body", "body": part, "more_body": True}
                asyncio.run_coroutine_threadsafe(_finish(proto.send(message)), self._loop).result()
            proto.send({"type": "http.response.body", "body": b""})
        except Exception:
            logger.exception("a stream broke off")
        finally:
            _close(parts)

    def end_streams(self) -> None:
        """End the asynchronous streams when the worker ends, because they would not end otherwise."""
        self._ending = True
        for task in self._pushing:
            task.cancel()

    async def _push(self, proto: Any, parts: Any) -> None:
        """Send the parts of an asynchronous stream, in the event loop, until the client has disconnected."""
        disconnect = self._loop.create_task(wait_for_disconnect(proto.receive))
        if task := asyncio.current_task():
            disconnect.add_done_callback(lambda _: task.cancel())
            self._pushing.add(task)
            task.add_done_callback(self._pushing.discard)
        if self._ending:
            disconnect.cancel()
        try:
            async for part in parts:
                async with asyncio.timeout(IDLE_SECONDS):
                    await proto.send({"type": "http.response.body", "body": part, "more_body": True})
        except (asyncio.CancelledError, TimeoutError):
            pass  # the client no longer reads, or there is nothing more to send
        except Exception:
            logger.exception("a stream broke off")
        finally:
            disconnect.cancel()
            _close(parts)
            proto.send({"type": "http.response.body", "body": b""})

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        self._loop.call_soon_threadsafe(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop holds only weak references to tasks
        task.add_done_callback(self._tasks.discard)


def make_environ(scope: dict[str, Any]) -> Environ:
    """Return the WSGI environment of an ASGI scope, without a body."""
    path = scope["raw_path"]
    environ = {
        **_SAME_FOR_ALL,
        "REQUEST_METHOD": scope["method"],
        "PATH_INFO": (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1"),
        "REQUEST_URI": path.decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": scope["client"][0],
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": scope["server"][1],
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.input": io.BytesIO(),
        UNANSWERED: scope.get(UNANSWERED),
    }
    for name, value in scope["headers"]:
        if b"_" in name:  # it would pass for the header with a hyphen, which a proxy may have written
            continue
        variable, text = _variable(name), value.decode("latin-1")
        if variable in environ:
            text = f"{environ[variable]}{';' if variable == 'HTTP_COOKIE' else ','}{text}"
        environ[variable] = text
    return environ


def _with(environ: Environ, body: bytes | Refusal) -> Environ:
    content = body if isinstance(body, bytes) else b""
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ |= {"wsgi.input": io.BytesIO(content), "CONTENT_LENGTH": str(len(content))}
    return environ if isinstance(body, bytes) else {**environ, REFUSAL: body}


@lru_cache(maxsize=512)
def _variable(header: bytes) -> str:
    name = header.decode("latin-1").upper().replace("-", "_")
    return name if name in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{name}"


def _as_bytes(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(_encode_name(name), value.encode("latin-1")) for name, value in headers]


@lru_cache(maxsize=512)
def _encode_name(name: str) -> bytes:
    return name.encode("latin-1")


async def _finish(sending: Any) -> None:
    await sending


def _close(parts: Iterable[bytes]) -> None:
    close = getattr(parts, "close", None)
    if close is not None:
        close()
