"""Characters that a reader does not see and a model reads. Pure.

A reviewer sees a text without them: the block of tags repeats ASCII invisibly, and other characters change
the direction of what follows. Those that scripts and emoji need are not among them: joiners, selectors after
an emoji or an ideograph, the tags of the flags that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import regex

_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls")
)
_RUN: Final = regex.compile(
    rf"\U0001F3F4(?:{_FLAGS})\U000E007F(*SKIP)(*FAIL)"
    r"|(?<=[\p{Emoji}\u20E3]|\p{Emoji}\p{Emoji_Modifier})[\uFE0E\uFE0F](*SKIP)(*FAIL)"
    r"|(?<=\p{Unified_Ideograph}|\p{Script=Han})[\uFE00-\uFE02\U000E0100-\U000E01EF](*SKIP)(*FAIL)"
    r"|(?:[\U000E0000-\U000E007F\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF"
    r"\uFE00-\uFE0F\U000E0100-\U000E01EF]|\r(?!\n))+"
)


class InvisibleRun(NamedTuple):
    """Consecutive invisible characters."""

    position: int
    """The number of characters before it."""
    text: str

    @property
    def code_point(self) -> str:
        """The first of the characters, such as `U+E0041`."""
        return code_point(self.text[0])


def code_point(character: str) -> str:
    """Return the name of a character by its number, such as `U+200B`."""
    return f"U+{ord(character):04X}"


def invisible_runs(text: str) -> Iterator[InvisibleRun]:
    """Yield the runs of invisible characters in a text."""
    if text.isascii() and "\r" not in text:
        return
    for match in _RUN.finditer(text):
        yield InvisibleRun(match.start(), match[0])


def invisible_runs_in(value: Any, field: str = "") -> Iterator[tuple[str, InvisibleRun]]:
    """Yield the runs in all texts of a JSON value, each with the dotted path of its text."""
    if isinstance(value, str):
        for run in invisible_runs(value):
            yield field, run
    elif isinstance(value, Mapping | list):
        for name, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from invisible_runs_in(member, f"{field}.{name}" if field else str(name))
