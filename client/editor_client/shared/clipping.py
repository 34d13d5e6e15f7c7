"""Cut a text between the characters that people see, with nothing but the standard library. Pure.

The server cuts by Unicode's rules (`versioning.domain.graphemes`), which need tables that Python does not
have. These rules may go back a few characters more; they never cut within a character.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINERS: Final = "\u200c\u200d"
_LOOK_BACK: Final = 100
"""The longest cluster that stays whole."""


def clipped(text: str, limit: int) -> str:
    """Return the beginning of a text of at most this many code points; a longer cluster is cut."""
    if len(text) <= limit:
        return text
    for end in range(limit, max(0, limit - _LOOK_BACK), -1):
        if _are_apart(text[end - 1], text[end]):
            return text[:end]
    return text[:limit]


def _are_apart(before: str, after: str) -> bool:
    """Return whether a text may be cut between two of its characters."""
    if before.isascii() and after.isascii():
        return before + after != "\r\n"
    if unicodedata.category(before) in {"Cc", "Zl", "Zp"}:
        return True
    if before in _JOINERS or after in _JOINERS or _is_mark(after):
        return False
    # A virama joins consonants, and of two signs of a flag it would have to be counted which is the first.
    if unicodedata.combining(before) == 9 or (_is_of_flag(before) and _is_of_flag(after)):  # noqa: PLR2004
        return False
    return not (_is_extending(after) or _is_prepended(before) or (_is_jamo(before) and _is_jamo(after)))


def _is_mark(letter: str) -> bool:
    """Return whether it belongs to what precedes it; some vowels of Burmese are marks that stand alone."""
    return unicodedata.category(letter)[0] == "M" and letter not in "\u102b\u102c\u1038"


def _is_of_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


def _is_extending(letter: str) -> bool:
    """Return whether it is a colour of skin, a tag, or a vowel that other alphabets write as a mark."""
    is_emoji_part = "\U0001f3fb" <= letter <= "\U0001f3ff" or "\U000e0020" <= letter <= "\U000e007f"
    return is_emoji_part or letter in "\u0e33\u0eb3\uff9e\uff9f"


def _is_prepended(letter: str) -> bool:
    """Return whether it is a sign that belongs to what follows."""
    return (
        unicodedata.category(letter) == "Cf" or letter == "\u0d4e" or "\U000111c2" <= letter <= "\U000111c3"
    )


def _is_jamo(letter: str) -> bool:
    return "\u1100" <= letter <= "\u11ff" or "\ua960" <= letter <= "\ua97f" or "\uac00" <= letter <= "\ud7ff"
