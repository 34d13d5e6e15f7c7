"""The rows of the lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from studio.kinds import StudioKind
from studio.resources.chosen import value_of
from studio.resources.stars import Star
from studio.resources.summaries import Summary
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.editor.catalog import Entry, Overview, ResourceState


@dataclass(frozen=True, kw_only=True)
class Row:
    """A resource in a list."""

    summary: Summary
    address: str
    excerpt: str = ""
    """The beginning of its prompt."""
    labels: Sequence[str] = ()
    tags: Sequence[str] = ()
    shown: Snapshot | None = None
    """The newest version that the caller may read; None for an agent that only code defines."""
    live_address: str = ""
    """The address of the live version, if it is not the version shown."""
    chosen: str = ""
    """The value of its checkbox; empty if the caller may not change the resource."""
    star: Star | None = None
    notes: Sequence[SafeString] = ()
    """Applications' notes on it, next to its state."""

    @classmethod
    def of(
        cls,
        kind: StudioKind,
        entry: Entry,
        caller: Caller | None = None,
        star: Star | None = None,
        notes: Sequence[SafeString] = (),
    ) -> Row:
        """Return the row of a catalog entry; it can be chosen if the caller may change it."""
        live = entry.live_id if entry.state is ResourceState.CHANGED else None
        return cls(
            summary=Summary.of(entry),
            address=kind.address("change", entry.id),
            excerpt=entry.excerpt,
            labels=entry.labels,
            tags=entry.tags,
            shown=entry.version,
            live_address=kind.address("version", entry.id, live) if live else "",
            chosen=chosen_value(kind, entry, caller) if caller is not None else "",
            star=star,
            notes=notes,
        )


def chosen_value(kind: StudioKind, entry: Entry, caller: Caller) -> str:
    """Return the value of the checkbox of an entry; empty if the caller may not change it."""
    if entry.version is None or not caller.may(Right.SAVE, entry.workspace_id):
        return ""
    return value_of(kind, entry.id, entry.version.version_id)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a list that differ between rows: equal values need no column."""

    visibility: bool
    labels: bool
    tags: bool
    workspace: bool

    @classmethod
    def of(cls, known: Overview) -> Columns:
        """Return the columns whose values differ among the readable resources, on any page."""
        return cls(
            visibility=len(known.visibilities) > 1,
            labels=bool(known.labels),
            tags=bool(known.tags),
            workspace=len(known.workspaces) > 1,
        )
