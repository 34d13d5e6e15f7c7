"""Datasets from test cases, compared by the external ids of their items, which are made from the content."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.errors import ValidationFailed
from editor_client.manage.shapes import DatasetRecord
from editor_client.shared import canonical, dataset_items
from editor_client.sync import Client
from editor_client.transfer.importing.collection import (
    Collection,
    Dataset,
    Unreadable,
    excerpt,
    external_id,
)
from editor_client.transfer.importing.documents import MAX_TOTAL

BATCH: Final = 200
MAX_BATCH: Final = 700_000
"""The maximum size of a batch, in characters: the server limits bodies."""
_LISTS: Final = ("scorerIds", "targetIds")


class Changed(Unreadable):
    """A dataset of another origin has taken the name since the plan was made."""


def plan_dataset(
    client: Client, dataset: Dataset, collection: Collection, workspace_id: str, source: str
) -> dict[str, Any]:
    """Return the plan for a dataset: all of it, or the missing items, scorers and targets.

    Entries that are only in the editor stay, and the plan lists them. `source` distinguishes the places of
    files: a dataset of the same name from another place, with none of these items, belongs to another source.
    """
    record = find_dataset(client, dataset.stored_name, workspace_id)
    origin = {
        "system": collection.system,
        "name": dataset.source_name or dataset.name,
        "version": None,
        "source": source,
        "digest": canonical.digest(dataset.items),
    }
    settings = {
        "description": dataset.description,
        "scorerIds": list(dataset.scorer_ids) or None,
        "targetType": "agent" if dataset.agent_ids else None,
        "targetIds": list(dataset.agent_ids) or None,
    }
    extra = collection.fitting(dataset.extra, dataset.name)
    new_settings: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    planned: dict[str, Any] = {
        "name": dataset.stored_name,
        "settings": new_settings,
        "metadata": {"import": extra} if extra else {},
        "origin": origin,
        "items": list(dataset.items),
    }
    if record is None:
        return {"action": "create", **planned}
    if not _belongs_to(record, origin):
        reason = "There is a dataset of this name and of another origin; choose a --prefix."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    item_ids = _external_ids(client, record)
    existing_origin = (record.metadata or {}).get("origin", {})
    is_elsewhere = existing_origin.get("source", source) != source
    if is_elsewhere and item_ids and all(item["externalId"] not in item_ids for item in dataset.items):
        reason = "There is a dataset of this name from another source, with other items; choose a --prefix."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    missing = [item for item in dataset.items if item["externalId"] not in item_ids]
    missing = _select_accepted(client, record, missing, dataset, collection)
    changes, surplus = _changes(record, new_settings)
    source_ids = {item["externalId"] for item in dataset.items}
    surplus["items"] = sum(1 for item_id in item_ids if item_id not in source_ids)
    notes = [f"{count} {name} that are not in the source stay" for name, count in surplus.items() if count]
    reasons = {"reason": f"{'; '.join(notes)}."} if notes else {}
    action = "update" if missing or changes else "unchanged"
    return {"action": action, **reasons, **planned, "settings": changes, "items": missing}


def apply_dataset(
    client: Client, planned: Mapping[str, Any], workspace_id: str, unmade: Container[str] = ()
) -> bool:
    """Make a dataset and its items, as far as they are missing; return whether anything was made.

    `unmade` are the scorers that could not be made, which the dataset then lacks. Raises `Changed`.
    """
    record = find_dataset(client, planned["name"], workspace_id)
    settings: dict[str, Any] = dict(planned["settings"])
    if "scorerIds" in settings:
        settings["scorerIds"] = [
            scorer_id for scorer_id in settings["scorerIds"] if scorer_id not in unmade
        ] or None
    metadata = {**planned.get("metadata", {}), "origin": planned["origin"]}
    is_new = record is None
    if record is None:
        new: Any = {name: value for name, value in settings.items() if value is not None}
        # With the origin from the beginning, so that an interrupted import can continue.
        new |= {"name": planned["name"], "workspaceId": workspace_id, "metadata": metadata}
        record = client.create_dataset(**new)
    elif not _belongs_to(record, planned["origin"]):
        raise Changed("it has changed since the plan was made; plan again")
    dataset = client.get_dataset(record.id)
    item_ids = set() if is_new else _external_ids(client, record)
    items = [_without(item, unmade) for item in planned["items"] if item["externalId"] not in item_ids]
    for batch in _batches(items):
        dataset.add_items(batch)
    changes, _ = _changes(record, settings)
    new_metadata = {**(record.metadata or {}), **metadata}
    if changes or not canonical.same(new_metadata, dict(record.metadata or {})):
        dataset.update(**changes, metadata=new_metadata)
    return is_new or bool(items) or bool(changes)


def find_dataset(client: Client, name: str, workspace_id: str) -> DatasetRecord | None:
    """Return the dataset of this name, if there is one."""
    datasets = client.iter_datasets(workspace_id=workspace_id, per_page=100)
    return next((dataset for dataset in datasets if dataset.name == dataset_items.composed_name(name)), None)


def _belongs_to(record: DatasetRecord, origin: Mapping[str, Any]) -> bool:
    existing_origin = (record.metadata or {}).get("origin")
    if not isinstance(existing_origin, Mapping):
        return False
    return (existing_origin.get("system"), existing_origin.get("name")) == (origin["system"], origin["name"])


def _external_ids(client: Client, record: DatasetRecord) -> set[str | None]:
    return {item.external_id for item in client.get_dataset(record.id).iter_items(per_page=200)}


def _changes(record: DatasetRecord, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the settings that would change, whose lists grow, and how many entries only the editor has."""
    changes: dict[str, Any] = {}
    surplus: dict[str, int] = {}
    for name in _LISTS:
        present = list(record.get(name) or ())
        new_ids = list(settings.get(name) or ())
        if missing := [item_id for item_id in new_ids if item_id not in present]:
            changes[name] = [*present, *missing]
        surplus["scorers" if name == "scorerIds" else "targets"] = len(
            [item_id for item_id in present if item_id not in new_ids]
        )
    if "targetIds" in changes and not record.get("targetType"):
        changes["targetType"] = "agent"
    return changes, surplus


def _select_accepted(
    client: Client,
    record: DatasetRecord,
    items: Sequence[Mapping[str, Any]],
    dataset: Dataset,
    collection: Collection,
) -> list[Mapping[str, Any]]:
    """Return the items that the dataset and its schemas accept; the others are noted."""
    accepted: list[Mapping[str, Any]] = []
    for batch in _batches(items):
        # The scorers are made by the same plan.
        lines = "".join(f"{canonical.dump(_without(item, None))}\n" for item in batch)
        try:
            result = client.get_dataset(record.id).import_file(lines, "jsonl", dry_run=True)
        except ValidationFailed as error:
            raise Unreadable(
                f"The dataset {excerpt(dataset.stored_name)} refuses the items: {error}"
            ) from None
        refused = {row.row: row.message for row in result.failed}
        for number, item in enumerate(batch, 1):
            if number in refused:
                lost = f"The item {item['externalId']} is refused: {refused[number]}."
                collection.lose("refused", dataset.name, lost)
            else:
                accepted.append(item)
    return accepted


def _without(item: Mapping[str, Any], unmade: Container[str] | None) -> Mapping[str, Any]:
    """Return an item without scorers that are not made; with None, without any."""
    if "scorerIds" not in item:
        return item
    rest = {name: value for name, value in item.items() if name != "scorerIds"}
    remaining_ids = (
        [] if unmade is None else [scorer_id for scorer_id in item["scorerIds"] if scorer_id not in unmade]
    )
    return {**rest, "scorerIds": remaining_ids} if remaining_ids else rest


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    size = 0
    for item in items:
        length = len(canonical.dump(item).encode())
        if batch and (len(batch) >= BATCH or size + length > MAX_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch


MAX_ITEMS: Final = dataset_items.MAX_ITEMS
MAX_ITEM: Final = dataset_items.MAX_ITEM - 6 * 1024
"""The maximum size of an item, including additions."""
IMPORT: Final = "import"
"""The member of metadata for data that the editor has no place for."""


@dataclass
class Cases:
    """Makes the items for one prompt, or for several that are tested together."""

    collection: Collection
    name: str
    """The name of the dataset."""
    needed: Container[str] = ()
    """The variables in the instructions, by their names in the source."""
    dropped: Sequence[str] = ()
    """The variables of an omitted message: a single one is the input."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Our names of variables that cannot keep theirs."""
    items: list[dict[str, Any]] = field(default_factory=list, init=False)
    _seen: dict[str, int] = field(default_factory=dict, init=False)
    _size: int = field(default=0, init=False)

    def add(
        self,
        values: Mapping[str, Any],
        *,
        leftover: Mapping[str, Any] | None = None,
        external: str | None = None,
        **members: Any,
    ) -> None:
        """Add an item with these values of variables; of the further `members` those that are not None.

        `leftover` is data that the editor has no place for: the member `import` of the metadata. `external`
        is the external id, by default made from the content.
        """
        input_name = self.dropped[0] if len(self.dropped) == 1 else "input"
        item: dict[str, Any] = {"input": values.get(input_name, dict(values))}
        context = {
            self.names.get(name, name): value
            for name, value in values.items()
            if name != input_name or name in self.needed
        }
        if context:
            item["requestContext"] = context
        self._add(item, members, leftover or {}, external)

    def add_input(self, value: Any, *, leftover: Mapping[str, Any] | None = None, **members: Any) -> None:
        """Add an item whose input is known."""
        self._add({"input": value}, members, leftover or {})

    def _add(
        self,
        item: dict[str, Any],
        members: Mapping[str, Any],
        leftover: Mapping[str, Any],
        external: str | None = None,
    ) -> None:
        item |= {name: value for name, value in members.items() if value is not None}
        if metadata := self._metadata(item.pop("metadata", {}), leftover):
            item["metadata"] = metadata
        size = len(canonical.dump(item).encode())
        self._size += size
        if len(self.items) >= MAX_ITEMS or self._size > MAX_TOTAL:
            limits = f"{MAX_ITEMS} items, or {MAX_TOTAL >> 20} MiB"
            raise Unreadable(f"{excerpt(self.name)} has more than {limits}.")
        if size > MAX_ITEM:
            lost = f"An item of more than {MAX_ITEM >> 10} KiB is left out."
            self.collection.lose("too_large", self.name, lost)
            return
        self.items.append({**item, "externalId": external or external_id(item, self._seen)})

    def _metadata(self, metadata: Mapping[str, Any], leftover: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata in the editor's form, with data that has no other place as the member `import`."""
        kept, more = dict(metadata), dict(leftover)
        while (refused := dataset_items.metadata_problem(kept)) is not None:
            name = refused.field.removeprefix("metadata.")
            more.setdefault("metadata", {})[name] = kept.pop(name)
            lost = f"{excerpt(name)!r} of the metadata {refused.message}: the member {IMPORT!r} has it."
            self.collection.lose("metadata", self.name, lost)
        if more and IMPORT in kept:
            more.setdefault("metadata", {})[IMPORT] = kept.pop(IMPORT)
            lost = f"The member {IMPORT!r} of the metadata has what the editor has no place for, and itself."
            self.collection.lose("metadata", self.name, lost)
        return {**kept, IMPORT: more} if more else kept
