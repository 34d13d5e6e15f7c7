"""Events as server-sent events.

A client goes on after the last `id` that it has received. Entries that share a position are sent together
and the last of them alone has the `id`: whoever loses the connection between them gets all of them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from versioning.api.negotiation import CompactJSONRenderer
from versioning.api.schemas.events import EventAnswer
from versioning.models import Event

COMMENT: Final = b": nothing new\n\n"
"""Keeps the connection alive."""


class Frames:
    """The text of each event, made once for everybody who gets it."""

    def __init__(self) -> None:
        self._data: dict[int, bytes] = {}

    def of(self, events: Sequence[Event]) -> bytes:
        """Return the events, in order and with all that share a position, as they are sent."""
        return b"".join(self._frames(events))

    def _frames(self, events: Sequence[Event]) -> Iterable[bytes]:
        for event, following in zip(events, (*events[1:], None), strict=True):
            if following is None or following.position != event.position:
                yield b"id: %d\n" % event.position
            yield self._text(event)

    def _text(self, event: Event) -> bytes:
        text = self._data.get(event.pk)
        if text is None:
            # JSON has no line break in it, so the data is one line.
            text = b"data: %s\n\n" % CompactJSONRenderer().render(EventAnswer.dump(event))
            self._data[event.pk] = text
        return text
