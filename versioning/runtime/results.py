"""The result of a run, as values and as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Self, TypeVar, cast

from versioning.domain.agents import Notice


@dataclass(frozen=True, kw_only=True)
class Step:
    """One answer of the model, with the results of its tool calls."""

    text: str
    finish_reason: str
    tool_calls: tuple[Mapping[str, Any], ...]
    tool_results: tuple[Mapping[str, Any], ...]
    usage: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "finishReason": self.finish_reason,
            "toolCalls": list(self.tool_calls),
            "toolResults": list(self.tool_results),
            "usage": dict(self.usage),
        }


@dataclass(frozen=True, kw_only=True)
class Result:
    """The answer of an agent.

    `usage` covers the whole run, including sub-agents, with its `cost`, or None if a price is unknown.
    `steps`, `tool_calls` and `tool_results` are those of the called agent; a delegation is a tool call.
    `messages` is the conversation including the answer, in the form that the next call takes.
    `resolved_versions` gives the version of every agent that the called one can reach, whether or not it was
    called this time; None means the agent as defined in code.
    """

    text: str
    finish_reason: str
    usage: Mapping[str, Any]
    steps: tuple[Step, ...]
    messages: tuple[Mapping[str, Any], ...]
    run_id: str
    resolved_versions: Mapping[str, str | None]
    rollouts: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """The run's arms of rollouts, by `agents` and `promptBlocks` and then by id."""
    warnings: tuple[Notice, ...]
    models: tuple[str, ...] = ()
    """The models that answered the called agent, by the names that they gave; not in the JSON form."""

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls of all steps: `{"toolCallId", "toolName", "args"}`."""
        return tuple(call for step in self.steps for call in step.tool_calls)

    @property
    def tool_results(self) -> tuple[Mapping[str, Any], ...]:
        """The tool results of all steps: `{"toolCallId", "toolName", "result"}`."""
        return tuple(result for step in self.steps for result in step.tool_results)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: camelCase names, JSON types only."""
        return {
            "text": self.text,
            "finishReason": self.finish_reason,
            "usage": dict(self.usage),
            "steps": [step.as_dict() for step in self.steps],
            "toolCalls": list(self.tool_calls),
            "toolResults": list(self.tool_results),
            "messages": [dict(message) for message in self.messages],
            "runId": self.run_id,
            "resolvedVersions": dict(self.resolved_versions),
            "rollouts": {subject: dict(rollout) for subject, rollout in self.rollouts.items()},
            "warnings": [notice_dict(notice) for notice in self.warnings],
        }


def notice_dict(notice: Notice) -> dict[str, Any]:
    data: dict[str, Any] = {"code": notice.code, "field": notice.field, "message": notice.message}
    return {**data, "placeholders": list(notice.placeholders)} if notice.placeholders else data


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
    """Yield the producer's events from a loop of another thread; it starts with the first `next()`.

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
        return self._await_ready().__await__()

    async def __anext__(self) -> Yielded:
        if self._closed:
            raise StopAsyncIteration
        return cast("Yielded", await anext(await self._ready()))

    async def aclose(self) -> None:
        """Cancel the run, and return once it has ended completely."""
        self._closed = True
        if self._events is not None:
            await self._events.aclose()

    async def _await_ready(self) -> Self:
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
