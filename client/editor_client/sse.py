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
