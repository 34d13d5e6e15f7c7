"""Streams of server-sent events, from their bytes: the events of a run, and those of the log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from editor_client.calls import Request, Source
from editor_client.errors import ServerError, Unreachable, malformed
from editor_client.result import Result

_DONE = b"[DONE]"


class Event(Result):
    """An event of a run: `text-delta`, `tool-call`, `finish` and others."""

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    run_id: str | None = None

    @property
    def text(self) -> str:
        """The piece of the answer in a `text-delta`; empty for other events."""
        return str(self.payload.get("text", "")) if self.type == "text-delta" else ""


class Run(Source[Event]):
    """The events of a run, which begins when the first of them is requested."""

    def __init__(self, request: Request) -> None:
        self.request = request


class DataLines:
    """Reads a stream from chunks of any size; comments, which only keep it alive, are skipped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that this chunk completes; each event has one line of it."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        fields = (line.rstrip(b"\r").partition(b":") for line in lines)
        return [data for name, _, data in fields if name == b"data"]


class WholePositions:
    """Reads the stream of the log, and returns the events of one position together.

    Only the last event of a position has an `id`. Everything published together has the same position, and
    applying a part of it would serve a mixture.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._held: list[bytes] = []
        self._is_last = False
        self._is_error = False
        self.error: bytes | None = None
        """The data of the event `error`, after which the stream ends."""

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events whose positions this chunk completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        complete: list[bytes] = []
        for line in lines:
            name, colon, value = line.rstrip(b"\r").partition(b":")
            self._is_last = self._is_last or name == b"id"
            if name == b"event":
                self._is_error = value.strip() == b"error"
            elif name == b"data" and self._is_error:
                self.error = value
            elif name == b"data":
                self._held.append(value)
            # A comment is sent only if there are no events to send.
            if (name == b"data" and self._is_last) or (colon and not name):
                complete += self._held
                self._held, self._is_last = [], False
        return complete


class EventReader:
    """Reads a stream from chunks of any size."""

    def __init__(self) -> None:
        self.done = False
        self._lines = DataLines()

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events completed by this chunk; raises `ServerError` for one that reports a failure."""
        for data in self._lines.feed(piece):
            if not self.done:
                self.done = data.strip() == _DONE
                if not self.done:
                    yield _event(data)

    def end(self) -> None:
        """Finish the stream; raises `Unreachable` if it was not complete."""
        if not self.done:
            raise Unreachable("The stream broke off before its end.", code="stream_broken")


def _event(data: bytes) -> Event:
    try:
        event = Event.of(json.loads(data))
    except (ValueError, RecursionError):
        raise malformed("an event is not JSON") from None
    if event.type == "error":
        # The answer began with a success, so its status is meaningless here.
        sentence, code = event.payload.get("error"), event.payload.get("code")
        raise ServerError(str(sentence), status=200, code=str(code or "run_failed"), details=event.payload)
    return event
