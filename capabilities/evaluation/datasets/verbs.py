"""The verbs for datasets and their items: each change of items makes one version.

Every function takes the caller as `by`, and raises `NotFound` if the caller may not read the drafts of the
workspace, `Forbidden` without the right to save.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from itertools import islice
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet, Value
from django.db.models.deletion import RestrictedError
from django.utils import timezone
from editor_client.shared import canonical, dataset_items
from editor_client.shared.dataset_items import composed_name, metadata_problem, name_problem
from editor_client.shared.tables import decode

from capabilities.evaluation.datasets import formats
from capabilities.evaluation.datasets.formats import FORMATS, Layout, Row
from capabilities.evaluation.datasets.models import (
    PURGED_PAYLOAD,
    PURGED_TEXT,
    Dataset,
    DatasetQuerySet,
    DatasetVersion,
    Item,
    Revision,
    searchable_values,
)
from capabilities.evaluation.datasets.schemas import ItemCreate
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.verbs import Dependent
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import raise_for_issues
from versioning.domain.context_schema import UnusableSchema, schema_problem, value_refusals
from versioning.domain.errors import (
    MAX_ISSUES,
    Conflict,
    InUse,
    Invalid,
    Issue,
    Message,
    NotFound,
    VersioningError,
)
from versioning.domain.registering import require_callable
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.saving import workspace_for
from versioning.models import events
from versioning.models.storage import give_back
from versioning.models.text_keys import ByName, contains
from versioning.verbs import Verbs

MAX_ITEMS: Final = dataset_items.MAX_ITEMS
MAX_ITEM: Final = dataset_items.MAX_ITEM
SCHEMAS: Final = {
    "inputSchema": "input",
    "groundTruthSchema": "groundTruth",
    "requestContextSchema": "requestContext",
}
"""The schemas of a dataset, each with the member of its items that it describes."""

Payload = Mapping[str, Any]


class ItemTooLarge(VersioningError):
    """An item is larger than `MAX_ITEM`."""

    code = "payload_too_large"


class SchemaRefusal(Invalid):
    """Items break a schema; the error has them."""

    def __init__(self, issues: Sequence[Issue], failing: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(list(issues))
        self.failing = failing

    def details(self) -> dict[str, Any]:
        """Return the issues, and the items that fail."""
        return {**super().details(), "failingItems": list(self.failing)}


class Content(NamedTuple):
    """The content of an item in one revision: its members, as text, and their digest."""

    payload: Payload
    text: str
    digest: str


def make_content(members: Mapping[str, Any]) -> Content:
    """Return the members that make up the revision of an item, without null ones.

    Raises `ItemTooLarge`, and `Invalid` for values that JSON cannot represent.
    """
    if (fault := canonical.fault(members)) is not None:
        place, reason = fault
        raise Invalid.field(place or "row", reason)
    payload = {name: value for name, value in members.items() if name != "externalId"}
    payload = {name: value for name, value in payload.items() if value is not None or name == "input"}
    text = canonical.dump(payload)
    if len(text.encode()) > MAX_ITEM:
        raise ItemTooLarge(Message("An item must not be larger than {limit} KiB.", limit=MAX_ITEM // 1024))
    return Content(payload, text, canonical.digest(payload))


def refuse_by_schemas(
    settings: Mapping[str, Any], payloads: Sequence[Payload], places: Sequence[str], names: Sequence[str] = ()
) -> None:
    """Raise `SchemaRefusal` if an item breaks a schema of its dataset.

    `places` are the prefixes of issues about each item; `names` limits the schemas.
    """
    issues: list[Issue] = []
    failing = []
    for index, (payload, place) in enumerate(zip(payloads, places, strict=True)):
        for name, member, problems in schema_refusals(settings, payload, place):
            if names and name not in names:
                continue
            issues += problems
            errors = [issue.as_dict() for issue in problems]
            failing.append({"index": index, "data": payload.get(member), "field": member, "errors": errors})
        if len(failing) >= MAX_ISSUES:  # enough to mend
            break
    if issues:
        raise SchemaRefusal(issues, failing)


def schema_refusals(
    settings: Mapping[str, Any], payload: Payload, place: str = ""
) -> Iterator[tuple[str, str, list[Issue]]]:
    """Yield each schema of a dataset that an item violates, with the member and the issue."""
    for name, member in SCHEMAS.items():
        schema = settings.get(name)
        if schema is None or (member != "input" and member not in payload):
            continue
        try:
            issues = value_refusals(schema, payload.get(member), field=f"{place}{member}")
        except UnusableSchema as error:
            issues = [Issue(name, str(error))]
        if issues:
            yield name, member, issues


def schema_problems(settings: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield the issues of the schemas of a dataset."""
    for name in SCHEMAS:
        problem = None if settings.get(name) is None else schema_problem(settings[name], field=name)
        if problem is not None:
            yield problem


EMPTY: Final = "0" * 64
"""The digest of no items."""


def _shift_digest(digest: str, item_id: str, payload: str, sign: int) -> str:
    """Return the digest of a dataset with one item more (`sign` 1) or less (-1).

    It is the sum of a hash of each item, so it does not depend on their order, and no other item is read.
    """
    hashed = int.from_bytes(hashlib.sha256(f"{item_id}:{payload}".encode()).digest())
    return f"{(int(digest, 16) + sign * hashed) % 2**256:064x}"


class Use(StrEnum):
    """A use of a dataset by another object, so that only publishers can change the dataset."""

    FOLLOWED = "followed"
    """It uses the current version."""
    PINNED = "pinned"
    """It uses one fixed version."""


Using = Callable[[UUID], Collection[Use]]
"""Returns the use of the dataset with this id."""
_using: Final[list[Using]] = []


def register_using(using: Using) -> None:
    """Restrict changes of datasets to publishers while the function returns a use."""
    require_callable(using, by="capabilities.evaluation.datasets.editing.register_using()")
    _using.append(using)


def list_uses(dataset: Dataset) -> set[Use]:
    """Return the uses of a dataset, such as by a gate."""
    return {use for using in _using for use in using(dataset.pk)}


def right_to_change(dataset: Dataset) -> Right:
    """Return the right required to change a dataset and its items."""
    return Right.PUBLISH if Use.FOLLOWED in list_uses(dataset) else Right.SAVE


SETTINGS = ("description", "metadata", "tags", "targetType", "targetIds", "scorerIds", *SCHEMAS)
"""The members that callers set, besides the name."""
_ATTEMPTS: Final = 3
_P = ParamSpec("_P")
_T = TypeVar("_T")


class CheckedInVain(Exception):
    """The dataset has changed between the checks of a verb and its lock, so the checks are void."""


def checking_first(verb: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorate a verb that checks before it locks, because a writing transaction blocks others.

    If the checks are void, the verb is called again; after several attempts it raises `Conflict`.
    """

    @wraps(verb)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for _ in range(_ATTEMPTS):
            with suppress(CheckedInVain):
                return verb(*args, **kwargs)
        raise Conflict(Message("This dataset is changing; try again."), code="dataset_changed")

    return call


def refuse_other_schemas(dataset: Dataset, checked: Mapping[str, Any]) -> None:
    """Raise `CheckedInVain` unless a dataset still has the schemas that were checked."""
    if not all(canonical.same(checked.get(name), dataset.settings.get(name)) for name in SCHEMAS):
        raise CheckedInVain


def list_datasets(
    *,
    workspace: str | None = None,
    target_type: str | None = None,
    target_ids: Sequence[str] = (),
    by: Who = APPLICATION,
) -> QuerySet[Dataset]:
    """Return the datasets that the caller may read, for any of these targets."""
    datasets = Dataset.objects.readable_by(caller_of(by))
    if workspace is not None:
        datasets = datasets.filter(workspace=workspace)
    if target_type is not None:
        datasets = datasets.filter(target_type=target_type)
    if target_ids:
        either = Dataset.objects.none()
        for target_id in target_ids:
            either |= Dataset.objects.filter(contains(F("target_keys"), Value(f"\n{target_id}\n")))
        datasets = datasets.filter(pk__in=either.order_by().values("pk"))
    return datasets


def datasets_naming(scorer_id: str, by: Caller) -> Iterator[Dependent]:
    """Yield the datasets whose items a scorer scores by default."""
    text = canonical.dump(scorer_id)
    datasets = Dataset.objects.readable_by(by).filter(contains(F("settings_json"), Value(text)))
    for dataset in datasets.order_by(ByName("name"), "pk"):
        if scorer_id in dataset.settings.get("scorerIds", ()):
            yield Dependent(str(dataset.pk), dataset.name, "dataset")


def find_dataset(dataset_id: str, *, by: Who = APPLICATION, right: Right = Right.READ_DRAFTS) -> Dataset:
    """Return a dataset to a caller who has the right in its workspace."""
    return _find_among(Dataset.objects.all(), dataset_id, caller_of(by), right)


def _find_among(rows: DatasetQuerySet, dataset_id: str, by: Caller, right: Right) -> Dataset:
    dataset = rows.readable_by(by).filter(pk=parse_uuid(dataset_id)).first()
    if dataset is None:
        raise NotFound
    by.require(right, dataset.workspace_id)
    return dataset


@retry_on_conflict
def create_dataset(
    datasets: Verbs,
    settings: Mapping[str, Any],
    *,
    name: str,
    workspace: str | None = None,
    by: Who = APPLICATION,
) -> Dataset:
    """Create an empty dataset; the workspace defaults to the caller's only one."""
    caller = caller_of(by)
    workspace_id = workspace_for(caller, workspace)
    dataset = Dataset(workspace_id=workspace_id, digest=EMPTY, author_id=caller.user_id)
    _set(datasets, dataset, {**settings, "name": name}, caller)
    with events.transaction():
        _save(dataset, insert=True)
        dataset.record("created", caller)
    return dataset


@retry_on_conflict
@checking_first
def change_dataset(
    datasets: Verbs, dataset_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION
) -> Dataset:
    """Change the given members; null clears one. A new schema has to fit the current items."""
    caller = caller_of(by)
    fitting = find_dataset(dataset_id, by=caller, right=Right.SAVE)
    new_schemas = _new_schemas(fitting, changes)
    if new_schemas:
        payloads = [item.payload for item in Revision.objects.of_version(fitting).order_by("pk").iterator()]
        places = [f"items.{n}." for n in range(len(payloads))]
        refuse_by_schemas({name: changes[name] for name in new_schemas}, payloads, places, new_schemas)
    with changing_dataset(dataset_id, caller) as dataset:
        unchecked = set(_new_schemas(dataset, changes)) - set(new_schemas)
        if unchecked or (new_schemas and dataset.digest != fitting.digest):
            raise CheckedInVain
        before = {"name": dataset.name, **dataset.settings}
        _set(datasets, dataset, changes, caller)
        after = {"name": dataset.name, **dataset.settings}
        names = [
            name for name in ("name", *SETTINGS) if not canonical.same(before.get(name), after.get(name))
        ]
        if names:
            _save(dataset)
            dataset.record("updated", caller, fields=names)
        return dataset


def _new_schemas(dataset: Dataset, changes: Mapping[str, Any]) -> list[str]:
    """Return the names of the schemas that the changes replace, without unusable ones."""
    if any(schema_problems(changes)):
        return []
    return [
        name
        for name in SCHEMAS
        if changes.get(name) is not None and not canonical.same(changes[name], dataset.settings.get(name))
    ]


@retry_on_conflict
def delete_dataset(dataset_id: str, *, by: Who = APPLICATION) -> None:
    """Delete a dataset with its items; raises `InUse` while it is used, such as by a gate."""
    caller = caller_of(by)
    with changing_dataset(dataset_id, caller) as dataset:
        dataset.record("deleted", caller)
        try:
            dataset.delete()
        except RestrictedError as error:
            dependents = [
                {"id": str(row.pk), "name": str(row), "kind": str(row._meta.model_name)}
                for row in error.restricted_objects
            ]
            # A key that is limited to ids gets no other names.
            visible, hidden_count = ([], len(dependents)) if caller.id_prefix else (dependents, 0)
            names = ", ".join(dependent["name"] for dependent in visible) or "…"
            message = Message("The dataset is in use: {names}.", names=names)
            raise InUse(message, dependents=visible, hidden_count=hidden_count) from None


@contextmanager
def changing_dataset(dataset_id: str, by: Caller) -> Iterator[Dataset]:
    """Lock a dataset for a transaction; the caller may save in its workspace.

    If a gate follows the dataset, the caller must have the right to publish, because the dataset then decides
    about publishing.
    """
    with events.transaction():
        dataset = _find_among(Dataset.objects.with_lock(), dataset_id, by, Right.SAVE)
        if right_to_change(dataset) is Right.PUBLISH:
            by.require_publish(dataset.workspace_id)
        yield dataset


def _set(datasets: Verbs, dataset: Dataset, changes: Mapping[str, Any], by: Caller) -> None:
    if "name" in changes:
        name = composed_name(changes["name"])
        if problem := name_problem(name):
            raise Invalid.field("name", problem)
        dataset.name = name
    changed_settings = {name: value for name, value in changes.items() if name in SETTINGS}
    settings = {
        name: value for name, value in {**dataset.settings, **changed_settings}.items() if value is not None
    }
    issues = [
        *schema_problems(changed_settings),
        *unknown_scorers(datasets.editor, changed_settings.get("scorerIds") or (), by),
    ]
    if ("targetIds" in settings) and "targetType" not in settings:
        issues.append(Issue("targetType", Message("is required, if targetIds is given")))
    if issues:
        raise Invalid(issues)
    for target_id in settings.get("targetIds") or [""]:  # without targets, it would be about all ids
        by.require_covered(target_id)
    dataset.settings_json = canonical.dump(settings)
    dataset.__dict__.pop("settings", None)
    dataset.target_type = settings.get("targetType", "")
    dataset.target_keys = "".join(f"\n{target_id}\n" for target_id in settings.get("targetIds", ()))


def unknown_scorers(editor: Editor, ids: Sequence[str], by: Caller) -> Iterator[Issue]:
    """Yield an issue for each scorer that does not exist for the caller."""
    readable_ids = set(editor.collection(SCORER).list(by=by).filter(pk__in=ids).values_list("pk", flat=True))
    for place, scorer_id in enumerate(ids):
        if scorer_id not in readable_ids:
            yield Issue(f"scorerIds.{place}", Message("does not exist, or you may not read it"))


def _save(dataset: Dataset, *, insert: bool = False) -> None:
    """Save a dataset; raises `Conflict` if its name is taken."""
    dataset.updated_at = timezone.now()
    try:
        with transaction.atomic():
            dataset.save(force_insert=insert)
    except IntegrityError:
        same_name = Dataset.objects.filter(workspace=dataset.workspace_id, name=dataset.name)
        if same_name.exclude(pk=dataset.pk).exists():
            message = Message("There is a dataset {name!r} in this workspace.", name=dataset.name)
            raise Conflict(message, code="name_taken") from None
        raise


_AT_ONCE: Final = 50
"""The number of items in memory at a time; each can be a quarter of a megabyte."""


def export_items(
    dataset_id: str,
    *,
    format: str,
    version: int | None = None,
    by: Who = APPLICATION,
) -> Iterator[str]:
    """Return the parts of a file with the items as of a version, or as of now, oldest first.

    They are those of that version even if the dataset changes meanwhile. Raises `NotFound` for a version that
    does not exist; the iterator raises it if the dataset is deleted before it ends.
    """
    dataset = find_dataset(dataset_id, by=by)
    number = dataset.version if version is None else version
    if number > dataset.version:
        raise NotFound
    return FORMATS[format].write(lambda: _items(dataset, number))


def _items(dataset: Dataset, version: int) -> Iterator[dict[str, Any]]:
    of_version = Revision.objects.of_version(dataset, version)
    keys = list(of_version.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        batch = keys[start : start + _AT_ONCE]
        rows = list(of_version.filter(pk__in=batch).order_by("pk"))
        give_back()  # while the reader takes them
        if len(rows) < len(batch):
            raise NotFound
        for revision in rows:
            identifiers = {"id": str(revision.item_id), "externalId": revision.item.external_id}
            yield {name: value for name, value in identifiers.items() if value is not None} | revision.payload


Purging = Callable[[UUID, UUID], object]
"""Removes other data about an item, by the ids of the dataset and the item."""
_purging: Final[list[Purging]] = []


def register_purging(purging: Purging) -> None:
    """Register a function that is called before the content of an item is removed, in the transaction."""
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
        self.dataset.digest = _shift_digest(self.dataset.digest, str(item.pk), content.digest, 1)
        return self._revision(item, content.text, searchable_values(content.payload), content.digest)

    def remove(self, before: Revision) -> None:
        """Delete an item from this version on."""
        self.end(before)
        self.dataset.items_count -= 1
        # Deleted items are not searched.
        self._revision(before.item, before.payload_json, "", before.digest, is_deleted=True)

    def end(self, before: Revision) -> None:
        """End a revision with this version."""
        before.until = self.number
        self.ended.append(before)
        self.dataset.digest = _shift_digest(self.dataset.digest, str(before.item_id), before.digest, -1)

    def add(self, item: Item, content: Content) -> Revision:
        """Add a new item."""
        self.new_items.append(item)
        return self.put(item, content)

    def _revision(
        self, item: Item, payload: str, search_text: str, digest: str, *, is_deleted: bool = False
    ) -> Revision:
        revision = Revision(
            item=item,
            dataset=self.dataset,
            version=self.number,
            payload_json=payload,
            search_text=search_text,
            digest=digest,
            is_deleted=is_deleted,
        )
        self.new.append(revision)
        return revision

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
    with changing_dataset(dataset_id, by) as dataset:
        batch = Batch(dataset, dataset.version + 1)
        yield batch
        batch.store(by)


@dataclass(frozen=True)
class AddedItems:
    """The items of a call in its order, and how many of them are new."""

    revisions: Sequence[Revision]
    created: int
    dataset: Dataset


@retry_on_conflict
@checking_first
def add_items(
    dataset_id: str, items: Sequence[Mapping[str, Any]], *, places: Sequence[str], by: Who = APPLICATION
) -> AddedItems:
    """Add items: all or none. One whose external id exists with the same content is unchanged.

    `places` are the prefixes of issues about each item. Raises `Invalid`, `ItemTooLarge`, `SchemaRefusal` and
    `ItemConflict`.
    """
    caller = caller_of(by)
    settings = find_dataset(dataset_id, by=caller, right=Right.SAVE).settings
    contents = _read_all(settings, items, places)
    with changing_items(dataset_id, caller) as batch:
        refuse_other_schemas(batch.dataset, settings)
        return _add_to(batch, items, contents)


def _read_all(
    settings: Mapping[str, Any], items: Sequence[Mapping[str, Any]], places: Sequence[str]
) -> list[Content]:
    contents = []
    for item, place in zip(items, places, strict=True):
        problem = metadata_problem(item.get("metadata"))
        if problem is not None:
            raise Invalid([Issue(f"{place}{problem.field}", problem.message)])
        contents.append(make_content(item))
    refuse_by_schemas(settings, [content.payload for content in contents], places)
    return contents


def _add_to(batch: Batch, items: Sequence[Mapping[str, Any]], contents: Sequence[Content]) -> AddedItems:
    existing = by_external_id(batch.dataset, (item.get("externalId") for item in items))
    conflicts, revisions, created = [], [], 0
    for index, (members, content) in enumerate(zip(items, contents, strict=True)):
        external_id = members.get("externalId")
        there = existing.get(external_id)
        if there is None:
            item = Item(dataset=batch.dataset, external_id=external_id)
            there = batch.add(item, content)
            created += 1
            if external_id is not None:
                existing[external_id] = there
        elif there.is_deleted or there.digest != content.digest:
            reason = "deleted" if there.is_deleted else "payload_mismatch"
            about = {"externalId": external_id, "existingItemId": str(there.item_id), "reason": reason}
            conflicts.append({"index": index, **about})
        revisions.append(there)
    if conflicts:
        raise ItemConflict(conflicts)
    return AddedItems(revisions, created, batch.dataset)


class DatasetChanged(Conflict):
    """Items have changed since the version that an edit is based on."""

    def __init__(self, dataset: Dataset, base: int) -> None:
        super().__init__(
            Message("This dataset has changed: its current version is {now}.", now=dataset.version),
            code="dataset_changed",
        )
        self.base = base


@retry_on_conflict
@checking_first
def save_items(
    dataset_id: str,
    *,
    base: int,
    changed: Mapping[str, Mapping[str, Any]],
    removed: Collection[str] = (),
    added: Mapping[str, Mapping[str, Any]],
    by: Who = APPLICATION,
) -> Dataset:
    """Change, delete and add items, as one version, if the dataset still has the version `base`.

    `changed` has the changes of each item by its id; the keys of `added` are the prefixes of issues about new
    items. Raises `DatasetChanged`, and the errors of `add_items`.
    """
    caller, removed_ids = caller_of(by), set(removed)
    dataset = find_dataset(dataset_id, by=caller, right=Right.SAVE)
    if dataset.version != base:
        raise DatasetChanged(dataset, base)
    revisions = list(
        Revision.objects.of_version(dataset).filter(item__in=item_ids_in({*changed, *removed_ids}))
    )
    remaining = [
        before for before in revisions if str(before.item_id) not in removed_ids and not before.is_purged
    ]
    payloads = [
        *({**before.payload, **changed[str(before.item_id)]} for before in remaining),
        *added.values(),
    ]
    places = [*(f"{before.item_id}." for before in remaining), *(f"{place}." for place in added)]
    contents = _read_all(dataset.settings, payloads, places)
    with changing_items(dataset_id, caller) as batch:
        if batch.dataset.version != base:
            raise DatasetChanged(batch.dataset, base)
        refuse_other_schemas(batch.dataset, dataset.settings)
        if Revision.objects.filter(pk__in=[before.pk for before in remaining]).purged().exists():
            raise CheckedInVain
        for before in revisions:
            if str(before.item_id) in removed_ids:
                batch.remove(before)
        for before, content in zip(remaining, contents, strict=False):
            if before.digest != content.digest:
                batch.put(before.item, content, before)
        if added:
            _add_to(batch, list(added.values()), contents[len(remaining) :])
    return batch.dataset


@retry_on_conflict
@checking_first
def change_item(
    dataset_id: str, item_id: str, changes: Mapping[str, Any], *, by: Who = APPLICATION
) -> Revision:
    """Change the given members of an item; null clears one."""
    caller = caller_of(by)
    dataset = find_dataset(dataset_id, by=caller, right=Right.SAVE)
    before = find_item(dataset, item_id)
    if before.is_purged:
        raise Conflict(Message("The content of this item was purged."), code="purged")
    [content] = _read_all(dataset.settings, [{**before.payload, **changes}], [""])
    with changing_items(dataset_id, caller) as batch:
        refuse_other_schemas(batch.dataset, dataset.settings)
        now = find_item(batch.dataset, item_id)
        if now.payload_json != before.payload_json:
            raise CheckedInVain
        if now.digest == content.digest:
            return now
        return batch.put(now.item, content, now)


@retry_on_conflict
def remove_items(dataset_id: str, item_ids: Iterable[str], *, by: Who = APPLICATION) -> int:
    """Delete items from the next version on; return their number."""
    caller = caller_of(by)
    ids = set(item_ids_in(item_ids))
    with changing_items(dataset_id, caller) as batch:
        revisions = Revision.objects.of_version(batch.dataset).filter(item__in=ids)
        for before in revisions:
            batch.remove(before)
    return len(revisions)


@retry_on_conflict
def purge_item(dataset_id: str, item_id: str, *, by: Who = APPLICATION) -> None:
    """Remove the content of an item from every version permanently; version and digest do not change.

    While a gate uses the dataset, this requires the right to publish.
    """
    caller = caller_of(by)
    with changing_dataset(dataset_id, caller) as dataset:
        if list_uses(dataset):
            caller.require_publish(dataset.workspace_id)
        revisions = Revision.objects.filter(dataset=dataset, item=parse_uuid(item_id))
        if not revisions.exists():
            raise NotFound
        for remove in _purging:
            remove(dataset.pk, parse_uuid(item_id))
        revisions.update(payload_json=PURGED_TEXT, search_text="")
        dataset.record("updated", caller, purged=item_id)


def item_ids_in(ids: Iterable[str]) -> Iterator[UUID]:
    """Yield the ids that are valid for an item."""
    for item_id in ids:
        with suppress(NotFound):  # it is not a valid id
            yield parse_uuid(item_id)


def find_item(dataset: Dataset, item_id: str) -> Revision:
    """Return an item as it is now; raises `NotFound`."""
    revision = Revision.objects.of_version(dataset).filter(item=parse_uuid(item_id)).first()
    if revision is None:
        raise NotFound
    return revision


def by_external_id(dataset: Dataset, external_ids: Iterable[str | None]) -> dict[str | None, Revision]:
    """Return the last revisions of the items with these external ids, deleted ones included."""
    rows = Revision.objects.filter(
        dataset=dataset, until=None, item__external_id__in={*external_ids} - {None}
    )
    return {revision.item.external_id: revision for revision in rows.select_related("item")}


MAX_TEXT: Final = 64 * 1024 * 1024
"""The maximum size of all items of a file together, which repeated defaults can make many times larger."""


class FailedRow(NamedTuple):
    """A row of a file that cannot be imported."""

    row: int
    issues: Sequence[Issue]

    @property
    def message(self) -> str:
        """The reason, as one sentence."""
        return "; ".join(f"{issue.field}: {issue.message}" for issue in self.issues)


class ImportRefused(Invalid):
    """Rows of a file cannot be imported; the error has them."""

    def __init__(self, failed: Sequence[FailedRow]) -> None:
        super().__init__(
            [Issue(f"rows.{row.row}.{issue.field}", issue.message) for row in failed for issue in row.issues]
        )
        self.failed = failed

    def details(self) -> dict[str, Any]:
        """Return the issues, and the rows that fail."""
        rows = [{"row": row.row, "message": row.message} for row in self.failed]
        return {**super().details(), "failed": rows}


@dataclass
class Imported:
    """The result of an import: new items, duplicates, failed rows, and the new version."""

    created: int = 0
    unchanged: int = 0
    failed: list[FailedRow] = field(default_factory=list)
    version: int = 0


class _FileItem(NamedTuple):
    row: int
    item_id: str | None
    external_id: str | None
    content: Content

    @property
    def is_unnamed(self) -> bool:
        return self.item_id is None and self.external_id is None

    def ids_in(self, dataset: Dataset) -> Iterator[UUID]:
        """Yield the ids under which an item can exist here: its own, or the one from an earlier import."""
        if self.item_id is not None:
            with suppress(NotFound):
                yield parse_uuid(self.item_id)
            yield uuid5(dataset.pk, self.item_id)


@retry_on_conflict
@checking_first
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
    """Add the new items of a file as one version.

    An item exists if its `externalId`, its `id` or, without both in the file, its content exists. With
    `dry_run` nothing is stored, and failing rows are returned; otherwise they raise `ImportRefused`. Raises
    `Invalid` for an unreadable file and for too many items, and `Conflict` if the schemas of the dataset keep
    changing meanwhile.

    `encodings` are tried in turn for a file without a byte order mark (by default UTF-8 alone). `layout` is
    only for the format `csv`.
    """
    caller, imported = caller_of(by), Imported()
    settings = find_dataset(dataset_id, by=caller, right=Right.SAVE).settings
    text = decode(body, *encodings)[0]
    rows = FORMATS[format].read(text) if layout is None else formats.parse_rows(text, layout)
    items = list(_read_file_items(rows, settings, imported))
    with changing_items(dataset_id, caller) as batch:
        refuse_other_schemas(batch.dataset, settings)
        _add_file_items(batch, items, imported)
        imported.failed.sort()
        if imported.failed and not dry_run:
            raise ImportRefused(imported.failed)
        imported.version = batch.dataset.version + (1 if batch.new and not dry_run else 0)
        batch.check()
        if dry_run:
            batch.new.clear()
        return imported


def _read_file_items(
    rows: Iterator[Row], settings: Mapping[str, Any], imported: Imported
) -> Iterator[_FileItem]:
    size = 0
    for row in islice(rows, MAX_ITEMS + 1):
        issues: Iterable[Issue] = row.issues
        if not issues:
            item = dict(row.item)
            item_id = item.pop("id", None)
            try:
                content = _check_file_item(item, item_id, settings)
            except Invalid as error:
                issues = error.issues
            except ItemTooLarge as error:
                issues = [Issue("row", error.message)]
            else:
                size += len(content.text)
                if size > MAX_TEXT:
                    raise Invalid.field("body", Message("is too large"))
                yield _FileItem(row.number, item_id, item.get("externalId"), content)
                continue
        imported.failed.append(FailedRow(row.number, tuple(issues)))
        if len(imported.failed) >= MAX_ISSUES:  # enough to mend
            return
    if next(rows, None) is not None:
        message = Message("a dataset has at most {limit} items", limit=MAX_ITEMS)
        raise Invalid.field("items", message, code="too_many_items")


def _check_file_item(item: Mapping[str, Any], item_id: Any, settings: Mapping[str, Any]) -> Content:
    if item_id is not None and not isinstance(item_id, str):
        raise Invalid.field("id", Message("must be a text"))
    if (fault := canonical.fault(item_id)) is not None:
        raise Invalid.field("id", fault[1])
    raise_for_issues(ItemCreate, item)
    problem = metadata_problem(item.get("metadata"))
    is_purged = {**item, "externalId": None} == {
        **PURGED_PAYLOAD,
        "externalId": None,
    }  # in the form of exports
    if problem is not None and not is_purged:
        raise Invalid([problem])
    content = make_content(item)
    issues = [issue for _, _, refusals in schema_refusals(settings, content.payload) for issue in refusals]
    if issues:
        raise Invalid(issues)
    return content


def _add_file_items(batch: Batch, items: Sequence[_FileItem], imported: Imported) -> None:
    """Add the new items; rows of existing items with another content fail."""
    dataset = batch.dataset
    by_external = by_external_id(dataset, (item.external_id for item in items))
    ids = {item_id for item in items for item_id in item.ids_in(dataset)}
    present = Revision.objects.filter(dataset=dataset, until=None, item__in=ids).select_related("item")
    by_id = {revision.item_id: revision for revision in present}
    # The number of items without an external id that have the content of rows without ids.
    digests = {item.content.digest for item in items if item.is_unnamed}
    unnamed = Revision.objects.of_version(dataset).filter(digest__in=digests, item__external_id=None)
    pairs = unnamed.values_list("item", "digest") if digests else ()
    same = Counter(digest for item_id, digest in pairs if item_id not in by_id)
    for item in items:
        content = item.content
        there = by_external.get(item.external_id)
        there = there or next((by_id[key] for key in item.ids_in(dataset) if key in by_id), None)
        if there is not None:
            member = "id" if item.external_id is None else "externalId"
            if there.is_deleted:
                problem = Issue(member, Message("belongs to a deleted item"))
            elif item.external_id != there.item.external_id:
                problem = Issue("externalId", Message("does not belong to the item with this id"))
            elif content.digest != there.digest and content.text != there.payload_json:
                problem = Issue(member, Message("belongs to an item with another content"))
            else:
                imported.unchanged += 1
                continue
            imported.failed.append(FailedRow(item.row, (problem,)))
        elif content.text == PURGED_TEXT:  # its content no longer exists
            imported.unchanged += 1
        elif item.is_unnamed and same[content.digest] > 0:
            same[content.digest] -= 1
            imported.unchanged += 1
        else:
            imported.created += 1
            row = Item(dataset=dataset, external_id=item.external_id)
            if item.item_id is not None:
                row.pk = uuid5(dataset.pk, item.item_id)
            by_id[row.pk] = batch.add(row, content)
            if item.external_id is not None:
                by_external[item.external_id] = by_id[row.pk]


class Datasets(Verbs):
    """The verbs of datasets; `by` is the caller, by default the application."""

    list = staticmethod(list_datasets)
    find = staticmethod(find_dataset)
    create = create_dataset
    change = change_dataset
    delete = staticmethod(delete_dataset)
    add = staticmethod(add_items)
    change_item = staticmethod(change_item)
    save_items = staticmethod(save_items)
    remove = staticmethod(remove_items)
    purge = staticmethod(purge_item)
    import_items = staticmethod(import_items)
    export_items = staticmethod(export_items)
