"""Change the items of a dataset: each call makes one version of it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.utils import timezone
from editor_client.shared.dataset_items import metadata_problem

from capabilities.evaluation.datasets.digests import with_item, without_item
from capabilities.evaluation.datasets.editing import (
    CheckedInVain,
    changing,
    checking_first,
    find,
    refuse_other_schemas,
    require_publish_for_purge,
)
from capabilities.evaluation.datasets.items import (
    MAX_ITEMS,
    Content,
    content_of,
    refuse_by_schemas,
)
from capabilities.evaluation.datasets.models import (
    PURGED_TEXT,
    Dataset,
    DatasetVersion,
    Item,
    Revision,
    searchable_values,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Issue, Message, NotFound
from versioning.domain.registering import require_callable
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of

Purging = Callable[[UUID, UUID], object]
"""Removes what else is known of an item, by the ids of the dataset and the item."""
_purging: Final[list[Purging]] = []


def register_purging(purging: Purging) -> None:
    """Add a function that is called before the content of an item is removed, in the transaction."""
    require_callable(purging, by="capabilities.evaluation.datasets.changing_items.register_purging()")
    _purging.append(purging)


class ItemConflict(Conflict):
    """External ids are taken by items with another content, or by deleted ones; the error has them."""

    def __init__(self, conflicts: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(Message("An external id stays with its first item."), code="conflict")
        self.conflicts = conflicts

    def details(self) -> dict[str, Any]:
        """Return each conflict with the place in the request."""
        return {"conflicts": list(self.conflicts)}


@dataclass
class Batch:
    """Changes of one version of a dataset."""

    dataset: Dataset
    number: int
    new_items: list[Item] = field(default_factory=list)
    new: list[Revision] = field(default_factory=list)
    ended: list[Revision] = field(default_factory=list)

    def put(self, item: Item, content: Content, before: Revision | None = None) -> Revision:
        """Give an item this content from this version on."""
        if before is not None:
            self.end(before)
        else:
            self.dataset.items_count += 1
        self.dataset.digest = with_item(self.dataset.digest, str(item.pk), content.digest)
        return self._revision(item, content.text, searchable_values(content.payload), content.digest)

    def remove(self, before: Revision) -> None:
        """Delete an item from this version on."""
        self.end(before)
        self.dataset.items_count -= 1
        # What is deleted is not searched.
        self._revision(before.item, before.payload_json, "", before.digest, is_deleted=True)

    def end(self, before: Revision) -> None:
        """End a revision with this version."""
        before.until = self.number
        self.ended.append(before)
        self.dataset.digest = without_item(self.dataset.digest, str(before.item_id), before.digest)

    def add(self, item: Item, content: Content) -> Revision:
        """Add a new item."""
        self.new_items.append(item)
        return self.put(item, content)

    def _revision(
        self, item: Item, payload: str, search_text: str, digest: str, *, is_deleted: bool = False
    ) -> Revision:
        made = Revision(
            item=item,
            dataset=self.dataset,
            version=self.number,
            payload_json=payload,
            search_text=search_text,
            digest=digest,
            is_deleted=is_deleted,
        )
        self.new.append(made)
        return made

    def check(self) -> None:
        """Raise `Invalid` if the dataset has too many items."""
        if self.dataset.items_count > MAX_ITEMS:
            message = Message("a dataset has at most {limit} items", limit=MAX_ITEMS)
            raise Invalid.field("items", message, code="too_many_items")

    def store(self, by: Caller) -> None:
        """Write the changes, if there are any, as a version."""
        if not self.new:
            return
        self.check()
        self.dataset.version = self.number
        self.dataset.updated_at = timezone.now()
        Item.objects.bulk_create(self.new_items)
        Revision.objects.bulk_update(self.ended, ["until"], batch_size=500)
        Revision.objects.bulk_create(self.new, batch_size=500)
        DatasetVersion.objects.create(dataset=self.dataset, version=self.number, digest=self.dataset.digest)
        self.dataset.save(update_fields=["version", "digest", "items_count", "updated_at"])
        self.dataset.record("updated", by, datasetVersion=self.number, items=len(self.new))


@contextmanager
def changing_items(dataset_id: str, by: Caller) -> Iterator[Batch]:
    """Lock a dataset, and store the changes of a batch as its next version."""
    with changing(dataset_id, by) as dataset:
        batch = Batch(dataset, dataset.version + 1)
        yield batch
        batch.store(by)


@dataclass(frozen=True)
class Added:
    """The items of a call in its order, and how many of them are new."""

    revisions: Sequence[Revision]
    created: int
    dataset: Dataset


@retry_on_conflict
@checking_first
def add(
    dataset_id: str, given: Sequence[Mapping[str, Any]], *, places: Sequence[str], by: Who = APPLICATION
) -> Added:
    """Add items: all or none. One whose external id is there with the same content stays as it is.

    `places` are what issues about each item begin with. Raises `Invalid`, `ItemTooLarge`, `SchemaRefusal` and
    `ItemConflict`.
    """
    caller = caller_of(by)
    settings = find(dataset_id, by=caller, right=Right.SAVE).settings
    contents = _read_all(settings, given, places)
    with changing_items(dataset_id, caller) as batch:
        refuse_other_schemas(batch.dataset, settings)
        return _add_to(batch, given, contents)


def _read_all(
    settings: Mapping[str, Any], given: Sequence[Mapping[str, Any]], places: Sequence[str]
) -> list[Content]:
    contents = [_read(one, place) for one, place in zip(given, places, strict=True)]
    refuse_by_schemas(settings, [content.payload for content in contents], places)
    return contents


def _add_to(batch: Batch, given: Sequence[Mapping[str, Any]], contents: Sequence[Content]) -> Added:
    known = by_external_id(batch.dataset, (one.get("externalId") for one in given))
    conflicts, revisions, created = [], [], 0
    for index, (one, content) in enumerate(zip(given, contents, strict=True)):
        external_id = one.get("externalId")
        there = known.get(external_id)
        if there is None:
            item = Item(dataset=batch.dataset, external_id=external_id)
            there = batch.add(item, content)
            created += 1
            if external_id is not None:
                known[external_id] = there
        elif there.is_deleted or there.digest != content.digest:
            reason = "deleted" if there.is_deleted else "payload_mismatch"
            about = {"externalId": external_id, "existingItemId": str(there.item_id), "reason": reason}
            conflicts.append({"index": index, **about})
        revisions.append(there)
    if conflicts:
        raise ItemConflict(conflicts)
    return Added(revisions, created, batch.dataset)


class DatasetChanged(Conflict):
    """Items have changed since the version that an edit is based on."""

    def __init__(self, dataset: Dataset, base: int) -> None:
        super().__init__(
            Message("This dataset has changed: it has version {now} by now.", now=dataset.version),
            code="dataset_changed",
        )
        self.base = base


@retry_on_conflict
@checking_first
def save(
    dataset_id: str,
    *,
    base: int,
    changed: Mapping[str, Mapping[str, Any]],
    removed: Collection[str] = (),
    added: Mapping[str, Mapping[str, Any]],
    by: Who = APPLICATION,
) -> Dataset:
    """Change, delete and add items, as one version, if the dataset still has the version `base`.

    `changed` has the changes of each item by its id; the keys of `added` are what issues about new items
    begin with. Raises `DatasetChanged`, and the errors of `add`.
    """
    caller, gone = caller_of(by), set(removed)
    dataset = find(dataset_id, by=caller, right=Right.SAVE)
    if dataset.version != base:
        raise DatasetChanged(dataset, base)
    found = list(Revision.objects.of_version(dataset).filter(item__in=uuids({*changed, *gone})))
    kept = [one for one in found if str(one.item_id) not in gone and not one.is_purged]
    payloads = [*({**one.payload, **changed[str(one.item_id)]} for one in kept), *added.values()]
    places = [*(f"{one.item_id}." for one in kept), *(f"{place}." for place in added)]
    contents = _read_all(dataset.settings, payloads, places)
    with changing_items(dataset_id, caller) as batch:
        if batch.dataset.version != base:
            raise DatasetChanged(batch.dataset, base)
        refuse_other_schemas(batch.dataset, dataset.settings)
        if Revision.objects.filter(pk__in=[one.pk for one in kept]).purged().exists():
            raise CheckedInVain
        for one in found:
            if str(one.item_id) in gone:
                batch.remove(one)
        for before, content in zip(kept, contents, strict=False):
            if before.digest != content.digest:
                batch.put(before.item, content, before)
        if added:
            _add_to(batch, list(added.values()), contents[len(kept) :])
    return batch.dataset


@retry_on_conflict
@checking_first
def change(dataset_id: str, item_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION) -> Revision:
    """Change the members of an item that are given; null clears one."""
    caller = caller_of(by)
    dataset = find(dataset_id, by=caller, right=Right.SAVE)
    before = current(dataset, item_id)
    if before.is_purged:
        raise Conflict(Message("The content of this item was purged."), code="purged")
    [content] = _read_all(dataset.settings, [{**before.payload, **changes}], [""])
    with changing_items(dataset_id, caller) as batch:
        refuse_other_schemas(batch.dataset, dataset.settings)
        now = current(batch.dataset, item_id)
        if now.payload_json != before.payload_json:
            raise CheckedInVain
        if now.digest == content.digest:
            return now
        return batch.put(now.item, content, now)


@retry_on_conflict
def remove(dataset_id: str, item_ids: Iterable[str], *, by: Who = APPLICATION) -> int:
    """Delete items from the next version on; returns how many there were."""
    caller = caller_of(by)
    wanted = set(uuids(item_ids))
    with changing_items(dataset_id, caller) as batch:
        found = Revision.objects.of_version(batch.dataset).filter(item__in=wanted)
        for before in found:
            batch.remove(before)
    return len(found)


@retry_on_conflict
def purge(dataset_id: str, item_id: str, *, by: Who = APPLICATION) -> None:
    """Remove the content of an item from every version, for good; version and digest stay.

    While a gate rests on the dataset, requires the right to publish.
    """
    caller = caller_of(by)
    with changing(dataset_id, caller) as dataset:
        require_publish_for_purge(dataset, caller)
        revisions = Revision.objects.filter(dataset=dataset, item=parse_uuid(item_id))
        if not revisions.exists():
            raise NotFound
        for remove in _purging:
            remove(dataset.pk, parse_uuid(item_id))
        revisions.update(payload_json=PURGED_TEXT, search_text="")
        dataset.record("updated", caller, purged=item_id)


def uuids(ids: Iterable[str]) -> Iterator[UUID]:
    """Yield those of the ids that can be one of an item."""
    for one in ids:
        with suppress(NotFound):  # it is no id of anything
            yield parse_uuid(one)


def current(dataset: Dataset, item_id: str) -> Revision:
    """Return an item as it is now; raises `NotFound`."""
    found = Revision.objects.of_version(dataset).filter(item=parse_uuid(item_id)).first()
    if found is None:
        raise NotFound
    return found


def _read(given: Mapping[str, Any], place: str) -> Content:
    problem = metadata_problem(given.get("metadata"))
    if problem is not None:
        raise Invalid([Issue(f"{place}{problem.field}", problem.message)])
    return content_of(given)


def by_external_id(dataset: Dataset, wanted: Iterable[str | None]) -> dict[str | None, Revision]:
    """Return the last revisions of the items with these external ids, deleted ones included."""
    ids = {one for one in wanted if one is not None}
    found: dict[str | None, Revision] = {}
    rows = Revision.objects.filter(dataset=dataset, until=None, item__external_id__in=ids)
    for revision in rows.select_related("item"):
        found[revision.item.external_id] = revision
    return found
