"""The effects that flows yield: input and output, which only a driver performs."""

from __future__ import annotations

from collections.abc import Callable, Generator
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


@dataclass(frozen=True, slots=True)
class Sleep:
    """To be done: wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DiskWork:
    """To be done: call a function that uses the disk, and return what it returns."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class InBackground:
    """To be done: start a flow in the background and go on."""

    flow: Flow[None]


Effect = Send | Sleep | DiskWork | InBackground
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
