"""Add the items of a file to a dataset: all of them, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from editor_client.shared import canonical
from editor_client.shared.dataset_items import metadata_problem

from capabilities.evaluation.datasets import editing
from capabilities.evaluation.datasets.changing_items import Batch, by_external_id, changing_items
from capabilities.evaluation.datasets.formats import tables
from capabilities.evaluation.datasets.formats.known import FORMATS
from capabilities.evaluation.datasets.formats.rows import Row, text_of
from capabilities.evaluation.datasets.formats.tables import Layout
from capabilities.evaluation.datasets.items import (
    MAX_ITEMS,
    Content,
    ItemTooLarge,
    content_of,
    schema_refusals,
)
from capabilities.evaluation.datasets.models import PURGED_PAYLOAD, PURGED_TEXT, Dataset, Item, Revision
from capabilities.evaluation.datasets.schemas import ItemCreate
from versioning.domain.access import APPLICATION, Right
from versioning.domain.config import raise_for_issues
from versioning.domain.errors import MAX_ISSUES, Invalid, Issue, Message, NotFound
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of

MAX_TEXT: Final = 64 * 1024 * 1024
"""The maximum size of all items of a file together: what a file repeats can make it many times as large."""


class FailedRow(NamedTuple):
    """A row of a file that cannot be imported."""

    row: int
    issues: Sequence[Issue]

    @property
    def message(self) -> str:
        """What is wrong with it, as one sentence."""
        return "; ".join(f"{issue.field}: {issue.message}" for issue in self.issues)


class ImportRefused(Invalid):
    """Rows of a file cannot be imported; the error has them."""

    def __init__(self, failed: Sequence[FailedRow]) -> None:
        super().__init__(
            [Issue(f"rows.{one.row}.{issue.field}", issue.message) for one in failed for issue in one.issues]
        )
        self.failed = failed

    def details(self) -> dict[str, Any]:
        """Return the issues, and the rows that fail."""
        rows = [{"row": one.row, "message": one.message} for one in self.failed]
        return {**super().details(), "failed": rows}


@dataclass
class Imported:
    """What an import does: new items, those that are there already, rows that fail, and the version after."""

    created: int = 0
    unchanged: int = 0
    failed: list[FailedRow] = field(default_factory=list)
    version: int = 0


class _Given(NamedTuple):
    """An item of a file."""

    row: int
    item_id: str | None
    external_id: str | None
    content: Content


@retry_on_conflict
@editing.checking_first
def import_items(
    dataset_id: str,
    body: bytes,
    *,
    format: str,
    dry_run: bool = False,
    encodings: Sequence[str] = (),
    layout: Layout | None = None,
    by: Who = APPLICATION,
) -> Imported:
    """Add the items of a file that are not there yet, as one version.

    An item is there if its `externalId`, its `id`, or, where the file has neither, its content is. With
    `dry_run` nothing is stored, and rows that fail are returned. Raises `ImportRefused` for those otherwise,
    `Invalid` for a file that cannot be read, and for too many items, and `Conflict` if the schemas of the
    dataset change again and again meanwhile.

    `encodings` are tried in turn for a file without a byte order mark (by default UTF-8 alone). `layout` says
    how a table is read, and is for the format `csv` alone.
    """
    caller, done = caller_of(by), Imported()
    settings = editing.find(dataset_id, by=caller, right=Right.SAVE).settings
    text = text_of(body, *encodings)
    rows = FORMATS[format].read(text) if layout is None else tables.rows_in(text, layout)
    given = list(_given(rows, settings, done))
    with changing_items(dataset_id, caller) as batch:
        editing.refuse_other_schemas(batch.dataset, settings)
        _put(batch, given, done)
        done.failed.sort()
        if done.failed and not dry_run:
            raise ImportRefused(done.failed)
        done.version = batch.dataset.version + (1 if batch.new and not dry_run else 0)
        batch.check()
        if dry_run:
            batch.new.clear()
        return done


def _given(rows: Iterator[Row], settings: Mapping[str, Any], done: Imported) -> Iterator[_Given]:
    """Yield the items that can be read; the other rows fail."""
    size = 0
    for row in islice(rows, MAX_ITEMS + 1):
        issues: Iterable[Issue] = row.issues
        if not issues:
            item = dict(row.item)
            item_id = item.pop("id", None)
            try:
                content = _content(item, item_id, settings)
            except Invalid as error:
                issues = error.issues
            except ItemTooLarge as error:
                issues = [Issue("row", error.message)]
            else:
                size += len(content.text)
                if size > MAX_TEXT:
                    raise Invalid.field("body", Message("holds too much"))
                yield _Given(row.number, item_id, item.get("externalId"), content)
                continue
        done.failed.append(FailedRow(row.number, tuple(issues)))
        if len(done.failed) >= MAX_ISSUES:  # enough to mend
            return
    if next(rows, None) is not None:
        message = Message("a dataset has at most {limit} items", limit=MAX_ITEMS)
        raise Invalid.field("items", message, code="too_many_items")


def _content(item: Mapping[str, Any], item_id: Any, settings: Mapping[str, Any]) -> Content:
    """Return the content of an item; raises `Invalid` and `ItemTooLarge`."""
    if item_id is not None and not isinstance(item_id, str):
        raise Invalid.field("id", Message("must be a text"))
    if (fault := canonical.fault(item_id)) is not None:
        raise Invalid.field("id", fault[1])
    raise_for_issues(ItemCreate, item)
    problem = metadata_problem(item.get("metadata"))
    if problem is not None and not _is_purged(item):
        raise Invalid([problem])
    content = content_of(item)
    issues = [issue for _, _, found in schema_refusals(settings, content.payload) for issue in found]
    if issues:
        raise Invalid(issues)
    return content


def _is_purged(item: Mapping[str, Any]) -> bool:
    """Return whether an item is what an export holds of one whose content was removed."""
    return {**item, "externalId": None} == {**PURGED_PAYLOAD, "externalId": None}


def _put(batch: Batch, given: Sequence[_Given], done: Imported) -> None:
    """Add the items that are not there; those that are there with another content fail."""
    dataset = batch.dataset
    known = by_external_id(dataset, (one.external_id for one in given))
    by_id = _by_id(dataset, given)
    same = _same_content(dataset, given, by_id)
    for one in given:
        there = known.get(one.external_id) or _found(by_id, dataset, one)
        if there is not None:
            problem = _problem(there, one)
            if problem is None:
                done.unchanged += 1
            else:
                done.failed.append(FailedRow(one.row, (problem,)))
        elif one.content.text == PURGED_TEXT:  # nothing is left of it
            done.unchanged += 1
        elif _is_unnamed(one) and same[one.content.digest] > 0:
            same[one.content.digest] -= 1
            done.unchanged += 1
        else:
            done.created += 1
            _add(batch, one, known, by_id)


def _add(batch: Batch, one: _Given, known: dict[str | None, Revision], by_id: dict[UUID, Revision]) -> None:
    item = Item(dataset=batch.dataset, external_id=one.external_id)
    if one.item_id is not None:
        item.pk = uuid5(batch.dataset.pk, one.item_id)
    made = batch.add(item, one.content)
    by_id[item.pk] = made
    if one.external_id is not None:
        known[one.external_id] = made


def _is_unnamed(one: _Given) -> bool:
    return one.item_id is None and one.external_id is None


def _problem(there: Revision, one: _Given) -> Issue | None:
    """Return why an item cannot be the one that is there."""
    member = "id" if one.external_id is None else "externalId"
    if there.is_deleted:
        return Issue(member, Message("is that of an item that was deleted"))
    if one.external_id != there.item.external_id:
        return Issue("externalId", Message("is not that of the item with this id"))
    is_same = one.content.digest == there.digest or one.content.text == there.payload_json
    return None if is_same else Issue(member, Message("is that of an item with another content"))


def _ids_of(dataset: Dataset, one: _Given) -> Iterator[UUID]:
    """Yield the ids that an item has here: its own, or the one that it got when it came from elsewhere."""
    if one.item_id is not None:
        with suppress(NotFound):
            yield parse_uuid(one.item_id)
        yield uuid5(dataset.pk, one.item_id)


def _by_id(dataset: Dataset, given: Iterable[_Given]) -> dict[UUID, Revision]:
    ids = {item_id for one in given for item_id in _ids_of(dataset, one)}
    rows = Revision.objects.filter(dataset=dataset, until=None, item__in=ids).select_related("item")
    return {found.item_id: found for found in rows}


def _found(by_id: Mapping[UUID, Revision], dataset: Dataset, one: _Given) -> Revision | None:
    return next((by_id[item_id] for item_id in _ids_of(dataset, one) if item_id in by_id), None)


def _same_content(dataset: Dataset, given: Sequence[_Given], by_id: Mapping[UUID, Revision]) -> Counter[str]:
    """Return how many items without an external id have the content of rows that name no item."""
    digests = {one.content.digest for one in given if _is_unnamed(one)}
    rows = Revision.objects.of_version(dataset).filter(digest__in=digests, item__external_id=None)
    named = set(by_id)
    found = rows.values_list("item", "digest") if digests else ()
    return Counter(digest for item_id, digest in found if item_id not in named)
