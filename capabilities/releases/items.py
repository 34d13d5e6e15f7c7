"""The items of releases: as callers name them, as stored with exact versions, and their current state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import UUID

from editor_client.shared import ids

from capabilities.releases.models import MAX_ITEMS, Action, Release, ReleaseItem
from capabilities.releases.rules import in_order, refuse_twice
from versioning.domain.access import Caller
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.kinds import KINDS_BY_SLUG, ResourceKind
from versioning.domain.uuids import parse_uuid
from versioning.editor import Collection, Editor
from versioning.models import AgentVersion, Version, VersionedResource
from versioning.models.querysets import covered_by
from versioning.serving.overlays import OverlaidVersion

AT_ONCE: Final = 500
"""The maximum number of rows that one statement reads by key."""

_POINTERS: Final = ("active_version", "latest_version")
_TEXTS: Final = tuple(
    f"{pointer}__{text}" for pointer in _POINTERS for text in ("config_json", "search_text", "excerpt")
)
# Columns after the texts in a row of SQLite, which reads through all of these on the way.
_ALL_BUT_NUMBERS: Final = tuple(
    f"{pointer}__{field.name}"
    for pointer in _POINTERS
    for field in AgentVersion._meta.concrete_fields
    if field.name not in {"id", "number"}
)

Versions = Mapping[UUID, Version]


@dataclass(frozen=True, kw_only=True)
class ItemNow:
    """An item, and the current state of its resource and version."""

    item: ReleaseItem
    resource: Any = None
    """The resource with its two versions, without their texts; None if it was deleted."""
    version: Any = None
    """The version to publish; None if it was deleted, or the item unpublishes."""
    is_file: bool = False
    """Whether it is an override stored as a file."""

    @property
    def kind(self) -> str:
        """The slug of the kind of the resource."""
        return self.item.kind

    @property
    def resource_id(self) -> str:
        """The id of the resource."""
        return self.item.resource_id

    @property
    def active_version_id(self) -> UUID | None:
        """The current live version."""
        return self.resource.active_version_id if self.resource is not None else None

    @property
    def is_unchanged(self) -> bool:
        """Whether the live version already equals the item's target."""
        return self.resource is not None and self.active_version_id == self.item.version_id

    @property
    def active_before(self) -> str | None:
        """The version that the release replaced, or would replace if it were published now."""
        is_draft = self.item.release.published_at is None
        version_id = self.active_version_id if is_draft else self.item.active_before
        return None if version_id is None else str(version_id)

    @property
    def newer(self) -> bool:
        """Whether a newer version than the one to publish was saved."""
        pinned = self.item.version_number
        return self.resource is not None and pinned is not None and self.resource.latest.number > pinned


def now(editor: Editor, items: Iterable[ReleaseItem], *, with_texts: bool = False) -> list[ItemNow]:
    """Return the current state of items, in their order; a few statements for each kind.

    `with_texts` reads the configurations of the versions to publish, which takes long for many large ones.
    """
    rows = list(items)
    current: dict[int, ItemNow] = {}
    for kind, items_of_kind in _by_kind(rows):
        collection = editor.collection(kind)
        resources = read_rows(collection, [item.resource_id for item in items_of_kind])
        versions = read_versions(collection, _pins(items_of_kind), with_texts=with_texts)
        current |= {item.pk: _item_now(editor, item, resources, versions) for item in items_of_kind}
    return [current[item.pk] for item in rows]


def read_ahead(editor: Editor, items: Iterable[ReleaseItem]) -> Versions:
    """Return the versions of items, for `lock_items`; reading large ones takes long.

    Versions never change, so they need not be read inside a transaction that others wait for.
    """
    versions: dict[UUID, Version] = {}
    for kind, items_of_kind in _by_kind(items):
        versions |= read_versions(editor.collection(kind), _pins(items_of_kind), with_texts=True)
    for version in versions.values():
        version.config  # noqa: B018  which parses it
    return versions


def lock_items(
    editor: Editor, items: Iterable[ReleaseItem], versions: Versions | None = None
) -> list[ItemNow]:
    """Lock the resources of items for this transaction, and return their state, in that order.

    `versions`, which were read before, are used if they still exist; missing ones are read now. Without
    `versions` the items have none. For the versions that a resource points at, only the numbers are read.
    """
    rows = in_order(items)
    for kind, items_of_kind in _by_kind(rows):
        targets = editor.collection(kind).all.filter(pk__in=[item.resource_id for item in items_of_kind])
        list(targets.with_lock().order_by("pk").values_list("pk"))
    locked: list[ItemNow] = []
    for kind, items_of_kind in _by_kind(rows):
        collection = editor.collection(kind)
        resources = read_rows(
            collection, [item.resource_id for item in items_of_kind], without=_ALL_BUT_NUMBERS
        )
        current: dict[UUID, Version] = {}
        if versions is not None:
            pins = _pins(items_of_kind)
            stored_keys = read_versions(collection, pins & versions.keys(), keys_only=True)
            missing = read_versions(collection, pins - versions.keys(), with_texts=True)
            current = {**{pk: versions[pk] for pk in stored_keys}, **missing}
        locked += [_item_now(editor, item, resources, current) for item in items_of_kind]
    return locked


def find_collection(editor: Editor, slug: str) -> Collection[Any]:
    """Return the verbs of a kind, by its slug."""
    return editor.collection(KINDS_BY_SLUG[slug])


def planned_versions(items: Iterable[ReleaseItem]) -> dict[tuple[str, str], OverlaidVersion]:
    """Return the versions that the items publish or unpublish, by kind and id."""
    return {
        (item.kind, item.resource_id): OverlaidVersion(
            identity=item.identity, version_id=None if item.version_id is None else str(item.version_id)
        )
        for item in items
    }


def is_file(editor: Editor, resource: VersionedResource) -> bool:
    """Return whether a resource is an override stored as a file."""
    if editor.source != "code" or not resource.kind.in_code:
        return False
    return editor.code.overridden_by(resource.pk, resource.workspace_id) is not None


def _by_kind(items: Iterable[ReleaseItem]) -> Iterator[tuple[ResourceKind, list[ReleaseItem]]]:
    """Yield the kinds of the items in locking order, each with its items in their order."""
    rows = list(items)
    for slug in dict.fromkeys(item.kind for item in in_order(rows)):
        yield KINDS_BY_SLUG[slug], [item for item in rows if item.kind == slug]


def _pins(items: Iterable[ReleaseItem]) -> set[UUID]:
    return {item.version_id for item in items if item.version_id is not None}


def _item_now(
    editor: Editor,
    item: ReleaseItem,
    resources: Mapping[str, VersionedResource],
    versions: Versions,
) -> ItemNow:
    resource = resources.get(item.resource_id)
    if resource is None or resource.uuid != item.identity:
        return ItemNow(item=item)
    version = versions.get(item.version_id) if item.version_id else None
    return ItemNow(
        item=item,
        resource=resource,
        version=version if version is not None and version.resource_id == resource.pk else None,
        is_file=is_file(editor, resource),
    )


def read_rows(
    collection: Collection[Any], ids: Iterable[str], *, without: Sequence[str] = _TEXTS
) -> dict[str, Any]:
    """Return rows by their ids, each with its two versions, without texts or the deferred fields."""
    rows = collection.all.select_related(*_POINTERS).defer(*without)
    return {row.pk: row for row in _by_key(rows, ids)}


def read_versions(
    collection: Collection[Any], ids: Iterable[UUID], *, with_texts: bool = False, keys_only: bool = False
) -> dict[UUID, Any]:
    """Return versions by their ids, with their configurations or without, or with only their keys."""
    rows = collection.model.version_model.objects.order_by()
    if keys_only:
        rows = rows.only("pk")
    else:
        rows = rows.defer("search_text", "excerpt", *(() if with_texts else ("config_json",)))
    return {row.pk: row for row in _by_key(rows, ids)}


def _by_key(rows: Any, keys: Iterable[Any]) -> Iterator[Any]:
    remaining = iter(dict.fromkeys(keys))
    while batch := list(islice(remaining, AT_ONCE)):
        yield from rows.filter(pk__in=batch)


Items = Sequence[Mapping[str, Any]]
"""`{"resource": {"kind", "id"}, "action"?, "versionId"?}`, as in JSON."""

_Resources = Mapping[tuple[str, str], VersionedResource]
"""Resources by the slug of their kind and their id."""
_Versions = Mapping[tuple[str, str, UUID], int]
"""The numbers of versions by kind, resource and id."""


def pin_items(editor: Editor, release: Release, items: Items, by: Caller) -> list[ReleaseItem]:
    """Return the items to store; an item without a version gets the latest one of its resource.

    Takes two statements for each kind. Raises `Invalid` naming each item that has a problem.
    """
    refuse_too_many(len(items))
    release_items = [
        ReleaseItem(
            release=release,
            place=place,
            kind=item["resource"]["kind"],
            resource_id=item["resource"]["id"],
            action=item.get("action", Action.PUBLISH),
        )
        for place, item in enumerate(items)
    ]
    refuse_twice(release_items)
    resources = _resources(editor, release, release_items, by)
    versions = _versions(editor, resources, items)
    issues: list[Issue] = []
    for item, members in zip(release_items, items, strict=True):
        resource = resources.get((item.kind, item.resource_id))
        if resource is None:
            kind = KINDS_BY_SLUG[item.kind].singular
            message = Message("is not stored in this workspace ({kind})", kind=kind)
            issues.append(Issue(f"items.{item.place}.resource", message))
        elif is_file(editor, resource):
            message = Message("is an override that is stored as a file, which no release can publish")
            raise Invalid.field(f"items.{item.place}.resource", message, code="code_source")
        else:
            item.identity = resource.uuid
            issues += _pin(item, resource, members.get("versionId"), versions)
    if issues:
        raise Invalid(issues)
    return release_items


def _resources(editor: Editor, release: Release, items: Sequence[ReleaseItem], by: Caller) -> _Resources:
    """Return the resources of the items, in the workspace of the release and within the limits of a key."""
    resources: dict[tuple[str, str], VersionedResource] = {}
    for slug in KINDS_BY_SLUG:
        names = [
            item.resource_id for item in items if item.kind == slug and not ids.problem(item.resource_id)
        ]
        if names:
            rows = find_collection(editor, slug).all.filter(covered_by(by), pk__in=names)
            rows = rows.filter(workspace_id=release.workspace_id)
            resources |= {(slug, row.pk): row for row in rows}
    return resources


def _versions(editor: Editor, resources: _Resources, items: Items) -> _Versions:
    """Return the versions that items may pin: those that they name, and the latest of each resource."""
    version_ids = {version_id for item in items if (version_id := _uuid(item.get("versionId"))) is not None}
    numbers: dict[tuple[str, str, UUID], int] = {}
    for slug in dict.fromkeys(slug for slug, _id in resources):
        latest = {row.latest_version_id for (kind, _id), row in resources.items() if kind == slug}
        rows = find_collection(editor, slug).model.version_model.objects.filter(pk__in=version_ids | latest)
        columns = rows.order_by().values_list("resource_id", "pk", "number")
        numbers |= {(slug, resource_id, pk): number for resource_id, pk, number in columns}
    return numbers


def _pin(
    item: ReleaseItem, resource: VersionedResource, version_id: str | None, versions: _Versions
) -> Iterator[Issue]:
    """Set the version of an item; yield its problem, if any."""
    field = f"items.{item.place}.versionId"
    if item.action == Action.UNPUBLISH:
        if version_id is not None:
            yield Issue(field, "must be absent if the action is 'unpublish'")
        return
    chosen_id = resource.latest_version_id if version_id is None else _uuid(version_id)
    number = None if chosen_id is None else versions.get((item.kind, item.resource_id, chosen_id))
    if number is None:
        yield Issue(field, "is not a version of this resource")
        return
    item.version_id, item.version_number = chosen_id, number


def _uuid(text: str | None) -> UUID | None:
    """Return the UUID of a version; None for any other text."""
    with suppress(NotFound):
        return parse_uuid(text or "")
    return None


def refuse_too_many(number: int) -> None:
    """Raise `Invalid` if there are more items than a release may have."""
    if number > MAX_ITEMS:
        raise Invalid.field("items", Message("must not be more than {limit}", limit=MAX_ITEMS))
