"""Search queries, and whether a text matches them. Pure.

Both databases and the texts in memory are searched for the same words, because words are split here:
databases split texts in their own ways, which depend on version and locale. A word is a run of letters and
digits, ignoring case and accents. In scripts that do not separate words, such as Chinese, each character is a
word. Punctuation only separates, so `{{ customer.name }}` is the two words `customer name`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import regex

MAX_WORD: Final = 64
"""The significant length of a word in characters; longer words are equal if they begin the same."""

UNSEPARATED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""The scripts that do not separate words, as part of a `regex` character set."""
IN_WORDS: Final = r"\p{L}\p{N}\p{M}"
"""The characters of words, as part of such a set."""

_WORDS: Final = regex.compile(
    rf"[{UNSEPARATED}]\p{{M}}*+|[[{IN_WORDS}]--[{UNSEPARATED}]]++", flags=regex.VERSION1
)
_PLAIN_WORDS: Final = re.compile("[a-z0-9]+")
_QUOTED_OR_NOT: Final = re.compile(r'["“”„«»]([^"“”„«»]*)(["“”„«»]|$)|[^\s"“”„«»]+')
_ACCENTS: Final = range(0x0300, 0x0370)
_MAX_FOLDS: Final = 20_000


class _Folds(dict[int, str]):
    """Replacements for characters when case and accents are ignored, mostly of one character."""

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code).casefold()).casefold()
        kept = "".join(one for one in decomposed if ord(one) not in _ACCENTS)
        if len(self) >= _MAX_FOLDS:  # caches every character
            self.clear()
        self[code] = unicodedata.normalize("NFC", kept)
        return self[code]


FOLDS: Final = _Folds()


def folded(text: str) -> str:
    """Return a text without case and accents, composed; its length can change."""
    if text.isascii():
        return text.lower()
    # In one order first: a mark that is folded to a letter no longer changes places with other marks.
    ordered = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", ordered.translate(FOLDS))


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded, each truncated to `MAX_WORD` characters."""
    pattern = _PLAIN_WORDS if text.isascii() else _WORDS
    return [word[:MAX_WORD] for word in pattern.findall(folded(text))]


def word_line(text: str) -> str:
    """Return the words of a text in one line, each between two spaces; one space if there are none."""
    return f" {' '.join(found)} " if (found := words(text)) else " "


@dataclass(frozen=True)
class Term:
    """Consecutive words in a text."""

    words: tuple[str, ...]
    begins: bool
    """Whether the last word may be a prefix: `refund` finds `refunds`."""

    @property
    def in_line(self) -> str:
        """The text that a line of words contains if it has the term."""
        return f" {' '.join(self.words)}" if self.begins else f" {' '.join(self.words)} "


@dataclass(frozen=True)
class TextQuery:
    """A search query: a text must contain every term.

    Words in quotes must be consecutive, and so must the words of `order_id` or `customer.name`. Other words
    may occur anywhere and be prefixes, unless they have only one letter.
    """

    typed: str

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms, without duplicates; none if only punctuation was typed."""
        found = (_term(match) for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(term for term in found if term is not None))

    @cached_property
    def line(self) -> str:
        """The words of the query: a field with exactly these words equals the query."""
        return word_line(self.typed)

    @cached_property
    def beginning(self) -> str:
        """The beginning of the words of a field that begins with the query."""
        return self.line[:-1] if self.terms and self.terms[-1].begins else self.line

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The parts between blanks and quotes, including punctuation, for a search inside words."""
        found = (match[0] if match[1] is None else match[1] for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(part.strip() for part in found if part.strip()))

    def is_in(self, lines: Iterable[str]) -> bool:
        """Return whether lines of words contain all the terms, each of them in one line."""
        lines = list(lines)
        return all(any(term.in_line in line for line in lines) for term in self.terms)


def _term(match: re.Match[str]) -> Term | None:
    """Return the term for a part of the query; None if it has no words.

    A quotation without an end is still being typed.
    """
    is_quoted = match[1] is not None
    found = tuple(words(match[1] if is_quoted else match[0]))
    if not found:
        return None
    goes_on = match[2] == "" if is_quoted else len(found[-1]) > 1
    return Term(found, begins=goes_on or len(found[-1]) == MAX_WORD)
