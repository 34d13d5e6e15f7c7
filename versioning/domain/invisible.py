"""Characters that a reader does not see and a model reads. Pure.

A reviewer sees a text without them: the block of tags repeats ASCII invisibly, other characters change the
direction of what follows, and any two that nobody sees spell a message. Those that scripts and emoji need are
not among them: a joiner beside a letter of a script that joins, or between emoji; selectors after an emoji or
an ideograph; the tags of the flags that exist; soft hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import regex

_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) for name in ("gbeng", "gbsct", "gbwls")
)
_SCRIPTS: Final = (
    "Adlam Arabic Balinese Bengali Brahmi Chakma Devanagari Grantha Gujarati Gurmukhi "
    "Hanifi_Rohingya Javanese Kaithi Kannada Khmer Malayalam Mandaic Manichaean Modi Mongolian "
    "Myanmar Newa Nko Oriya Phags_Pa Sinhala Sogdian Sundanese Syriac Tai_Tham Tamil Telugu Tibetan "
    "Tirhuta"
)
_JOINING: Final = (
    "".join(rf"\p{{Script={name}}}" for name in _SCRIPTS.split(" ")) + r"\u064B-\u0655\u0670\u0951-\u0954"
)
"""Scripts that write with joiners, and the marks that several of them share."""
_IGNORED: Final = (
    r"\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F"
    r"\uFEFF\uFFA0\uFFF0-\uFFF8\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF"
)
"""What Unicode calls default ignorable, except for soft hyphens."""
_CONTROLS: Final = r"\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u2028\u2029\uFFF9-\uFFFB"
# Every alternative begins with the character itself, so that the engine looks at nothing else.
_VISIBLE: Final = (
    rf"\U0001F3F4(?:{_FLAGS})\U000E007F",
    r"[\uFE0E\uFE0F](?<=(?:[\p{Emoji}\u20E3]|\p{Emoji}\p{Emoji_Modifier}).)",
    r"[\uFE00-\uFE02\U000E0100-\U000E01EF](?<=[\p{Unified_Ideograph}\p{Script=Han}].)",
    r"\u200D(?<=[\p{Emoji}\p{Emoji_Modifier}\uFE0F\u20E3].)(?=\p{Emoji})",
    rf"[\u200C\u200D](?:(?<=[{_JOINING}].)(?![\u200C\u200D])|(?<![\u200C\u200D].)(?=[{_JOINING}]))",
    r"[\u180B-\u180F](?<=\p{Script=Mongolian}.)",
    r"[\u115F\u1160](?:(?<=\p{Script=Hangul}.)|(?=\p{Script=Hangul}))",
)
"""Those of the characters below that scripts, emoji and flags need."""
_INVISIBLE: Final = rf"(?:[{_IGNORED}{_CONTROLS}]|\r(?!\n))+"
_RUN: Final = regex.compile(
    "|".join([*(f"{one}(*SKIP)(*FAIL)" for one in _VISIBLE), _INVISIBLE]), regex.DOTALL
)
_CANDIDATE: Final = re.compile(rf"[{_IGNORED}{_CONTROLS}\r]")
_CANDIDATE_IN_JSON: Final = re.compile(rf"[{_IGNORED}{_CONTROLS}]|\\[bfru]")


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


def script_pattern() -> str:
    """Return the rule as a regular expression of JavaScript, with the flags `gsu`.

    It matches what is visible, too; invisible characters are in the group `run`.
    """
    whole = "|".join([*_VISIBLE, f"(?<run>{_INVISIBLE})"])
    whole = re.sub(r"[^\x00-\x7F]", lambda one: f"\\U{ord(one[0]):08X}", whole)
    return re.sub(r"\\U000?([0-9A-F]{5})", r"\\u{\1}", whole)


def invisible_runs(text: str) -> Iterator[InvisibleRun]:
    """Yield the runs of invisible characters in a text."""
    if _CANDIDATE.search(text) is None:
        return
    for match in _RUN.finditer(text):
        yield InvisibleRun(match.start(), match[0])


def may_have_invisible_runs(text: str) -> bool:
    """Return False if `invisible_runs_in` yields nothing for the value with this canonical JSON text."""
    return _CANDIDATE_IN_JSON.search(text) is not None


def invisible_runs_in(value: Any, field: str = "") -> Iterator[tuple[str, InvisibleRun]]:
    """Yield the runs in all texts and names of a JSON value, each with the dotted path of its text."""
    if isinstance(value, str):
        for run in invisible_runs(value):
            yield field, run
    elif isinstance(value, Mapping | list):
        for name, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            place = f"{field}.{name}" if field else str(name)
            if isinstance(name, str):
                for run in invisible_runs(name):
                    yield place, run
            yield from invisible_runs_in(member, place)
