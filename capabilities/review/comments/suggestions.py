"""Suggested wordings in comments: the text of a fenced block `suggestion` would replace the quote. Pure.

The block, as in Markdown, is part of the comment's text, so the API and the client need nothing more for it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_OPENING: Final = re.compile(r"(`{3,})suggestion[ \t]*\Z")
_FENCES: Final = re.compile(r"`{3,}")


class Parts(NamedTuple):
    """The parts of a comment."""

    remark: str
    """The text around the block."""
    wording: str | None
    """The suggested wording; None if the comment has none."""


def parts_of(body: str) -> Parts:
    """Return the remark and the suggested wording of a comment; further blocks belong to the remark."""
    lines = body.split("\n")
    for number, line in enumerate(lines):
        opening = _OPENING.match(line)
        if opening is None:
            continue
        rest = lines[number + 1 :]
        closing = next((place for place, one in enumerate(rest) if one.rstrip(" \t") == opening[1]), None)
        if closing is None:
            break
        around = ["\n".join(part).strip("\n") for part in (lines[:number], rest[closing + 1 :])]
        return Parts("\n\n".join(filter(None, around)), "\n".join(rest[:closing]))
    return Parts(body, None)


def with_wording(remark: str, wording: str) -> str:
    """Return the text of a comment that suggests a wording."""
    fence = "`" * (max((len(one) for one in _FENCES.findall(wording)), default=2) + 1)
    return f"{remark}\n\n{fence}suggestion\n{wording}\n{fence}".lstrip("\n")


def replaced(text: str, start: int, quote: str, wording: str) -> str | None:
    """Return a text with a wording in place of the quote that begins at a position; None if it does not."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    match = re.compile(pattern).match(text, start)
    return None if match is None or not pattern else f"{text[:start]}{wording}{text[match.end() :]}"
