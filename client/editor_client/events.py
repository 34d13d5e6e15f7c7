"""Server-sent events: from the bytes of a stream to the events of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator

from editor_client.errors import ServerError, Unreachable, malformed
from editor_client.served import Event

_DONE = b"[DONE]"


class EventReader:
    """Reads a stream from chunks of any size; comments, which only keep it alive, are skipped."""

    def __init__(self) -> None:
        self.done = False
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events completed by this chunk; raises `ServerError` for one that reports a failure."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            name, _, data = line.rstrip(b"\r").partition(b":")
            if name == b"data" and not self.done:
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
