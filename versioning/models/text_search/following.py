"""Update the index from the log, and list what it lacks.

No save writes to the index: a worker follows the log and adds the versions that pointers now refer to. The
few resources that have changed since then are searched directly. So a save costs nothing, and the next search
still finds what was saved: docs/decisions/0034.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Func, IntegerField, OuterRef, Q, Sum, Value
from django.db.models.functions import Coalesce
from editor_client.shared.configurations import searchable

from versioning.models import events
from versioning.models.text_search.index import Lines, NewDocument, SearchProgress, text_index
from versioning.models.versioned import MODELS, MODELS_BY_SLUG, VersionedResource

SECONDS: Final = 1.0
"""How often each worker checks whether the log has grown."""
AT_ONCE: Final = 100
"""How many resources are indexed in one transaction, so that writers on SQLite do not wait for long."""
MAX_BEHIND: Final = 200
"""How many resources a search reads without the index."""
MAX_BYTES_BEHIND: Final = 1_000_000
"""The total length of their texts: 40 MB took a second and a half."""
_MAX_ENTRIES: Final = 2_000

Missing = dict[str, set[str]]
"""Ids of resources by the slug of their kind."""


class Bytes(Func):
    """The length of a text in bytes, which PostgreSQL knows without decompressing the text."""

    output_field = IntegerField()
    template = "LENGTH(CAST(%(expressions)s AS BLOB))"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the statement for PostgreSQL."""
        return self.as_sql(compiler, connection, template="OCTET_LENGTH(%(expressions)s)", **context)


def missing() -> Missing | None:
    """Return the resources whose current versions may not be in the index; None if there are too many."""
    progress = SearchProgress.objects.first() or SearchProgress()
    newest = events.position()
    changed = _changed(progress.position, newest) if progress.is_whole else None
    if changed is None:
        changed = _not_indexed(MAX_BEHIND + 1)
    if sum(map(len, changed.values())) > MAX_BEHIND or _bytes_of(changed) > MAX_BYTES_BEHIND:
        return None
    return changed


def follow() -> None:
    """Index everything that has changed; several workers may do so at once."""
    while _is_behind():
        progress = SearchProgress.objects.first()
        if progress is None or not progress.is_whole:
            _compare_some()
        else:
            _read_some_of_the_log()


def rebuild() -> int:
    """Rebuild the index and return its number of documents. Until then, searches do not use it."""
    with transaction.atomic():
        progress = _locked_progress()
        for model in MODELS:
            text_index().remove(model.document_model._default_manager.all())
        progress.is_whole = False
        progress.save()
    follow()
    return sum(model.document_model._default_manager.count() for model in MODELS)


def _is_behind() -> bool:
    progress = SearchProgress.objects.first()
    return progress is None or not progress.is_whole or progress.position != events.position()


@transaction.atomic
def _read_some_of_the_log() -> None:
    progress = _locked_progress()
    until = min(events.position(), progress.position + AT_ONCE)
    changed = _changed(progress.position, until)
    progress.position = until
    progress.is_whole = progress.is_whole and changed is not None
    for slug, ids in (changed or {}).items():
        _index(slug, ids)
    progress.save()


def _compare_some() -> None:
    """Compare the index with all pointers; missing and superfluous documents are changed in batches."""
    # Before the transaction, which blocks other writes on SQLite. Later changes are indexed later.
    position = events.position()
    lacking = _not_indexed(AT_ONCE)
    is_last = sum(map(len, lacking.values())) < AT_ONCE
    stale = {model: list(_stale(model)) for model in MODELS} if is_last else {}
    with transaction.atomic():
        progress = _locked_progress()
        added = sum(_index(slug, ids) for slug, ids in lacking.items())
        for model, gone in stale.items():
            documents = model.document_model._default_manager
            for first in range(0, len(gone), AT_ONCE):
                text_index().remove(documents.filter(pk__in=gone[first : first + AT_ONCE]))
        # Does not wait for versions that are missing although a pointer refers to them.
        is_last = is_last or (not added and _not_indexed(AT_ONCE) == lacking)
        progress.position, progress.is_whole = position, is_last
        progress.save()


def _stale(model: type[VersionedResource]) -> Any:
    """Return the ids of the documents that no pointer refers to."""
    rows = model._default_manager.filter(pk=OuterRef("resource_id"))
    leads = Q(active_version_id=OuterRef("version_id")) | Q(latest_version_id=OuterRef("version_id"))
    documents = model.document_model._default_manager.filter(~Exists(rows.filter(leads)))
    return documents.values_list("pk", flat=True)


def _locked_progress() -> SearchProgress:
    SearchProgress.objects.bulk_create([SearchProgress()], ignore_conflicts=True)
    return SearchProgress.objects.select_for_update().get()


def _changed(after: int, until: int) -> Missing | None:
    """Return what the entries between two positions are about; None if that can be anything, or too much."""
    if after == until:
        return {}
    found = events.changes(after, until, _MAX_ENTRIES)
    # A position without an entry is a change that is not recorded, or was pruned.
    if len(found) == _MAX_ENTRIES or len({position.position for position in found}) != until - after:
        return None
    changed: Missing = defaultdict(set)
    for entry in found:
        if entry.resource_kind in MODELS_BY_SLUG:
            changed[entry.resource_kind].add(entry.resource_id)
    return changed


def _bytes_of(changed: Missing) -> int:
    """Return the length of the resources' texts, in both versions that a pointer may refer to."""
    lengths = (Bytes(f"{pointer}_version__search_text") for pointer in ("active", "latest"))
    total = sum((Coalesce(Sum(length), 0) for length in lengths), start=Value(0))
    found = (
        MODELS_BY_SLUG[slug]._default_manager.filter(pk__in=ids).aggregate(found=total)["found"]
        for slug, ids in changed.items()
        if ids
    )
    return sum(found)


def _not_indexed(limit: int) -> Missing:
    """Return resources with a version that is not in the index, at most `limit`."""
    found: Missing = {}
    for model in MODELS:
        documents = model.document_model._default_manager
        latest, active = (
            ~Exists(documents.filter(version_id=OuterRef(pointer)))
            for pointer in ("latest_version_id", "active_version_id")
        )
        rows: Any = model._default_manager.filter(latest | Q(active, active_version_id__isnull=False))
        ids = found[model.kind.slug] = set(rows.order_by("pk").values_list("pk", flat=True)[:limit])
        limit -= len(ids)
    return found


def _index(kind_slug: str, ids: Iterable[str]) -> int:
    """Index the versions that these resources point at, and no others; return how many are new."""
    model, ids, added = MODELS_BY_SLUG[kind_slug], list(ids), 0
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        rows: Any = model._default_manager.filter(pk__in=some)
        pointers = rows.values_list("active_version_id", "latest_version_id")
        current = {version_id for both in pointers for version_id in both if version_id is not None}
        indexed = model.document_model._default_manager.filter(resource_id__in=some)
        known = set(indexed.values_list("version_id", flat=True))
        text_index().remove(indexed.exclude(version_id__in=current))
        documents = list(_new_documents(model, current - known))
        text_index().add(documents)
        added += len(documents)
    return added


def _new_documents(model: type[VersionedResource], wanted: Iterable[UUID]) -> Iterator[NewDocument]:
    documents = model.document_model._default_manager
    versions: Any = model.version_model._default_manager.filter(pk__in=wanted)
    for version in versions.only("resource_id", "config_json"):
        texts = searchable(version.resource_id, version.config, model.kind.text_field)
        yield documents.model(version_id=version.pk, resource_id=version.resource_id), Lines.of(texts)
