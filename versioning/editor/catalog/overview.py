"""What a caller can filter one kind by: the names that occur, and how often.

It covers every resource that the caller may read, not just a page, and no others: neither the author nor a
label of a draft is offered to callers who may not read drafts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from django.db.models import Count, F, Q, QuerySet, Value
from editor_client.shared.text_keys import collation_key

from versioning.domain.access import Right
from versioning.editor.catalog.catalog import Catalog
from versioning.editor.catalog.entries import Entry
from versioning.editor.catalog.filters import Wanted
from versioning.models.accounts import name_of
from versioning.models.querysets import within
from versioning.models.text_keys import contains
from versioning.serving.answer_cache import AnswerCache
from versioning.serving.followed_log import all_but_drafts

MAX_NAMES: Final = 500
"""How many authors, labels and tags are offered."""
MAX_FOLDERS: Final = 1_000
"""How many folders are included; those with the most resources, if there are more."""

Plain = tuple[dict[str, int], list[str], list[str], dict[str, int], dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The names and numbers of all resources of one kind that a caller may read."""

    workspaces: Mapping[str, int]
    """How many resources there are in each workspace."""
    visibilities: Sequence[str]
    """The visibilities that occur; empty for a kind that has none."""
    authors: Sequence[str]
    """Who saved the newest versions that the caller may read."""
    labels: Sequence[str]
    """The names of the labels that the caller may read."""
    tags: Mapping[str, int]
    """How many resources have each tag."""
    folders: Mapping[str, int]
    """How many resources there are below each folder, which is written with its final `/`."""


def overview(catalog: Catalog, cache: AnswerCache) -> Overview:
    """Return the overview of a catalog; seven queries at most.

    The part about rows is cached until a resource of the kind changes: for 20 000 resources it takes longer
    than the rest of a page. Saving a draft changes only the authors.
    """
    kind = catalog.collection.kind
    held: Plain = cache.remembered(
        ("overview", *catalog.question), all_but_drafts(kind.slug), lambda: _of_rows(catalog)
    )
    workspaces, visibilities, labels, tags, folders = held
    authors: list[str] = cache.remembered(
        ("authors", *catalog.question), (kind.slug, None), lambda: _authors(catalog)
    )
    unstored = catalog.defined_in_code(Wanted())
    return Overview(
        workspaces=Counter(workspaces) + Counter(entry.workspace_id for entry in unstored),
        visibilities=sorted({*visibilities, *filter(None, (entry.visibility for entry in unstored))}),
        authors=sorted({*authors, *_authors_of(unstored)}),
        labels=sorted({*labels, *(label for entry in unstored for label in entry.labels)}),
        tags=dict(sorted((Counter(tags) + Counter(tag for entry in unstored for tag in entry.tags)).items())),
        folders=dict(sorted((Counter(folders) + _folders_of(entry.id for entry in unstored)).items())),
    )


def _rows(catalog: Catalog) -> QuerySet[Any, Any]:
    return catalog.stored().select_related(None).defer(None).order_by()


def _drafts(catalog: Catalog) -> Q:
    return within("workspace_id", catalog.caller.scope(Right.READ_DRAFTS))


def _of_rows(catalog: Catalog) -> Plain:
    rows = _rows(catalog)
    visibilities: list[str] = []
    if catalog.collection.kind.has_visibility:
        visibilities = list(rows.values_list("visibility", flat=True).distinct())
    in_folders = rows.filter(contains(F("pk"), Value("/"))).values_list("pk", flat=True)
    return (
        dict(rows.values_list("workspace_id").annotate(found=Count("pk"))),
        visibilities,
        _labels(rows, _drafts(catalog)),
        _tags(rows),
        dict(_folders_of(in_folders).most_common(MAX_FOLDERS)),
    )


def _authors(catalog: Catalog) -> list[str]:
    rows, drafts = _rows(catalog), _drafts(catalog)
    found: set[str] = set()
    for readable, version in ((drafts, "latest_version"), (~drafts, "active_version")):
        names = rows.filter(readable).values_list(name_of(f"{version}__author"), flat=True).distinct()
        found.update(name for name in names[:MAX_NAMES] if name)
    return sorted(found, key=collation_key)


def _labels(rows: QuerySet[Any, Any], drafts: Q) -> list[str]:
    is_live = Q(labels__released=True) | Q(labels__version=F("active_version"))
    found = rows.filter(drafts | is_live, labels__name__isnull=False)
    return list(found.values_list("labels__name", flat=True).distinct()[:MAX_NAMES])


def _tags(rows: QuerySet[Any, Any]) -> dict[str, int]:
    found = rows.filter(tags__name__isnull=False).values_list("tags__name").annotate(found=Count("tags"))
    return dict(found.order_by("-found", "tags__name")[:MAX_NAMES])


def _authors_of(entries: Iterable[Entry]) -> Iterable[str]:
    names = (entry.version.author_name for entry in entries if entry.version is not None)
    return filter(None, names)


def _folders_of(ids: Iterable[str]) -> Counter[str]:
    """Count the resources below each folder, at any depth."""
    found: Counter[str] = Counter()
    direct = Counter(resource_id[: resource_id.rindex("/") + 1] for resource_id in ids if "/" in resource_id)
    for folder, count in direct.items():
        for path in accumulate(f"{part}/" for part in folder.split("/")[:-1]):
            found[path] += count
    return found
