"""Assembled instructions on a page: the text with marked placeholders, and the result for each block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from django.utils.translation import gettext_lazy as _
from editor_client.shared.instructions import Origin, Piece, placeholders

from studio.field_words import REASONS
from studio.limits import PageBudget
from studio.resources.rows import BlockOnPage
from versioning.editor import Explanation

MAX_BLOCKS: Final = 300
"""For how many blocks a preview shows the result."""
MAX_MARKS: Final = 2_000
"""The maximum number of marked placeholders; later ones are plain text."""
MAX_NAMES: Final = 50
"""The maximum number of names listed of each type."""

_SORTS: Final = {
    "text": _("Text"),
    "prompt_block": _("Text with conditions"),
    "prompt_block_ref": _("Prompt block"),
}
_ORIGINS: Final = (
    (Origin.MISSING, _("Missing")),
    (Origin.FALLBACK, _("Fallback")),
    (Origin.CONTEXT, _("Filled in")),
)


@dataclass(frozen=True, kw_only=True)
class PreviewedBlock:
    """A block as the page shows it."""

    position: int
    sort: str
    id: str | None
    why_not: str
    """Why it was left out; empty if it is shown."""
    used: BlockOnPage | None = None
    """The versions of the prompt block that it refers to, if the caller may read that."""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """The placeholders with the same type of result."""

    origin: str
    title: str
    names: Sequence[tuple[str, int]]
    """(path, how often), in the order of the text."""
    more: int
    """How many names were left out."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Assembled instructions as a page shows them."""

    pieces: Sequence[Piece]
    """The text in pieces that know their origin."""
    blocks: Sequence[PreviewedBlock]
    filled: Sequence[Filled]
    more_characters: int
    """How many characters were left out."""
    more_blocks: int
    has_unfilled: bool
    """Whether there are placeholders in instructions without blocks, where none is filled in."""

    @property
    def hidden(self) -> list[PreviewedBlock]:
        """The blocks that were left out."""
        return [block for block in self.blocks if block.why_not]

    @property
    def shown(self) -> list[PreviewedBlock]:
        """The blocks that are part of the text."""
        return [block for block in self.blocks if not block.why_not]

    @classmethod
    def of(cls, explanation: Explanation, used: Sequence[BlockOnPage] = ()) -> Preview:
        """Return the preview of assembled instructions, limited to what a page shows.

        `used` are the prompt blocks that it refers to.
        """
        known = {block.id: block for block in used}
        length = sum(len(piece.text) for piece in explanation.pieces)
        pieces = list(_shown(explanation.pieces))
        return cls(
            pieces=pieces,
            filled=list(_filled(explanation.pieces)),
            more_characters=length - sum(len(piece.text) for piece in pieces),
            more_blocks=len(explanation.blocks[MAX_BLOCKS:]),
            has_unfilled=not explanation.blocks and any(map(_has_placeholder, explanation.pieces)),
            blocks=[
                PreviewedBlock(
                    position=report.position + 1,
                    sort=str(_SORTS[report.type]),
                    id=report.id,
                    why_not=str(REASONS[report.reason]) if report.reason else "",
                    used=known.get(report.id or ""),
                )
                for report in explanation.blocks[:MAX_BLOCKS]
            ],
        )


def _has_placeholder(piece: Piece) -> bool:
    return next(placeholders(piece.text), None) is not None


def _shown(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces that fit on a page; unmarked text becomes a single piece."""
    budget = PageBudget()
    marks = 0
    plain: list[Piece] = []
    for piece in pieces:
        marks += piece.origin is not Origin.TEXT
        is_marked = piece.origin is not Origin.TEXT and marks <= MAX_MARKS
        plain.append(piece if is_marked else Piece(piece.text))
    for is_text, some in groupby(plain, lambda piece: piece.origin is Origin.TEXT):
        for piece in [Piece("".join(one.text for one in some))] if is_text else some:
            text = budget.take(piece.text)
            # An empty value is marked nevertheless.
            if text or not piece.text:
                yield Piece(text, piece.origin, piece.path)


def _filled(pieces: Sequence[Piece]) -> Iterator[Filled]:
    for origin, title in _ORIGINS:
        counted = Counter(piece.path for piece in pieces if piece.origin is origin)
        if counted:
            names = list(islice(counted.items(), MAX_NAMES))
            yield Filled(origin=origin.value, title=str(title), names=names, more=len(counted) - len(names))
