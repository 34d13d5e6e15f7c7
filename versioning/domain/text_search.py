"""What people type to search for, and whether a text has it. Pure.

Both databases and the texts in memory are searched for the same words, because the words are found here:
databases divide texts in ways of their own, which depend on their version and locale. A word is a run of
letters and digits, without case and accents. Where words are not separated, as in Chinese, each character is
a word. Punctuation only separates, so `{{ customer.name }}` is the two words `customer name`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import regex

MAX_WORD: Final = 64
"""How many characters of a word are told apart; longer words are the same if they begin the same."""

UNSEPARATED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""The scripts that do not separate words, as part of a set of characters of `regex`."""
IN_WORDS: Final = r"\p{L}\p{N}\p{M}"
"""The characters of words, as such a part."""

_WORDS: Final = regex.compile(
    rf"[{UNSEPARATED}]\p{{M}}*+|[[{IN_WORDS}]--[{UNSEPARATED}]]++", flags=regex.VERSION1
)
_PLAIN_WORDS: Final = re.compile("[a-z0-9]+")
_QUOTED_OR_NOT: Final = re.compile(r'["“”„«»]([^"“”„«»]*)(["“”„«»]|$)|[^\s"“”„«»]+')
_ACCENTS: Final = range(0x0300, 0x0370)
_MAX_FOLDS: Final = 20_000


class _Folds(dict[int, str]):
    """What stands for a character when case and accents do not count: mostly one character."""

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code).casefold()).casefold()
        kept = "".join(one for one in decomposed if ord(one) not in _ACCENTS)
        if len(self) >= _MAX_FOLDS:  # all there are were saved
            self.clear()
        self[code] = unicodedata.normalize("NFC", kept)
        return self[code]


FOLDS: Final = _Folds()


def folded(text: str) -> str:
    """Return a text without case and accents; it can have another length."""
    return text.lower() if text.isascii() else text.translate(FOLDS)


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded, each of `MAX_WORD` characters at most."""
    pattern: Any = _PLAIN_WORDS if text.isascii() else _WORDS
    found: list[str] = pattern.findall(folded(text))
    return [word[:MAX_WORD] for word in found]


def word_line(text: str) -> str:
    """Return the words of a text in one line, each between two spaces; one space if there are none."""
    return f" {' '.join(found)} " if (found := words(text)) else " "


@dataclass(frozen=True)
class Term:
    """Words that follow each other in a text."""

    words: tuple[str, ...]
    begins: bool
    """Whether the last word may go on: `refund` finds `refunds`."""

    @property
    def in_line(self) -> str:
        """What a line of words has if it has the term."""
        return f" {' '.join(self.words)}" if self.begins else f" {' '.join(self.words)} "


@dataclass(frozen=True)
class TextQuery:
    """What to search for: every term of what was typed.

    Words in quotes follow each other, and so do the words of `order_id` or `customer.name`. Other words may
    stand anywhere, and a text may continue them, unless they have one letter only.
    """

    typed: str

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms, each once; none if nothing but punctuation was typed."""
        found = (_term(match) for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(term for term in found if term is not None))

    @cached_property
    def line(self) -> str:
        """The words of what was typed: a field that has these and no more is what was typed."""
        return word_line(self.typed)

    @cached_property
    def beginning(self) -> str:
        """How the words of a field begin that goes on after what was typed."""
        return self.line[:-1] if self.terms and self.terms[-1].begins else self.line

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What was typed between blanks and quotes, punctuation included, for a search inside of words."""
        found = (match[0] if match[1] is None else match[1] for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(part.strip() for part in found if part.strip()))

    def is_in(self, lines: Iterable[str]) -> bool:
        """Say whether lines of words have all the terms, each of them in one line."""
        lines = list(lines)
        return all(any(term.in_line in line for line in lines) for term in self.terms)


def _term(match: re.Match[str]) -> Term | None:
    """Return the term of a part of what was typed; None if it has no words.

    A quotation without an end is still being typed.
    """
    is_quoted = match[1] is not None
    found = tuple(words(match[1] if is_quoted else match[0]))
    if not found:
        return None
    goes_on = match[2] == "" if is_quoted else len(found[-1]) > 1
    return Term(found, begins=goes_on or len(found[-1]) == MAX_WORD)
