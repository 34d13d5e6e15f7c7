"""Limits on how much of a large value a page shows. Pure.

A configuration of a megabyte can have half a million lines or items. A page with all of them would be a
hundred megabytes of HTML, which no browser opens and the server takes a minute to generate. So every page has
a budget: everything shown is charged to it, and the rest is omitted and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from django.utils.translation import ngettext

from versioning.domain.texts import clip

MAX_NAME: Final = 200
"""The maximum length of a name, a title or a key on a page."""
MAX_NOTES: Final = 50
"""The maximum number of notes, such as warnings, on a page."""
MAX_MESSAGES: Final = 10
"""The maximum number of messages of one level: they are stored in the session."""


@dataclass
class PageBudget:
    """The remaining budget of a page. An escaped character is up to six bytes of HTML."""

    characters: int = 300_000
    lines: int = 3_000
    changes: int = 300
    """Differences inside JSON, each with its own heading."""
    steps: int = 1_500_000
    """The work of aligning texts and lists: how often two lines, words or items are compared."""
    left_out: int = field(default=0, init=False)

    @property
    def is_spent(self) -> bool:
        return self.lines <= 0 or self.characters <= 0

    def spend(self, steps: int) -> bool:
        """Charge the steps of some work; return whether it may be done."""
        self.steps -= steps
        return self.steps >= 0

    def take(self, text: str) -> str:
        """Charge a text; return it, or as much of its beginning as the budget allows."""
        fitting_text = text if len(text) <= self.characters else clip(text, max(self.characters, 0))
        self.characters -= len(fitting_text)
        return fitting_text


def shorten(text: str, limit: int = MAX_NAME) -> str:
    """Return a text truncated to one line, with an ellipsis if it is too long."""
    return text if len(text) <= limit else f"{clip(text, limit)}…"


def first_of(notes: list[str], limit: int = MAX_NOTES) -> list[str]:
    """Return the first of many notes, and the number of the others as the last one."""
    more = len(notes) - limit
    return (
        notes
        if more <= 0
        else [*notes[:limit], ngettext("And %(count)s more.", "And %(count)s more.", more) % {"count": more}]
    )
