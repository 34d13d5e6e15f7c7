"""The client for coroutines: it performs the effects of the flows and makes no decisions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager
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
from editor_client.methods import Awaiting, Pages
from editor_client.reads.agents import Agent
from editor_client.reads.exchange import (
    ClientClosed,
    CloseStream,
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


@asynccontextmanager
async def in_time(seconds: float) -> AsyncIterator[None]:
    """Limit the total time of several waits; httpx2 limits each wait separately."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise httpx2.ReadTimeout("there is no time left") from None


class AsyncClient(BaseClient[httpx2.AsyncClient], Awaiting):
    """The client for coroutines: any number of them may share one, in one event loop.

    Its methods have the same names and arguments as those of `Client`, and are awaited. `async with
    AsyncClient(…) as client:` closes its connections, as `await client.close()` does.
    """

    _http_class = httpx2.AsyncClient
    _is_closed: bool

    async def perform(self, call: Call[T]) -> T:
        """Make a call, within the rules of the cache, and return its result."""
        return await self._run(self._flows.perform(call))

    async def evaluate(self, function: Evaluated, *, dataset: str, **more: Any) -> Comparison:
        """Evaluate a function of the application, possibly asynchronous, on every item of a dataset.

        Returns the comparison; see `editor_client.manage.experiments.evaluation` for the arguments.
        """
        steps = evaluation(function, dataset=dataset, **more)
        step = next(steps)
        while True:
            result = await self.perform(step) if isinstance(step, Call) else await step.run_and_await()
            try:
                step = steps.send(result)
            except StopIteration as ended:
                comparison: Comparison = ended.value
                return comparison

    def iterate(self, source: Source[T]) -> AsyncIterator[T]:
        """Yield the entries of a list, the events of a run, or those of the log until the client closes."""
        if isinstance(source, Pages):
            return self._entries(source)
        return self._run_events(source) if isinstance(source, Run) else self._log_events(source)

    async def _entries(self, pages: Pages[Any]) -> AsyncIterator[Any]:
        while (call := pages.next_call()) is not None:
            try:
                page = await self.perform(call)
            except ValidationFailed as error:
                pages.shrink(error)
            else:
                for entry in pages.new_entries(page):
                    yield entry

    async def _run_events(self, run: Run) -> AsyncIterator[Any]:
        reader = EventReader()
        with unreachable_when_broken():
            async with self._open(run.request) as response:
                async for piece in response.aiter_bytes():
                    for event in reader.feed(piece):
                        yield event
                    if reader.done:
                        return
        reader.end()

    async def _log_events(self, listener: Any) -> AsyncIterator[Any]:
        try:
            while True:
                for event in await self._until_closed(self._run(listener.next())):
                    yield event
        except ClientClosed:
            return
        finally:
            if listener.feed.stream is not None:
                await self._close_stream(listener.feed.stream)

    async def prefetch(
        self, wanted: Iterable[str | Agent[Self] | Stored[Self, Any, Any, Any, Any]]
    ) -> list[Any]:
        """Read resources that the application will need, and return them in the same order.

        A string is the id of an agent, as for `get_agent`. All are read before the first error is raised.
        """
        return await self._run(self._flows.prefetch(self._reads(wanted)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; background work and iterators over events end.

        Unreported usage is reported first.
        """
        if not self._is_closed:
            await self._run(self._flows.report_usage())
        self._is_closed = True
        tasks = [*self._background, *self._waiting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._custom_http is None:
            await self._http.aclose()

    def _start(self) -> None:
        self._http = self._new_http()
        self._is_closed = False
        self._background: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[Any]] = set()
        """The pending waits of iterators over events."""

    async def _run(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                value, error = None, None
                try:
                    value = await self._do(effect)
                except NoAnswer as nothing:
                    error = nothing
                effect = flow.send(value) if error is None else flow.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()

    async def _do(self, effect: Effect) -> Any:
        value: Any = None
        match effect:
            case Send():
                value = await self._send(effect)
            case Sleep(seconds):
                await asyncio.sleep(seconds)
            case DiskWork(function):
                value = await asyncio.to_thread(function)
            case InBackground(flow) | Follow(flow):
                self._later(flow)
            case WaitFor(future, deadline):
                await asyncio.wait([asyncio.wrap_future(future)], timeout=max(0, deadline - self._clock()))
            case OpenStream():
                value = await self._open_stream(effect)
            case ReadStream():
                value = await self._read_stream(effect)
            case CloseStream(stream):
                await self._close_stream(stream)
        return value

    async def _send(self, send: Send) -> Answer:
        arguments = self._request_arguments(send.request, send.etag)
        timeout = send.deadline - self._clock()
        try:
            async with in_time(timeout):
                return to_answer(await self._http.request(**arguments, timeout=timeout))
        except request_errors() as error:
            raise no_answer(error) from error

    @asynccontextmanager
    async def _open(self, request: Request) -> AsyncIterator[httpx2.Response]:
        """Yield a response before its body is read; raises the error for any status other than success."""
        arguments = self._request_arguments(request, accept="text/event-stream")
        http_request = self._http.build_request(**arguments, timeout=self._timeout)
        async with in_time(self._timeout):
            response = await self._http.send(http_request, stream=True)
            if response.status_code != httpx2.codes.OK:
                await response.aread()
        async with aclosing(response):
            if response.status_code != httpx2.codes.OK:
                await self._run(self._flows.fail(request, to_answer(response)))
            yield response

    # Streams of the log

    async def _open_stream(self, effect: OpenStream) -> Answer | OpenedStream:
        arguments = self._request_arguments(effect.request, accept="text/event-stream")
        timeout = effect.deadline - self._clock()
        request = self._http.build_request(**arguments, timeout=stream_limits(timeout))
        try:
            async with in_time(timeout):
                response = await self._http.send(request, stream=True)
                if not is_stream(response):
                    async with aclosing(response):
                        await response.aread()
                    return to_answer(response)
        except request_errors() as error:
            raise no_answer(error) from error
        return OpenedStream(response, response.aiter_bytes())

    async def _read_stream(self, effect: ReadStream) -> bytes:
        try:
            async with in_time(effect.deadline - self._clock()):
                return await anext(effect.stream.pieces, b"")
        except request_errors() as error:
            raise no_answer(error) from error

    async def _close_stream(self, stream: OpenedStream) -> None:
        await stream.response.aclose()

    # In the background

    def _later(self, flow: Flow[None]) -> None:
        task = asyncio.get_running_loop().create_task(self._run_in_background(flow))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _run_in_background(self, flow: Flow[None]) -> None:
        try:
            await self._run(flow)
        except Exception:
            if not self._is_closed:
                logger.exception("background work has failed")

    async def _until_closed(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something, or until the client is closed; then raise `ClientClosed`."""
        task = asyncio.get_running_loop().create_task(work)
        self._waiting.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._waiting.discard(task)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._is_closed or task.cancelled():
            raise ClientClosed("the client is closed")
        return task.result()
