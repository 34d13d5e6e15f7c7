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
    """Send a request and return the `Answer`, or raise `NoAnswer`, by the deadline."""

    request: Request
    deadline: float
    etag: str | None = None
    while_closing: bool = False
    """Whether it may be sent while the client is being closed."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait; closing the client ends the wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DiskWork:
    """Call a function that uses the disk, and return its result."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class InBackground:
    """Start a flow in the background and continue."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class Follow:
    """Start the flow that runs until the client is closed, unless it was already started."""

    flow: Flow[None]


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wait until another caller has finished something, or until the deadline."""

    future: Future[None]
    deadline: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    """Open a stream of events by the deadline, or raise `NoAnswer`.

    The result is the driver's stream, or an `Answer` that is not a stream.
    """

    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class ReadStream:
    """Return the next bytes of a stream, empty at its end, or raise `NoAnswer` at the deadline."""

    stream: Any
    """The driver's result for `OpenStream`."""
    deadline: float


@dataclass(frozen=True, slots=True)
class CloseStream:
    """Close a stream."""

    stream: Any


Effect = Send | Sleep | DiskWork | InBackground | Follow | WaitFor | OpenStream | ReadStream | CloseStream
Flow = Generator[Effect, Any, T]


class NoAnswer(Exception):
    """There was no response, or only a partial one."""

    def __init__(self, reason: str, *, in_time: bool = True, sent: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.in_time = in_time
        """Whether it failed before the time ran out."""
        self.sent = sent
        """Whether the server may have received the request."""


class ClientClosed(RuntimeError):
    """The client has been closed, so nothing can be sent."""
