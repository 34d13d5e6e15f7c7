"""The filters of a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from versioning.editor.catalog import criteria
from versioning.editor.catalog.criteria import Criterion, Unstored, Viewer
from versioning.editor.catalog.entries import ResourceState
from versioning.models.querysets import VersionedQuerySet


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The criteria of a search; a member that is empty does not filter."""

    text: str = ""
    workspace: str = ""
    state: ResourceState | None = None
    not_live: bool = False
    """Only what is not live, whether it ever was or not."""
    author: str = ""
    """Who saved the newest version that the caller may read."""
    label: str = ""
    tags: Sequence[str] = ()
    """All of these, of which none is named twice."""
    visibility: str = ""
    folder: str = ""
    waiting: bool = False
    """Only what waits to be published in a workspace where the caller may save."""
    labelled: bool = False
    """Only what has a label that the caller may read."""
    starred: bool = False
    """Only the caller's favorites."""

    def narrow(self, resources: VersionedQuerySet[Any], viewer: Viewer) -> QuerySet[Any]:
        """Return the rows that match; content that the viewer may not read never matches."""
        rows: QuerySet[Any] = resources
        for criterion, value in self._given:
            rows = criterion.narrow(rows, value, viewer)
        return rows

    def matches(self, found: Unstored, viewer: Viewer) -> bool:
        """Say whether a code-defined agent matches."""
        return all(criterion.holds(found, value, viewer) for criterion, value in self._given)

    @property
    def _given(self) -> Iterator[tuple[Criterion[Any], Any]]:
        members: list[tuple[Criterion[Any], Any]] = [
            (criteria.WORKSPACE, self.workspace),
            (criteria.VISIBILITY, self.visibility),
            (criteria.FOLDER, self.folder),
            (criteria.SAVED_BY, self.author),
            (criteria.LABEL, self.label),
            (criteria.TAGS, self.tags),
            (criteria.WAITING, self.waiting),
            (criteria.LABELLED, self.labelled),
            (criteria.FAVORITE, self.starred),
            (criteria.STATE, self.state),
            (criteria.NOT_LIVE, self.not_live),
            (criteria.TEXT, self.text),
        ]
        return ((criterion, value) for criterion, value in members if value)
