"""The effects that flows yield: input and output, which only a driver performs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from editor_client.calls import Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Send:
    """To be done: send a request and return the `Answer`, or raise `NoAnswer`, by the deadline."""

    request: Request
    deadline: float
    etag: str | None = None
    while_closing: bool = False
    """Whether it is sent by a client that is being closed, too."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """To be done: wait; a client that is closed waits no longer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DiskWork:
    """To be done: call a function that uses the disk, and return what it returns."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class InBackground:
    """To be done: start a flow in the background and go on."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class Follow:
    """To be done: start the flow that goes on until the client is closed, unless it has been started."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class WaitFor:
    """To be done: wait until another caller has done something, or until the deadline."""

    future: Future[None]
    deadline: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    """To be done: open a stream of events by the deadline, or raise `NoAnswer`.

    The result is the stream, as the driver has it, or an `Answer` that is none.
    """

    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class ReadStream:
    """To be done: return the next bytes of a stream, none at its end, or raise `NoAnswer` at the deadline."""

    stream: Any
    """What the driver has returned for `OpenStream`."""
    deadline: float


@dataclass(frozen=True, slots=True)
class CloseStream:
    """To be done: close a stream."""

    stream: Any


Effect = Send | Sleep | DiskWork | InBackground | Follow | WaitFor | OpenStream | ReadStream | CloseStream
Flow = Generator[Effect, Any, T]


class NoAnswer(Exception):
    """There was no response, or only a part of one."""

    def __init__(self, reason: str, *, in_time: bool = True, sent: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.in_time = in_time
        """Whether the time did not run out."""
        self.sent = sent
        """Whether the server may have got the request."""


class ClientClosed(RuntimeError):
    """The client has been closed, so nothing can be sent."""
