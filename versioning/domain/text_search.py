"""Search queries, and whether a text matches them. Pure.

Both databases and the texts in memory are searched for the same words, because words are split here:
databases split texts in their own ways, which depend on version and locale. A word is a run of letters and
digits, ignoring case and accents. In scripts that do not separate words, such as Chinese, each character is a
word. Punctuation only separates, so `{{ customer.name }}` is the two words `customer name`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Final

import regex

from versioning.domain import texts
from versioning.domain.texts import boundary_after, boundary_before

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
        unaccented = "".join(character for character in decomposed if ord(character) not in _ACCENTS)
        if len(self) >= _MAX_FOLDS:  # caches every character
            self.clear()
        self[code] = unicodedata.normalize("NFC", unaccented)
        return self[code]


FOLDS: Final = _Folds()


def fold(text: str) -> str:
    """Return a text without case and accents, composed; its length can change."""
    if text.isascii():
        return text.lower()
    # In one order first: a mark that is folded to a letter no longer changes places with other marks.
    ordered = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", ordered.translate(FOLDS))


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded, each truncated to `MAX_WORD` characters."""
    pattern = _PLAIN_WORDS if text.isascii() else _WORDS
    return [word[:MAX_WORD] for word in pattern.findall(fold(text))]


def word_line(text: str) -> str:
    """Return the words of a text in one line, each between two spaces; one space if there are none."""
    return f" {' '.join(tokens)} " if (tokens := words(text)) else " "


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
        terms = (_term(match) for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(term for term in terms if term is not None))

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
        parts = (match[0] if match[1] is None else match[1] for match in _QUOTED_OR_NOT.finditer(self.typed))
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))

    def is_in(self, lines: Iterable[str]) -> bool:
        """Return whether lines of words contain all the terms, each of them in one line."""
        lines = list(lines)
        return all(any(term.in_line in line for line in lines) for term in self.terms)


def _term(match: re.Match[str]) -> Term | None:
    """Return the term for a part of the query; None if it has no words.

    A quotation without an end is still being typed.
    """
    is_quoted = match[1] is not None
    term_words = tuple(words(match[1] if is_quoted else match[0]))
    if not term_words:
        return None
    goes_on = match[2] == "" if is_quoted else len(term_words[-1]) > 1
    return Term(term_words, begins=goes_on or len(term_words[-1]) == MAX_WORD)


LENGTH: Final = 200
"""The approximate length of an excerpt, in characters."""
_BEFORE: Final = 60
"""The maximum number of characters before the first hit."""
_PART: Final = 16_000
"""How much of a long text is searched at once: most hits are in the first part that has one."""
_IN_WORD: Final = rf"[[{IN_WORDS}]--[{UNSEPARATED}]]"
_BETWEEN: Final = rf"[^{IN_WORDS}]"


@dataclass(frozen=True)
class Piece:
    """A piece of a text, which may be a hit."""

    text: str
    is_hit: bool = False


@dataclass(frozen=True)
class _Hit:
    start: int
    end: int
    term: int


def mark_hits(text: str, query: TextQuery, *, inside: bool = False) -> list[Piece]:
    """Return a short text as pieces, with the hits marked."""
    return _pieces(text, _apart(list(_all_hits(text, _patterns(query, inside=inside)))))


def excerpt(text: str, query: TextQuery, *, inside: bool = False) -> list[Piece] | None:
    """Return the part of a text with most of the terms, in pieces; None if it has none of them."""
    patterns = _patterns(query, inside=inside)
    for start in range(0, len(text), _PART):
        # Two adjacent parts overlap, so that one of them contains every match completely.
        part = text[start : start + _PART + LENGTH]
        hits = list(_all_hits(part, patterns))
        if hits:
            hits = [_Hit(hit.start + start, hit.end + start, hit.term) for hit in hits]
            best = _richest(sorted(hits, key=lambda hit: hit.start))
            begin = max(0, best.start - _BEFORE)
            end = max(begin + LENGTH, best.end)
            visible = [hit for hit in hits if begin <= hit.start and hit.end <= end]
            return _cut_pieces(text, begin, end, _apart(visible))
    return None


def beginning(text: str) -> list[Piece]:
    """Return the beginning of a text as an excerpt without hits."""
    return _cut_pieces(text, 0, LENGTH, [])


def _richest(hits: list[_Hit]) -> _Hit:
    """Return the first of the hits, given in order, that most terms follow closely."""
    near: Counter[int] = Counter()
    best = first = hits[0]
    most = last = 0
    for hit in hits:
        while last < len(hits) and hits[last].start <= hit.start + LENGTH - _BEFORE:
            near[hits[last].term] += 1
            last += 1
        if len(near) > most:
            best = first = hit
            most = len(near)
        elif most == len(near) > 1 and hit.start < first.start + LENGTH:
            best = hit  # the same terms, closer to each other
        near[hit.term] -= 1
        if not near[hit.term]:
            del near[hit.term]
    return best


def _cut_pieces(text: str, start: int, end: int, hits: list[_Hit]) -> list[Piece]:
    """Return a part of a text in pieces, cut between words if there is a blank nearby."""
    first = hits[0].start if hits else start
    blank = text.find(" ", start, min(first, start + 20)) if start else -1
    start = boundary_after(text, blank + 1) if blank >= 0 else boundary_before(text, start)
    last = hits[-1].end if hits else start
    if end < len(text):
        blank = text.rfind(" ", max(last, end - 20), end)
        end = blank if blank >= 0 else max(last, boundary_before(text, end))
    pieces = _pieces(text[:end], hits, start)
    dots = Piece("…")
    return [*([dots] if start else []), *pieces, *([dots] if end < len(text) else [])]


def _pieces(text: str, hits: list[_Hit], start: int = 0) -> list[Piece]:
    pieces = []
    for hit in hits:
        pieces += [Piece(text[start : hit.start]), Piece(text[hit.start : hit.end], is_hit=True)]
        start = hit.end
    return [piece for piece in [*pieces, Piece(text[start:])] if piece.text]


def _apart(hits: list[_Hit]) -> list[_Hit]:
    """Return the hits in order, without those that begin inside another."""
    separate: list[_Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if not separate or hit.start >= separate[-1].end:
            separate.append(hit)
    return separate


def _patterns(query: TextQuery, *, inside: bool) -> list[regex.Pattern[str]]:
    if inside:
        return [regex.compile(regex.escape(letters)) for piece in query.pieces if (letters := fold(piece))]
    return [_pattern(term) for term in query.terms]


def _all_hits(text: str, patterns: list[regex.Pattern[str]]) -> Iterator[_Hit]:
    """Yield the hits of each pattern: whole characters, as people see them."""
    ends: list[int] = []
    starts: list[int] = []
    if text.isascii():
        searched = fold(text)
    else:  # a folded character may have another length: note where it ends, and where it begins in the text
        clusters = texts.clusters(text)
        parts = list(map(_fold_cluster, clusters))
        searched, ends = "".join(parts), list(accumulate(map(len, parts)))
        starts = [0, *accumulate(map(len, clusters))]
    for number, pattern in enumerate(patterns):
        for match in pattern.finditer(searched):
            start, end = match.span()
            if ends:
                start, end = starts[bisect_right(ends, start)], starts[bisect_right(ends, end - 1) + 1]
            yield _Hit(start, end, number)


_fold_cluster: Final = lru_cache(maxsize=2048)(fold)


@lru_cache(maxsize=256)
def _pattern(term: Term) -> regex.Pattern[str]:
    """Return the pattern for a term in a folded text."""
    parts = [regex.escape(term.words[0])]
    for before, word in zip(term.words, term.words[1:], strict=False):
        joined = "*+" if _is_unseparated(before[-1]) or _is_unseparated(word[0]) else "++"
        parts += [_BETWEEN + joined, regex.escape(word)]
    starts = "" if _is_unseparated(term.words[0][0]) else rf"(?<!{_IN_WORD})"
    last = term.words[-1]
    is_open = term.begins or _is_unseparated(last[0]) or len(last) == MAX_WORD
    return regex.compile(f"{starts}{''.join(parts)}{'' if is_open else f'(?!{_IN_WORD})'}", regex.VERSION1)


@lru_cache(maxsize=1024)
def _is_unseparated(character: str) -> bool:
    return regex.match(f"[{UNSEPARATED}]", character, regex.VERSION1) is not None
