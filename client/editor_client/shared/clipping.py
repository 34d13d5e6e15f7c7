"""Cut a text between visible characters, and shorten values for messages. Pure.

The server cuts by Unicode's rules (`versioning.domain.texts`), which need tables that Python does not have.
The rules here need only the standard library. They may go back a few characters more; they never cut within a
character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

_NON_JOINER: Final = "\u200c"
_JOINERS: Final = _NON_JOINER + "\u200d"
_LOOK_BACK: Final = 100
"""The longest cluster that stays whole."""


def clip(text: str, limit: int) -> str:
    """Return the beginning of a text of at most this many code points; a longer cluster is cut."""
    if len(text) <= limit:
        return text
    for end in range(limit, max(0, limit - _LOOK_BACK), -1):
        if _are_apart(text, end):
            return text[:end]
    return text[:limit]


def _are_apart(text: str, position: int) -> bool:
    """Return whether a text may be cut at a position within it."""
    before, after = text[position - 1], text[position]
    if before.isascii() and after.isascii():
        return before + after != "\r\n"
    if unicodedata.category(before) in {"Cc", "Zl", "Zp"}:
        return True
    if before == "\u200d" or after in _JOINERS:
        return False
    if unicodedata.category(after)[0] == "M" and after not in "\u102b\u102c\u1038":
        return False  # a mark, unlike some Burmese vowels
    if before == _NON_JOINER:
        return not _is_extending(after)
    if unicodedata.combining(before) == 9:  # a virama joins consonants
        return False
    if _is_of_flag(before) and _is_of_flag(after):  # two of these signs are one flag
        start = position
        while start and _is_of_flag(text[start - 1]):
            start -= 1
        return (position - start) % 2 == 0
    return not (_is_extending(after) or _is_prepended(before) or _are_one_syllable(before, after))


def _is_extending(letter: str) -> bool:
    """Return whether it is a skin tone, a tag, or a vowel that other alphabets write as a mark."""
    is_emoji_part = "\U0001f3fb" <= letter <= "\U0001f3ff" or "\U000e0020" <= letter <= "\U000e007f"
    return is_emoji_part or letter in "\u0e33\u0eb3\uff9e\uff9f"


def _is_prepended(letter: str) -> bool:
    """Return whether it is a sign that belongs to the following character."""
    return (
        unicodedata.category(letter) == "Cf" or letter == "\u0d4e" or "\U000111c2" <= letter <= "\U000111c3"
    )


def _is_of_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _are_one_syllable(before: str, after: str) -> bool:
    """Return whether two letters of Hangul are in one syllable: leading consonants, vowels, trailing ones."""
    is_open = "\uac00" <= before <= "\ud7a3" and (ord(before) - 0xAC00) % 28 == 0
    if _is_leading(before):
        return _is_leading(after) or _is_vowel(after) or "\uac00" <= after <= "\ud7a3"
    if _is_vowel(before) or is_open:
        return _is_vowel(after) or _is_trailing(after)
    return (_is_trailing(before) or "\uac00" <= before <= "\ud7a3") and _is_trailing(after)


def _is_leading(letter: str) -> bool:
    return "\u1100" <= letter <= "\u115f" or "\ua960" <= letter <= "\ua97c"


def _is_vowel(letter: str) -> bool:
    return "\u1160" <= letter <= "\u11a7" or "\ud7b0" <= letter <= "\ud7c6"


def _is_trailing(letter: str) -> bool:
    return "\u11a8" <= letter <= "\u11ff" or "\ud7cb" <= letter <= "\ud7fb"


_SHOWN: Final = 60  # characters of a value in a message


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if len(self) <= _SHOWN else f"{clip(self, _SHOWN)!r}…"


class _List(list[Any]):
    def __repr__(self) -> str:
        return f"a list of {len(self)}"


class _Object(dict[str, Any]):
    def __repr__(self) -> str:
        return f"an object of {len(self)}"


def brief(value: Any) -> Any:
    """Return an equal value whose text form is short; anything that is not JSON is returned unchanged."""
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, Mapping):
        return _Object((brief(name), brief(member)) for name, member in value.items())
    if isinstance(value, list | tuple):
        return _List(map(brief, value))
    return value
