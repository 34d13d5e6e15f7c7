"""Datasets of an import: compared by the external ids of their items, which are made of the content."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from editor_client.errors import ValidationFailed
from editor_client.manage.shapes import DatasetRecord
from editor_client.shared import canonical, dataset_items
from editor_client.sync import Client
from editor_client.transfer.importing.collection import Collection, Dataset, Unreadable, shown

BATCH: Final = 200
MAX_BATCH: Final = 700_000
"""The maximum size of a batch, in characters: the server limits bodies."""
_LISTS: Final = ("scorerIds", "targetIds")


class Changed(Unreadable):
    """A dataset of another origin has taken the name since the plan was made."""


def plan_dataset(
    client: Client, dataset: Dataset, collection: Collection, workspace_id: str, source: str
) -> dict[str, Any]:
    """Return what would be made of a dataset: all of it, or the items, scorers and targets that are missing.

    What is there and not in the source stays, and the plan says so. `source` tells the places of files apart:
    a dataset of the same name from another place, with none of these items, is that of another source.
    """
    there = find_dataset(client, dataset.stored_name, workspace_id)
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
    wanted: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    planned: dict[str, Any] = {
        "name": dataset.stored_name,
        "settings": wanted,
        "metadata": {"import": extra} if extra else {},
        "origin": origin,
        "items": list(dataset.items),
    }
    if there is None:
        return {"action": "create", **planned}
    if not _is_of(there, origin):
        reason = "There is a dataset of this name and of another origin; choose a --prefix."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    known = _external_ids(client, there)
    made = (there.metadata or {}).get("origin", {})
    is_elsewhere = made.get("source", source) != source
    if is_elsewhere and known and all(item["externalId"] not in known for item in dataset.items):
        reason = "There is a dataset of this name from another source, with other items; choose a --prefix."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    missing = [item for item in dataset.items if item["externalId"] not in known]
    missing = _accepted(client, there, missing, dataset, collection)
    changes, stay = _changes(there, wanted)
    named = {item["externalId"] for item in dataset.items}
    stay["items"] = sum(1 for item_id in known if item_id not in named)
    said = [f"{count} {name} that are not in the source stay" for name, count in stay.items() if count]
    reasons = {"reason": f"{'; '.join(said)}."} if said else {}
    action = "update" if missing or changes else "unchanged"
    return {"action": action, **reasons, **planned, "settings": changes, "items": missing}


def apply_dataset(
    client: Client, planned: Mapping[str, Any], workspace_id: str, unmade: Container[str] = ()
) -> bool:
    """Make a dataset and its items, as far as they are missing; return whether there was anything to do.

    `unmade` are the scorers that could not be made: the dataset does without them. Raises `Changed`.
    """
    there = find_dataset(client, planned["name"], workspace_id)
    settings: dict[str, Any] = dict(planned["settings"])
    if "scorerIds" in settings:
        settings["scorerIds"] = [
            scorer_id for scorer_id in settings["scorerIds"] if scorer_id not in unmade
        ] or None
    metadata = {**planned.get("metadata", {}), "origin": planned["origin"]}
    is_new = there is None
    if there is None:
        new: Any = {name: value for name, value in settings.items() if value is not None}
        # With the origin from the beginning: an import that is interrupted goes on.
        new |= {"name": planned["name"], "workspaceId": workspace_id, "metadata": metadata}
        there = client.create_dataset(**new)
    elif not _is_of(there, planned["origin"]):
        raise Changed("it has changed since the plan was made; plan again")
    dataset = client.get_dataset(there.id)
    known = set() if is_new else _external_ids(client, there)
    items = [_without(item, unmade) for item in planned["items"] if item["externalId"] not in known]
    for batch in _batches(items):
        dataset.add_items(batch)
    changes, _ = _changes(there, settings)
    kept = {**(there.metadata or {}), **metadata}
    if changes or not canonical.same(kept, dict(there.metadata or {})):
        dataset.update(**changes, metadata=kept)
    return is_new or bool(items) or bool(changes)


def find_dataset(client: Client, name: str, workspace_id: str) -> DatasetRecord | None:
    """Return the dataset of this name, if there is one."""
    found = client.iter_datasets(workspace_id=workspace_id, per_page=100)
    return next((dataset for dataset in found if dataset.name == dataset_items.composed_name(name)), None)


def _is_of(there: DatasetRecord, origin: Mapping[str, Any]) -> bool:
    made = (there.metadata or {}).get("origin")
    if not isinstance(made, Mapping):
        return False
    return (made.get("system"), made.get("name")) == (origin["system"], origin["name"])


def _external_ids(client: Client, there: DatasetRecord) -> set[str | None]:
    return {item.external_id for item in client.get_dataset(there.id).iter_items(per_page=200)}


def _changes(there: DatasetRecord, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the settings that would change, whose lists grow, and how many entries only the editor has."""
    changes: dict[str, Any] = {}
    stay: dict[str, int] = {}
    for name in _LISTS:
        present = list(there.get(name) or ())
        wanted = list(settings.get(name) or ())
        if missing := [item_id for item_id in wanted if item_id not in present]:
            changes[name] = [*present, *missing]
        stay["scorers" if name == "scorerIds" else "targets"] = len(
            [item_id for item_id in present if item_id not in wanted]
        )
    if "targetIds" in changes and not there.get("targetType"):
        changes["targetType"] = "agent"
    return changes, stay


def _accepted(
    client: Client,
    there: DatasetRecord,
    items: Sequence[Mapping[str, Any]],
    dataset: Dataset,
    collection: Collection,
) -> list[Mapping[str, Any]]:
    """Return the items that the dataset accepts, by its schemas, too; the others are noted."""
    accepted: list[Mapping[str, Any]] = []
    for batch in _batches(items):
        # The scorers are made by the same plan.
        lines = "".join(f"{canonical.dump(_without(item, None))}\n" for item in batch)
        try:
            done = client.get_dataset(there.id).import_file(lines, "jsonl", dry_run=True)
        except ValidationFailed as error:
            raise Unreadable(f"The dataset {shown(dataset.stored_name)} refuses the items: {error}") from None
        refused = {row.row: row.message for row in done.failed}
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
    kept = [] if unmade is None else [scorer_id for scorer_id in item["scorerIds"] if scorer_id not in unmade]
    return {**rest, "scorerIds": kept} if kept else rest


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
