"""Events as server-sent events.

A client goes on after the last `id` that it has received. Entries that share a position are sent together
and the last of them alone has the `id`: whoever loses the connection between them gets all of them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from versioning.api.errors import error_body
from versioning.api.negotiation import CompactJSONRenderer
from versioning.api.schemas.events import EventAnswer
from versioning.domain.errors import VersioningError
from versioning.models import Event

COMMENT: Final = b": nothing new\n\n"
"""Keeps the connection alive."""


def last_words(error: VersioningError) -> bytes:
    """Return the event `error`, after which a stream ends; its data is the body of an error."""
    return b"event: error\ndata: %s\n\n" % CompactJSONRenderer().render(error_body(error))


class Frames:
    """The text of each event, made once for everybody who gets it."""

    def __init__(self) -> None:
        self._data: dict[int, bytes] = {}

    def of(self, events: Sequence[Event]) -> bytes:
        """Return the events, in order and with all that share a position, as they are sent."""
        return b"".join(self._frames(events))

    def _frames(self, events: Sequence[Event]) -> Iterable[bytes]:
        for position, together in groupby(events, key=attrgetter("position")):
            *others, last = together
            yield from map(self._text, others)
            yield b"id: %d\n" % position
            yield self._text(last)

    def _text(self, event: Event) -> bytes:
        text = self._data.get(event.pk)
        if text is None:
            # JSON has no line break in it, so the data is one line.
            text = b"data: %s\n\n" % CompactJSONRenderer().render(EventAnswer.dump(event))
            self._data[event.pk] = text
        return text
