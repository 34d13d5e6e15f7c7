"""What the items of releases name: their resources and versions as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from uuid import UUID

from releases.models import ReleaseItem
from releases.models.releases import Action
from releases.rules import in_order
from versioning.domain.kinds import KINDS, KINDS_BY_WORD, ResourceKind
from versioning.editor import Collection, Editor
from versioning.models import Version, VersionedResource

AT_ONCE: Final = 500
"""How many rows one statement asks for by their keys."""

_POINTERS: Final = ("active_version", "latest_version")
_TEXTS: Final = tuple(
    f"{pointer}__{text}" for pointer in _POINTERS for text in ("config_json", "search_text", "excerpt")
)


@dataclass(frozen=True, kw_only=True)
class ItemNow:
    """An item, and what is stored of what it names."""

    item: ReleaseItem
    resource: Any = None
    """The resource with its two versions, without their texts; None if it is gone."""
    version: Any = None
    """The version to publish; None if it was deleted, or none is to be published."""
    is_file: bool = False
    """Whether it is an override that is kept as a file."""

    @property
    def kind(self) -> str:
        """The word of the kind of the resource."""
        return self.item.kind

    @property
    def resource_id(self) -> str:
        """The id of the resource."""
        return self.item.resource_id

    @property
    def active_version_id(self) -> UUID | None:
        """The version that is live now."""
        return self.resource.active_version_id if self.resource is not None else None

    @property
    def is_unchanged(self) -> bool:
        """Whether what is live is what the item asks for."""
        return self.resource is not None and self.active_version_id == self.item.version_id

    @property
    def active_before(self) -> str | None:
        """The version that the release replaced, or would replace if it were published now."""
        is_draft = self.item.release.published_at is None
        found = self.active_version_id if is_draft else self.item.active_before
        return None if found is None else str(found)

    @property
    def newer(self) -> bool:
        """Whether a version was saved after the one that the release publishes."""
        pinned = self.item.version_number
        return self.resource is not None and pinned is not None and self.resource.latest.number > pinned


def now(editor: Editor, items: Iterable[ReleaseItem], *, with_texts: bool = False) -> list[ItemNow]:
    """Return what is stored of items, in their order; a few statements for each kind.

    `with_texts` reads the configurations of the versions to publish, which takes long for many large ones.
    """
    wanted = list(items)
    found: dict[int, ItemNow] = {}
    for kind in KINDS:
        own = [item for item in wanted if item.kind == kind.word]
        if own:
            found |= _of_kind(editor, kind, own, with_texts=with_texts)
    return [found[item.pk] for item in wanted]


def locked(editor: Editor, items: Iterable[ReleaseItem]) -> list[ItemNow]:
    """Lock the resources of items for this transaction, and return what is stored of them, in that order."""
    wanted = in_order(items)
    for word in dict.fromkeys(item.kind for item in wanted):
        rows = collection_of(editor, word).all
        ids = [item.resource_id for item in wanted if item.kind == word]
        list(rows.locked().filter(pk__in=ids).order_by("pk").values_list("pk"))
    return now(editor, wanted, with_texts=True)


def collection_of(editor: Editor, word: str) -> Collection[Any]:
    """Return the verbs of a kind, by its word."""
    return editor.collection(KINDS_BY_WORD[word])


def moves_of_blocks(items: Iterable[ReleaseItem]) -> dict[str, bool]:
    """Return the prompt blocks that the items publish (True) or unpublish (False), by id."""
    return {
        item.resource_id: item.action == Action.PUBLISH for item in items if KINDS_BY_WORD[item.kind].is_shown
    }


def is_file(editor: Editor, resource: VersionedResource) -> bool:
    """Say whether a resource is an override that is kept as a file."""
    if editor.source != "code" or not resource.kind.in_code:
        return False
    return editor.code.overridden_by(resource.pk, resource.workspace_id) is not None


def _of_kind(
    editor: Editor, kind: ResourceKind, items: Sequence[ReleaseItem], *, with_texts: bool
) -> Mapping[int, ItemNow]:
    collection = editor.collection(kind)
    resources = rows_of(collection, [item.resource_id for item in items])
    wanted = [item.version_id for item in items if item.version_id]
    pinned = versions_of(collection, wanted, with_texts=with_texts)
    return {item.pk: _item_now(editor, item, resources.get(item.resource_id), pinned) for item in items}


def _item_now(
    editor: Editor,
    item: ReleaseItem,
    resource: VersionedResource | None,
    versions: Mapping[UUID, Version],
) -> ItemNow:
    if resource is None or resource.uuid != item.identity:
        return ItemNow(item=item)
    version = versions.get(item.version_id) if item.version_id else None
    return ItemNow(
        item=item,
        resource=resource,
        version=version if version is not None and version.resource_id == resource.pk else None,
        is_file=is_file(editor, resource),
    )


def rows_of(collection: Collection[Any], ids: Iterable[str]) -> dict[str, Any]:
    """Return rows by their ids, each with its two versions, without their texts."""
    rows = collection.all.select_related(*_POINTERS).defer(*_TEXTS)
    return {one.pk: one for one in _by_key(rows, ids)}


def versions_of(collection: Collection[Any], ids: Iterable[UUID], *, with_texts: bool) -> dict[UUID, Any]:
    """Return versions by their ids, with their configurations if those are wanted."""
    versions = collection.model.version_model.objects.defer("search_text", "excerpt")
    if not with_texts:
        versions = versions.defer("config_json")
    return {one.pk: one for one in _by_key(versions, ids)}


def _by_key(rows: Any, keys: Iterable[Any]) -> Iterator[Any]:
    left = iter(dict.fromkeys(keys))
    while some := list(islice(left, AT_ONCE)):
        yield from rows.filter(pk__in=some)
