"""Listening to `GET /events/stream` of a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from threading import Event, Thread
from typing import Any

from tests.support.remote import RemoteApi, streaming
from tests.support.service import Service

GENEROUS = 30
"""Seconds that a busy machine is given for what takes less than one."""


@dataclass
class EventStream:
    """An open stream; a thread records its events."""

    response: HTTPResponse
    frames: list[str] = field(default_factory=list)
    """What came between blank lines."""
    ended: Event = field(default_factory=Event)
    """Set when the server has ended the stream."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events so far."""
        return [json.loads(data) for data in self._lines("data: ")]

    @property
    def types(self) -> list[str]:
        """The types of the events so far."""
        return [event["type"] for event in self.events]

    @property
    def ids(self) -> list[str]:
        """Every `id` so far."""
        return self._lines("id: ")

    def wait(self, condition: Callable[[EventStream], object]) -> None:
        """Wait until the stream has reached a position."""
        until(lambda: condition(self), self)

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait until this many events have arrived; return them."""
        self.wait(lambda stream: len(stream.events) >= count)
        return self.events

    def take_down(self) -> None:
        """Record the events, until the stream ends."""
        lines: list[str] = []
        try:
            for line in iter(self.response.readline, b""):
                if line == b"\n":
                    self.frames.append("\n".join(lines))
                    lines = []
                else:
                    lines.append(line.decode().removesuffix("\n"))
            assert not lines
            self.ended.set()
        except (OSError, ValueError, AttributeError):
            return  # the test has closed the connection

    def _lines(self, begin: str) -> list[str]:
        lines = (line for frame in list(self.frames) for line in frame.split("\n"))
        return [line.removeprefix(begin) for line in lines if line.startswith(begin)]


def until(condition: Callable[[], object], shown: object = None, every: float = 0.02) -> None:
    """Wait until a condition holds, which is asked about after so many seconds each time."""
    deadline = time.monotonic() + GENEROUS
    while not condition():
        assert time.monotonic() < deadline, shown
        time.sleep(every)


@contextmanager
def open_stream(
    service: Service, key: str | None = None, *, cookie: str = "", last_event_id: object = None, **query: Any
) -> Iterator[EventStream]:
    """Open a stream on a separate connection: for the service's admin, another key, or a session."""
    api = RemoteApi("" if cookie else key or service.key, address=service.url.removeprefix("http://"))
    headers = {"cookie": cookie} if cookie else {}
    if last_event_id is not None:
        headers["last_event_id"] = str(last_event_id)
    request = api.prepare("GET", "/events/stream", query=query, **headers)
    with streaming(api.address, *request) as response:
        stream = EventStream(response)
        Thread(target=stream.take_down, daemon=True).start()
        stream.wait(lambda stream: stream.frames)  # the first comment
        yield stream
