"""The events of a run, from the bytes of its stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from editor_client.errors import ServerError, Unreachable, malformed
from editor_client.served import Event
from editor_client.sse import DataLines

_DONE = b"[DONE]"


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
        # The answer began well, so its status says nothing any more.
        sentence, code = event.payload.get("error"), event.payload.get("code")
        raise ServerError(str(sentence), status=200, code=str(code or "run_failed"), details=event.payload)
    return event
