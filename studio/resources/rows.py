"""The rows of the lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.kinds import StudioKind
from studio.resources.summaries import Summary
from versioning.domain.snapshots import Snapshot
from versioning.editor.catalog import Entry


@dataclass(frozen=True, kw_only=True)
class Row:
    """A resource in a list."""

    summary: Summary
    address: str
    labels: Sequence[str] = ()
    shown: Snapshot | None = None
    """The newest version that the caller may read; None for an agent that only code defines."""

    @classmethod
    def of(cls, kind: StudioKind, entry: Entry) -> Row:
        """Return the row of an entry of the catalog."""
        return cls(
            summary=Summary.of(entry),
            address=kind.address("change", entry.id),
            labels=entry.labels,
            shown=entry.version,
        )
