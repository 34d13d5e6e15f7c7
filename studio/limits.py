"""Limits on how much of something large a page shows. Pure.

A configuration of a megabyte can have half a million lines or items. A page with all of them would be a
hundred megabytes of HTML, which no browser opens and the server takes a minute to generate. So every page
has a budget: what is shown is charged to it, and what exceeds it is left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from django.utils.translation import ngettext

MAX_NAME: Final = 200
"""How many characters of a name, a title or a key a page shows."""
MAX_NOTES: Final = 50
"""How many of many notes, such as warnings, a page shows."""
MAX_MESSAGES: Final = 10
"""How many messages of one kind the next page shows: they travel with the session."""


@dataclass
class PageBudget:
    """How much a page may still show. An escaped character is up to six bytes of HTML."""

    characters: int = 300_000
    lines: int = 3_000
    changes: int = 300
    """Differences inside of JSON, each with a heading of its own."""
    steps: int = 1_500_000
    """The work of aligning texts and lists: how many times two lines, words or items are compared."""
    left_out: int = field(default=0, init=False)
    """How many differences were left out."""

    @property
    def is_spent(self) -> bool:
        """Whether nothing more can be shown."""
        return self.lines <= 0 or self.characters <= 0

    def spend(self, steps: int) -> bool:
        """Charge the steps of some work; return whether it may be done."""
        self.steps -= steps
        return self.steps >= 0

    def take(self, text: str) -> str:
        """Charge a text; return it, or as much of its beginning as may still be shown."""
        shown = text[: max(self.characters, 0)]
        self.characters -= len(shown)
        return shown


def shortened(text: str, limit: int = MAX_NAME) -> str:
    """Return a text for one line of a page; one that is too long ends in dots."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def first_of(notes: list[str], limit: int = MAX_NOTES) -> list[str]:
    """Return the first notes of many, and the number of the others as a last one."""
    more = len(notes) - limit
    return (
        notes
        if more <= 0
        else [*notes[:limit], ngettext("And %(count)s more.", "And %(count)s more.", more) % {"count": more}]
    )
