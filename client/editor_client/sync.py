"""The client for threads: it performs the effects of the flows and makes no decisions."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from typing import Any, Self, TypeVar

import httpx2

from editor_client.base import (
    BaseClient,
    OpenedStream,
    is_stream,
    no_answer,
    request_errors,
    stream_limits,
    to_answer,
    unreachable_when_broken,
)
from editor_client.calls import Answer, Call, Request, Source
from editor_client.errors import ValidationFailed
from editor_client.manage.experiments import Comparison, Evaluated, evaluation
from editor_client.manage.stored import Stored
from editor_client.methods import Blocking, Pages
from editor_client.reads.agents import Agent
from editor_client.reads.exchange import (
    ClientClosed,
    CloseStream,
    Deadline,
    DiskWork,
    Effect,
    Flow,
    Follow,
    InBackground,
    NoAnswer,
    OpenStream,
    ReadStream,
    Send,
    Sleep,
    WaitFor,
)
from editor_client.reads.streams import EventReader, Run

logger = logging.getLogger("editor_client")
T = TypeVar("T")

REFRESHING_THREADS = 4
SECONDS_TO_END = 5
"""The seconds for which `close` waits for the follower."""


class Client(BaseClient[httpx2.Client], Blocking):
    """The client for threads. Any number of threads can share one, and so can processes forked later.

    `with Client(…) as client:` closes its connections, as `close()` does.
    """

    _http_class = httpx2.Client

    def perform(self, call: Call[T]) -> T:
        """Make a call, within the rules of the cache, and return its result."""
        return self._run(self._flows.perform(call))

    def evaluate(self, function: Evaluated, *, dataset: str, **more: Any) -> Comparison:
        """Evaluate a function of the application on every item of a dataset, and return the comparison.

        See `editor_client.manage.experiments.evaluation` for the arguments.
        """
        steps = evaluation(function, dataset=dataset, **more)
        step = next(steps)
        while True:
            result = self.perform(step) if isinstance(step, Call) else step()
            try:
                step = steps.send(result)
            except StopIteration as ended:
                comparison: Comparison = ended.value
                return comparison

    def iterate(self, source: Source[T]) -> Iterator[T]:
        """Yield the entries of a list, the events of a run, or those of the log until the client closes."""
        if isinstance(source, Pages):
            return self._entries(source)
        return self._run_events(source) if isinstance(source, Run) else self._log_events(source)

    def _entries(self, pages: Pages[Any]) -> Iterator[Any]:
        while (call := pages.next_call()) is not None:
            try:
                page = self.perform(call)
            except ValidationFailed as error:
                pages.shrink(error)
            else:
                yield from pages.new_entries(page)

    def _run_events(self, run: Run) -> Iterator[Any]:
        reader = EventReader()
        with unreachable_when_broken(), self._open(run.request) as response:
            for piece in response.iter_bytes():
                yield from reader.feed(piece)
                if reader.done:
                    return
        reader.end()

    def _log_events(self, listener: Any) -> Iterator[Any]:
        try:
            while not self._closing.is_set():
                yield from self._run(listener.next())
        except ClientClosed:
            return
        finally:
            if listener.feed.stream is not None:
                self._close_stream(listener.feed.stream)

    def prefetch(self, wanted: Iterable[str | Agent[Self] | Stored[Self, Any, Any, Any, Any]]) -> list[Any]:
        """Read resources that the application will need, and return them in the same order.

        A string is the id of an agent, as for `get_agent`. All are read before the first error is raised.
        """
        return self._run(self._flows.prefetch(self._reads(wanted)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; background work and iterators over events end.

        Unreported usage is reported first.
        """
        if not self._closing.is_set():
            self._run(self._flows.report_usage())
        self._closing.set()
        for stream in list(self._streams):
            stream.interrupt()
        if self._follower is not None:
            self._follower.join(SECONDS_TO_END)
        if self._background is not None:
            self._background.shutdown(cancel_futures=True)
        if self._custom_http is None:
            self._http.close()

    def _start(self) -> None:
        self._deadline = Deadline(self._clock)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._streams: set[OpenedStream] = set()
        self._follower: threading.Thread | None = None
        self._background: ThreadPoolExecutor | None = None
        self._connections = self._new_http()
        if self._custom_http is None:
            self._deadline.apply_to(self._connections)
        self._process = os.getpid()

    def _after_fork(self) -> None:
        """Start over: if two processes shared a connection, their answers would get mixed up."""
        self._flows.after_fork()
        self._start()

    @property
    def _http(self) -> httpx2.Client:
        if self._process != os.getpid():
            self._after_fork()
        return self._connections

    def _run(self, flow: Flow[T]) -> T:
        if self._process != os.getpid():
            self._after_fork()
        try:
            effect = next(flow)
            while True:
                value, error = None, None
                try:
                    value = self._do(effect)
                except NoAnswer as nothing:
                    error = nothing
                effect = flow.send(value) if error is None else flow.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()

    def _do(self, effect: Effect) -> Any:
        value: Any = None
        match effect:
            case Send():
                value = self._send(effect)
            case Sleep(seconds):
                self._closing.wait(seconds)
            case DiskWork(function):
                value = function()
            case InBackground(flow):
                self._later(flow)
            case Follow(flow):
                self._follow(flow)
            case WaitFor(future, deadline):
                wait([future], max(0, deadline - self._clock()))
            case OpenStream():
                value = self._open_stream(effect)
            case ReadStream():
                value = self._read_stream(effect)
            case CloseStream(stream):
                self._close_stream(stream)
        return value

    def _send(self, send: Send) -> Answer:
        if not send.while_closing:
            self._refuse_if_closed()
        arguments = self._request_arguments(send.request, send.etag)
        timeout = send.deadline - self._clock()
        try:
            with self._deadline.at(send.deadline):
                return to_answer(self._http.request(**arguments, timeout=timeout))
        except request_errors() as error:
            raise no_answer(error) from error

    @contextmanager
    def _open(self, request: Request) -> Iterator[httpx2.Response]:
        """Yield a response before its body is read; raises the error for any status other than success."""
        arguments = self._request_arguments(request, accept="text/event-stream")
        http_request = self._http.build_request(**arguments, timeout=self._timeout)
        with self._deadline.at(self._clock() + self._timeout):
            response = self._http.send(http_request, stream=True)
            if response.status_code != httpx2.codes.OK:
                response.read()
        with closing(response):
            if response.status_code != httpx2.codes.OK:
                self._run(self._flows.fail(request, to_answer(response)))
            yield response

    # Streams of the log

    def _open_stream(self, effect: OpenStream) -> Answer | OpenedStream:
        self._refuse_if_closed()
        arguments = self._request_arguments(effect.request, accept="text/event-stream")
        timeout = effect.deadline - self._clock()
        try:
            with self._deadline.at(effect.deadline):
                response = self._http.send(
                    self._http.build_request(**arguments, timeout=stream_limits(timeout)), stream=True
                )
                if not is_stream(response):
                    with closing(response):
                        response.read()
                    return to_answer(response)
        except request_errors() as error:
            raise no_answer(error) from error
        stream = OpenedStream(response, response.iter_bytes())
        self._streams.add(stream)
        return stream

    def _read_stream(self, effect: ReadStream) -> bytes:
        self._refuse_if_closed()
        try:
            with self._deadline.at(effect.deadline):
                return next(effect.stream.pieces, b"")
        except request_errors() as error:
            raise no_answer(error) from error

    def _close_stream(self, stream: OpenedStream) -> None:
        self._streams.discard(stream)
        stream.response.close()

    def _refuse_if_closed(self) -> None:
        if self._closing.is_set():
            raise ClientClosed("the client is closed")

    # In the background

    def _later(self, flow: Flow[None]) -> None:
        if self._closing.is_set():
            return
        with self._lock:
            if self._background is None:
                self._background = ThreadPoolExecutor(REFRESHING_THREADS, "editor-client")
            self._background.submit(self._run, flow)

    def _follow(self, flow: Flow[None]) -> None:
        with self._lock:
            if self._follower is None:
                self._follower = threading.Thread(
                    target=self._run_follower, args=[flow], name="editor-client-follower", daemon=True
                )
                self._follower.start()

    def _run_follower(self, flow: Flow[None]) -> None:
        try:
            self._run(flow)
        except Exception:
            if not self._closing.is_set():
                logger.exception("the follower has failed: every read sends a request")
