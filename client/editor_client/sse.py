"""Server-sent events: from the bytes of a stream to the data of its events."""

from __future__ import annotations


class DataLines:
    """Reads a stream from chunks of any size; comments, which only keep it alive, are skipped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that this chunk completes; an event has one line of it."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        fields = (line.rstrip(b"\r").partition(b":") for line in lines)
        return [data for name, _, data in fields if name == b"data"]


class WholePositions:
    """Reads the stream of the log, and returns the events of one position together.

    Of those that share a position the last one alone has an `id`. What is published together shares one, and
    whoever acted on a part of it would serve a mixture.
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
            # A comment is sent when there is nothing else to send.
            if (name == b"data" and self._is_last) or (colon and not name):
                complete += self._held
                self._held, self._is_last = [], False
        return complete
