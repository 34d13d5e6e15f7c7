"""The items of a dataset as a file, read little by little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from capabilities.evaluation.datasets.editing import find
from capabilities.evaluation.datasets.formats.known import FORMATS
from capabilities.evaluation.datasets.models import Dataset, Revision
from versioning.domain.access import APPLICATION
from versioning.domain.errors import NotFound
from versioning.editor.resources import Who
from versioning.models.storage import give_back

_AT_ONCE: Final = 50
"""The items that are in memory at a time; each can be a quarter of a megabyte."""


def export_items(
    dataset_id: str,
    *,
    format: str,
    version: int | None = None,
    by: Who = APPLICATION,
) -> Iterator[str]:
    """Return the parts of a file with the items as of a version, or as of now, oldest first.

    They stay those of that version during all changes. Raises `NotFound` for a version that does not
    exist; the iterator raises it if the dataset is deleted before it ends.
    """
    dataset = find(dataset_id, by=by)
    number = dataset.version if version is None else version
    if number > dataset.version:
        raise NotFound
    return FORMATS[format].write(lambda: _items(dataset, number))


def _items(dataset: Dataset, version: int) -> Iterator[dict[str, Any]]:
    of_version = Revision.objects.of_version(dataset, version)
    keys = list(of_version.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        rows = list(of_version.filter(pk__in=some).order_by("pk"))
        give_back()  # while the reader takes them
        if len(rows) < len(some):
            raise NotFound
        for revision in rows:
            named = {"id": str(revision.item_id), "externalId": revision.item.external_id}
            yield {name: value for name, value in named.items() if value is not None} | revision.payload
