"""Keys for comparing, finding and sorting texts of any language; classes of characters. Pure.

Databases fold case in their own ways: SQLite only for ASCII, PostgreSQL by its locale. So the rules are here,
and `versioning.models.text_keys` makes both databases follow them.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_ACCENTS: Final = dict.fromkeys(range(0x0300, 0x0370), None)
# Letters without a decomposition that are sorted as variants of others, and one with one that is not.
_SORTED_AS: Final = str.maketrans(
    {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ħ": "h",
        "\u0131": "i",
        "ł": "l",
        "ŧ": "t",
        "þ": "th",
    }
)
_BEFORE_LETTERS: Final = "\x02"
_END: Final = "\x01"


def caseless(text: str) -> str:
    """Return the key of a text for comparing and searching without regard to case.

    It is Unicode's canonical caseless form (definition D145), composed: full case folding of the decomposed
    text. Composed and decomposed spellings of a text have the same key, and so do `Straße` and `STRASSE`.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def collation_key(text: str) -> str:
    """Return the key by which people expect names to be sorted; compare keys by code points.

    Punctuation comes first, then digits and letters. Accents count only between names that are otherwise
    equal, and case only between names with the same accents. It approximates the Unicode collation
    algorithm, whose tables Python does not have.
    """
    if text.isascii():
        return f"{_sorted_first(text.lower())}{_END}{_END}{text.swapcase()}"
    folded = unicodedata.normalize("NFKD", caseless(text))
    letters = folded.replace("и\u0306", "й").translate(_ACCENTS).translate(_SORTED_AS)
    return f"{_sorted_first(letters)}{_END}{folded}{_END}{text.swapcase()}"


def _sorted_first(letters: str) -> str:
    """Return the text with a mark before each character that is sorted before letters and digits."""
    if letters.isalnum():
        return letters
    return "".join(
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else _BEFORE_LETTERS + letter
        for letter in letters
    )


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
