"""How much of something large a page shows. Pure.

A configuration of a megabyte can hold half a million lines or items. A page that showed them all would
be a hundred megabytes of HTML, which no browser opens and the server takes a minute to make. So every
page has room for so much; whoever shows something takes it from there, and says what found no room.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

MOST_NAMED: Final = 200
"""How many characters of a name, a title or a key a page shows."""
SHORT_LIST: Final = 50
"""How many of many notes, such as warnings, a page shows."""
MOST_MESSAGES: Final = 10
"""How many messages of one kind the next page shows: they travel with the session."""


@dataclass
class Room:
    """What a page still has room for. Escaped, a character is up to six bytes of HTML."""

    characters: int = 300_000
    lines: int = 3_000
    changes: int = 300
    """Differences inside of JSON, each with a heading of its own."""
    steps: int = 1_500_000
    """The work of aligning texts and lists: how many times two lines, words or items are compared."""
    left_out: int = field(default=0, init=False)
    """How many differences found no room."""

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be shown."""
        return self.lines <= 0 or self.characters <= 0

    def works(self, steps: int) -> bool:
        """Take steps for some work, and say whether it may be done."""
        self.steps -= steps
        return self.steps >= 0

    def fitting(self, text: str) -> str:
        """Return the text, or as much of its beginning as there is room for."""
        shown = text[: max(self.characters, 0)]
        self.characters -= len(shown)
        return shown


def shortened(text: str, most: int = MOST_NAMED) -> str:
    """Return a text for one line of a page; one that is too long ends in dots."""
    return text if len(text) <= most else f"{text[:most]}…"


def first_of(notes: list[str], most: int = SHORT_LIST) -> list[str]:
    """Return the first of many notes, and in the end how many more there are."""
    more = len(notes) - most
    return notes if more <= 0 else [*notes[:most], f"And {more} more."]
