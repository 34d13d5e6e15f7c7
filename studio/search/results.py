"""Search results, as the search page and the suggestions show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlencode

from studio.kinds import StudioKind
from studio.resources.rows import Summary
from versioning.domain.excerpts import Piece
from versioning.domain.snapshots import Snapshot
from versioning.editor.catalog import Hit

MAX_SPAN: Final = 80
"""Up to so many characters, a result's link covers everything from its first hit to its last."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A hit with the address of the page that shows it."""

    kind: StudioKind
    summary: Summary
    name: Sequence[Piece]
    id: Sequence[Piece]
    excerpt: Sequence[Piece]
    address: str
    is_in_live_only: bool
    """Whether only the live version matches, not the draft on the edit page."""
    is_taken_back: bool
    """Whether only a version matches that was taken back."""

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Return a hit of the catalog."""
        kind = StudioKind.of(hit.kind)
        older = _older_version(hit)
        page = kind.address("change", hit.entry.id)
        if older is not None:
            page = kind.address("version", hit.entry.id, older.version_id)
        found = text_to_find(hit.excerpt)
        return cls(
            kind=kind,
            summary=Summary.of(hit.entry),
            name=hit.name,
            id=hit.id,
            excerpt=hit.excerpt,
            address=f"{page}?{urlencode({'find': found})}" if found else page,
            is_in_live_only=older is not None and older.version_id == hit.entry.live_id,
            is_taken_back=older is not None and older.version_id != hit.entry.live_id,
        )

    @property
    def shows_id(self) -> bool:
        """Whether only the id matches."""
        return not any(piece.is_hit for piece in (*self.name, *self.excerpt))


def _older_version(hit: Hit) -> Snapshot | None:
    """Return the version of a hit unless it is the newest, which the resource's page shows."""
    newest, found_in = hit.entry.version, hit.version
    is_shown = found_in is None or (newest is not None and found_in.version_id == newest.version_id)
    return None if is_shown else found_in


def text_to_find(excerpt: Sequence[Piece]) -> str:
    """Return the matched text in the prompt for `find.js`; empty without a hit."""
    hits = [number for number, piece in enumerate(excerpt) if piece.is_hit]
    if not hits:
        return ""
    span = "".join(piece.text for piece in excerpt[hits[0] : hits[-1] + 1])
    return span if len(span) <= MAX_SPAN else max((excerpt[hit].text for hit in hits), key=len)
