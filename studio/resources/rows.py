"""The rows of the lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.safestring import SafeString

from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.resources.summaries import Summary
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.editor.bulk import MAX_CHOSEN, Choice
from versioning.editor.catalog import Entry, Overview, ResourceState

FIELD: Final = "chosen"
"""The checkbox of a list, with the version that it showed: `agent:team/writer:<version id>`."""


def value_of(kind: ResourceKind, resource_id: str, version_id: str) -> str:
    """Return the value of the checkbox for a resource."""
    return f"{kind.slug}:{resource_id}:{version_id}"


def etag_field(kind: ResourceKind, resource_id: str) -> str:
    """Return the name of the field in which a confirmation page sends the entity tag of a resource."""
    return f"tag:{kind.slug}:{resource_id}"


def chosen(given: QueryDict, field: str = FIELD) -> Sequence[Choice]:
    """Return the chosen resources in a field, without duplicates.

    Raises `Invalid`, which names the field, for more than `MAX_CHOSEN` resources and for other values.
    """
    values = given.getlist(field)
    if len(values) > MAX_CHOSEN:
        raise Invalid.field(field, Message("must not have more than {limit} items", limit=MAX_CHOSEN))
    choices = {}
    for place, value in enumerate(values):
        slug, _, rest = value.partition(":")
        resource_id, _, version_id = rest.rpartition(":")
        if slug not in KINDS_BY_SLUG or not resource_id or not version_id:
            raise Invalid.field(f"{field}.{place}", "must be a kind, an id and a version, joined by colons")
        kind = KINDS_BY_SLUG[slug]
        etag = given.get(etag_field(kind, resource_id))
        choices[slug, resource_id] = Choice(kind=kind, id=resource_id, version_id=version_id, etag=etag)
    return list(choices.values())


@dataclass(frozen=True, kw_only=True)
class Star:
    """The star of a resource for one person, for the tag `star_button`. The API calls it favorite."""

    address: str
    """The address to set and remove it."""
    is_set: bool


def stars_of(kind: StudioKind, resource_ids: Collection[str], caller: Caller) -> dict[str, Star]:
    """Return the stars of resources of one kind, by id, in one query."""
    found = kind.collection.favorites_about(resource_ids, by=caller) if resource_ids else {}
    return {
        resource_id: Star(address=kind.address("star", resource_id), is_set=favorited.by_caller)
        for resource_id, favorited in found.items()
    }


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
