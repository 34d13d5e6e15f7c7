"""Grapheme clusters: what people take for one character. Pure.

A letter with its combining marks, a syllable of Hangul or Devanagari, or an emoji sequence can be several
code points. A text is cut only between clusters, by the rules of Unicode (UAX #29) that `regex` implements.
"""

from __future__ import annotations

from typing import Final

import regex

_CLUSTER: Final = regex.compile(r"\X")
_LOOK_BACK: Final = 1_000
"""How far before a cut to look for the beginning of its cluster; longer clusters are cut."""


def clusters(text: str) -> list[str]:
    """Return the clusters of a text in order."""
    return list(text) if text.isascii() and "\r\n" not in text else _CLUSTER.findall(text)


def boundary_before(text: str, position: int) -> int:
    """Return the last boundary between clusters that is not behind a position."""
    if not 0 < position < len(text) or _is_boundary(text, position):
        return max(0, min(position, len(text)))
    start = position - 1
    while start > max(0, position - _LOOK_BACK) and not _is_boundary(text, start):
        start -= 1
    ends = (match.end() for match in _CLUSTER.finditer(text, start))
    before = start
    for end in ends:
        if end > position:
            break
        before = end
    return before


def boundary_after(text: str, position: int) -> int:
    """Return the first boundary between clusters that is not before a position."""
    before = boundary_before(text, position)
    if before >= min(position, len(text)):
        return before
    return next(_CLUSTER.finditer(text, before)).end()


def clipped(text: str, limit: int) -> str:
    """Return the beginning of a text of at most this many code points, cut between clusters.

    A cluster that is longer than the limit is cut.
    """
    if len(text) <= limit:
        return text
    return text[: boundary_before(text, limit) or limit]


def _is_boundary(text: str, position: int) -> bool:
    """Return whether two characters are surely apart, without looking at those around them."""
    before, after = text[position - 1], text[position]
    return _is_simple(before) and _is_simple(after) and before + after != "\r\n"


def _is_simple(character: str) -> bool:
    """Return whether it is Latin, Greek, Cyrillic or Chinese, and no mark: characters that nothing joins."""
    return character < "\u0300" or "\u0370" <= character < "\u0483" or "\u4e00" <= character < "\ua000"
