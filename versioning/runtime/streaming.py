"""Consume the events of a producer, from a thread or from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, Self, TypeVar, cast

Event = dict[str, Any]
"""`{"type", "runId", "from", "payload"}`."""

Emit = Callable[[Event], None]

Producer = Callable[[Emit], Coroutine[Any, Any, None]]
"""Emits events until it is done; cancelling it stops the model call."""


Yielded = TypeVar("Yielded", bound=Event | None)
"""An event, or None as a heartbeat."""


def consume(
    loop: asyncio.AbstractEventLoop, produce: Producer, heartbeat: float | None
) -> Generator[Event | None]:
    """Yield what the producer emits on a loop of another thread; it starts with the first `next()`.

    Yields None after `heartbeat` seconds without an event. Closing the generator cancels the producer at
    once. The producer belongs to the request that calls this, even if that is answered by the first `next()`.
    """
    return _consume(loop, produce, heartbeat, copy_context())


def _consume(
    loop: asyncio.AbstractEventLoop, produce: Producer, heartbeat: float | None, context: Context
) -> Generator[Event | None]:
    inbox: SimpleQueue[Event | None] = SimpleQueue()
    future = context.run(asyncio.run_coroutine_threadsafe, produce(inbox.put), loop)
    future.add_done_callback(lambda _: inbox.put(None))
    try:
        while True:
            try:
                event = inbox.get(timeout=heartbeat)
            except Empty:
                yield None
                continue
            if event is None:
                break
            yield event
        future.result()
    finally:
        future.cancel()


class EventStream(AsyncIterator[Yielded], Generic[Yielded]):
    """Events to iterate over, on the loop that iterates.

    `await stream` checks the call and raises its errors before the first event; without it, the first step
    of the iteration does. `aclose()` stops the model call.
    """

    def __init__(self, prepare: Callable[[], Awaitable[Producer]], heartbeat: float | None) -> None:
        self._prepare = prepare
        self._heartbeat = heartbeat
        self._events: AsyncGenerator[Event | None] | None = None
        self._closed = False

    def __await__(self) -> Generator[Any, None, Self]:
        return self._checked().__await__()

    async def __anext__(self) -> Yielded:
        if self._closed:
            raise StopAsyncIteration
        return cast("Yielded", await anext(await self._ready()))

    async def aclose(self) -> None:
        """Cancel the run, and return once it has ended completely."""
        self._closed = True
        if self._events is not None:
            await self._events.aclose()

    async def _checked(self) -> Self:
        await self._ready()
        return self

    async def _ready(self) -> AsyncGenerator[Event | None]:
        if self._events is None:
            self._events = _aconsume(await self._prepare(), self._heartbeat)
        return self._events


async def _aconsume(produce: Producer, heartbeat: float | None) -> AsyncGenerator[Event | None]:
    inbox: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.create_task(produce(inbox.put_nowait))
    task.add_done_callback(lambda _: inbox.put_nowait(None))
    try:
        while True:
            try:
                event = await asyncio.wait_for(inbox.get(), heartbeat)
            except TimeoutError:
                yield None
                continue
            if event is None:
                break
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
