"""All versions of a resource in chronological order, a page at a time: rows and commits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from editor_client.shared.text_keys import collation_key

from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot, title_of
from versioning.models import VersionedResource, VersionLabel
from versioning.models.accounts import name_of
from versioning.models.merging import merged_slice


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A version in the timeline."""

    version: Snapshot
    state: State
    labels: Sequence[VersionLabel] = ()
    previous: Snapshot | None = None
    """The previous version in time."""

    @property
    def title(self) -> str:
        """The title of the version."""
        return title_of(self.version)

    @property
    def is_live(self) -> bool:
        """Return whether this version is published."""
        return self.state is State.PUBLISHED


@dataclass
class Timeline:
    """The versions of a resource, newest first: those in rows and those in Git.

    Can be sliced like a list, for a paginator. The number of queries does not depend on the number of
    versions.
    """

    resource: VersionedResource
    stored: QuerySet[Any]
    """The versions that rows hold, newest first."""
    author: str | None = None
    """Only versions by this author, empty for the application; None for every author."""
    among: Collection[str] | None = None
    """Only the versions with these ids; None for all."""
    unstored: Sequence[Snapshot] = field(init=False)
    order: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        pointers = self.resource.pointers
        everything = pointers.from_git if pointers else ()
        # Numbers are chronological and indexed; commits have no such number.
        self.order = ("-created_at", "-number") if everything else ("-number",)
        self.unstored = [version for version in everything if self._has(version)]
        self.stored = self.stored.defer("config_json", "search_text")
        if self.author is not None:
            self.stored = self.stored.filter(
                **{name_of("author"): self.author} if self.author else {"author": None}
            )
        if self.among is not None:
            self.stored = self.stored.filter(
                pk__in=[resource for resource in self.among if _is_of_a_row(resource)]
            )

    @property
    def is_narrowed(self) -> bool:
        """Whether versions are left out, so that neighbours may be missing."""
        return self.author is not None or self.among is not None

    def _has(self, version: Snapshot) -> bool:
        is_theirs = self.author is None or (version.author_name or "") == self.author
        return is_theirs and (self.among is None or version.version_id in self.among)

    def __len__(self) -> int:
        return self.stored.count() + len(self.unstored)

    def __getitem__(self, part: slice) -> list[Entry]:
        """Return the entries of a slice; each has the version before it unless versions are left out."""
        start, stop = part.start or 0, part.stop
        found = merged_slice(self.stored, self.unstored, self.order, start, stop + 1)
        labels = labels_of(self.resource, found)
        following = [None] * len(found) if self.is_narrowed else [*found[1:], None]
        return [
            entry_of(self.resource, version, labels.get(version.version_id, ()), previous)
            for version, previous in zip(found, following, strict=True)
        ][: stop - start]


def oldest_of(resource: VersionedResource) -> str:
    """Return the id of the oldest version, whether a row or a commit; takes one query."""
    rows = resource.versions.order_by("number").values_list("pk", "created_at")[:1]
    candidates = [(created_at, str(pk)) for pk, created_at in rows]
    unstored = resource.pointers.from_git if resource.pointers else ()
    candidates += [(version.created_at, version.version_id) for version in unstored]
    return min(candidates, default=(None, ""))[1]


def authors_of(resource: VersionedResource) -> list[str]:
    """Return the names of everyone who saved a version, in order; empty for the application."""
    name = name_of("author")
    names: set[str] = {
        found or "" for found in resource.versions.order_by().values_list(name, flat=True).distinct()
    }
    unstored = resource.pointers.from_git if resource.pointers else ()
    return sorted(names | {version.author_name or "" for version in unstored}, key=collation_key)


def entry_of(
    resource: VersionedResource,
    version: Snapshot,
    labels: Sequence[VersionLabel],
    previous: Snapshot | None,
) -> Entry:
    """Return a version as an entry of the timeline."""
    return Entry(version=version, state=resource.state_of(version), labels=labels, previous=previous)


def labels_of(resource: VersionedResource, versions: Sequence[Snapshot]) -> dict[str, list[VersionLabel]]:
    """Return the labels that versions carry, by the id of the version."""
    ids = [version.version_id for version in versions if not version.read_only]
    found: dict[str, list[VersionLabel]] = {}
    for label in resource.labels.filter(version_id__in=ids):
        found.setdefault(str(label.version_id), []).append(label)
    return found


def previous_of(resource: VersionedResource, version: Snapshot) -> Snapshot | None:
    """Return the previous version in time, whether a row or a commit."""
    older = Q(created_at__lt=version.created_at)
    if not version.read_only:
        older = Q(number__lt=version.number)
    row: Snapshot | None = resource.versions.select_related("author").filter(older).first()
    unstored = resource.pointers.from_git if resource.pointers else ()
    candidates = [one for one in unstored if one.created_at < version.created_at]
    candidates += [row] if row else []
    return max(candidates, key=lambda one: one.created_at, default=None)


def _is_of_a_row(version_id: str) -> bool:
    try:
        UUID(version_id)
    except ValueError:
        return False
    return True
