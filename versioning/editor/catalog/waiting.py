"""The drafts waiting to be published, of several kinds in one list."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from django.db.models import Count, F, Q, QuerySet, Value

from versioning.domain.access import Right
from versioning.editor.catalog import criteria
from versioning.editor.catalog.catalog import Catalog
from versioning.editor.catalog.entries import Entry
from versioning.models import VersionedResource
from versioning.serving.answer_cache import AnswerCache

_MAX_VERSIONS: Final = 2000
"""How many versions are read to find the changed fields."""


class Ownership(StrEnum):
    """Who saved the newest version."""

    ALL = "all"
    MINE = "mine"
    OTHERS = "others"


@dataclass(frozen=True, kw_only=True)
class PendingItem:
    """A resource with a draft waiting to be published, as a list shows it."""

    catalog: Catalog
    resource: VersionedResource
    entry: Entry


class Waiting(Sequence[PendingItem]):
    """The drafts waiting in workspaces where the caller may save, newest first; can be sliced like a list.

    `catalogs` are one caller's catalogs, one for each kind. With a `cache`, the rows are counted and sorted
    again only after a change: with 20 000 resources that takes longer than the rest of a page.
    """

    def __init__(
        self, catalogs: Sequence[Catalog], whose: Ownership = Ownership.ALL, cache: AnswerCache | None = None
    ) -> None:
        self._cache = cache
        self._catalogs = catalogs
        self._caller = catalogs[0].caller
        self._whose = whose
        self._unstored = [
            (place, draft)
            for place, catalog in enumerate(catalogs)
            for draft in catalog.collection.list_unstored(by=self._caller)
            if draft.waits and self._caller.may(Right.SAVE, draft.workspace_id)
        ]

    @cached_property
    def counts(self) -> dict[Ownership, int]:
        """Return the number of pending drafts by author group, in one query for each kind."""
        counts = self._get_or_make(("counts",), self._count_by_kind)
        mine = sum(own for _, own in counts) + len(self._find_unstored(Ownership.MINE))
        everything = sum(count for count, _ in counts) + len(self._unstored)
        return {Ownership.ALL: everything, Ownership.MINE: mine, Ownership.OTHERS: everything - mine}

    def __len__(self) -> int:
        return self.counts[self._whose]

    def __getitem__(self, part: Any) -> Any:
        """Return the waiting drafts of a slice, in one query plus one for each kind in it."""
        keys = self.keys(part.start or 0, part.stop)
        items = {
            (catalog.collection.kind.slug, resource.pk): PendingItem(
                catalog=catalog, resource=resource, entry=entry
            )
            for catalog in self._catalogs
            for resource, entry in catalog.some(
                [pk for slug, pk in keys if slug == catalog.collection.kind.slug]
            )
        }
        return [items[key] for key in keys if key in items]

    def keys(self, start: int, stop: int) -> list[tuple[str, str]]:
        """Return the kinds (`agent`) and ids of a slice, in one query."""
        unstored = self._find_unstored(self._whose)
        # Files and code can precede the slice, so its rows begin at most that much earlier.
        first = max(0, start - len(unstored))
        stored = self._get_or_make(
            ("places", self._whose.value, first, stop),
            lambda: [(place, pk, at.isoformat()) for place, pk, at in self._places()[first:stop]],
        )
        places = [(place, pk, datetime.datetime.fromisoformat(at)) for place, pk, at in stored]
        places += [(place, draft.pk, draft.updated_at) for place, draft in unstored]
        places.sort(key=lambda item: item[1])
        places.sort(key=lambda item: item[2], reverse=True)
        slugs = [catalog.collection.kind.slug for catalog in self._catalogs]
        return [(slugs[place], pk) for place, pk, _ in places[start - first : stop - first]]

    def _count_by_kind(self) -> list[tuple[int, int]]:
        """Return the number of rows of each kind, and how many of them the caller saved."""
        own = Count("pk", filter=Q(latest_version__author_id=self._caller.user_id))
        counts = [self._rows(catalog).aggregate(all=Count("pk"), own=own) for catalog in self._catalogs]
        return [(count["all"], count["own"]) for count in counts]

    def _get_or_make(self, about: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return plain values about the rows, made or cached until a resource changes."""
        if self._cache is None:
            return make()
        slugs = [catalog.collection.kind.slug for catalog in self._catalogs]
        code = (tuple(catalog.collection.code.agents) for catalog in self._catalogs)
        key = ("waiting", *about, *slugs, *code, self._caller.user_id, self._caller.rights)
        first, *more = ((slug, None) for slug in slugs)
        return self._cache.get_or_make(key, first, make, *more)

    def _rows(self, catalog: Catalog) -> QuerySet[Any]:
        rows = criteria.WAITING.narrow(catalog.rows, True, catalog.viewer)  # noqa: FBT003  as any criterion
        return rows.select_related(None).order_by()

    def _places(self) -> QuerySet[Any, Any]:
        mine = Q(latest_version__author_id=self._caller.user_id)
        others = ~mine | Q(latest_version__author_id__isnull=True)
        narrow = {Ownership.ALL: Q(), Ownership.MINE: mine, Ownership.OTHERS: others}[self._whose]
        first, *more = (
            self._rows(catalog).filter(narrow).values_list(Value(place), "pk", "updated_at")
            for place, catalog in enumerate(self._catalogs)
        )
        return first.union(*more, all=True).order_by("-updated_at", "pk")

    def _find_unstored(self, whose: Ownership) -> list[tuple[int, Any]]:
        def is_own(draft: Any) -> bool:
            return draft.latest.author_name is not None and draft.latest.author_name == self._caller.username

        if whose is Ownership.ALL:
            return self._unstored
        return [draft for draft in self._unstored if is_own(draft[1]) is (whose is Ownership.MINE)]


def changed_since_live(catalog: Catalog, resources: Sequence[VersionedResource]) -> dict[str, list[str]]:
    """Return the fields that changed since the live version, by resource id, in one query.

    They come from the changed fields that newer versions record, so no configuration is read. A field that
    was changed back is included. If no version is live, the list is empty.
    """
    kind, versions = catalog.collection.kind, catalog.collection.model.version_model._default_manager
    fields: dict[str, dict[str, None]] = {resource.pk: {} for resource in resources}
    in_rows = [resource.pk for resource in resources if resource.pointers is None]
    newer = versions.filter(
        resource_id__in=in_rows, number__gt=F("resource__active_version__number")
    ).order_by("-created_at")
    for resource_id, changed in newer.values_list("resource_id", "changed_fields")[:_MAX_VERSIONS]:
        fields[resource_id].update(dict.fromkeys(changed))
    for resource in resources:
        if resource.pointers is not None and resource.active is not None:
            changed = kind.schema.list_changes(resource.active.config, resource.latest.config)
            fields[resource.pk].update(dict.fromkeys(changed))
    return {resource_id: list(names) for resource_id, names in fields.items()}
