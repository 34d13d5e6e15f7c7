r"""Letters of words in all scripts. Pure.

`\w` of `re` knows no combining marks, without which words in Hindi, Thai and pointed Arabic fall apart.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_JOINERS: Final = "\u200c\u200d"


def is_word(character: str) -> bool:
    """Return whether a character is part of a word: a letter, digit, underscore, or mark on a letter."""
    if character.isalnum() or character == "_":
        return True
    return not character.isascii() and (character in _JOINERS or unicodedata.category(character)[0] == "M")


def is_name(text: str, between: str = "") -> bool:
    """Return whether a text begins with a letter or an underscore and goes on with words.

    `between` are further characters that it may have after the first one.
    """
    if not text or not (text[0].isalpha() or text[0] == "_"):
        return False
    return all(character in between or is_word(character) for character in text)
