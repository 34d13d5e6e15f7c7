"""Datasets of an import: compared by the external ids of their items, which are made of the content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from editor_client.datasets import DatasetRecord
from editor_client.importing.collection import Dataset
from editor_client.shared import canonical
from editor_client.sync import Client

BATCH: Final = 200
MAX_BATCH: Final = 700_000
"""The maximum size of a batch, in characters: the server limits bodies."""


def plan_dataset(client: Client, dataset: Dataset, system: str, workspace_id: str) -> dict[str, Any]:
    """Return what would be made of a dataset: all of it, or the items that are missing."""
    there = find_dataset(client, dataset.name, workspace_id)
    origin = {
        "system": system,
        "name": dataset.name,
        "version": None,
        "digest": canonical.digest(dataset.items),
    }
    settings = {
        "description": dataset.description,
        "scorerIds": list(dataset.scorer_ids) or None,
        "targetType": "agent" if dataset.agent_ids else None,
        "targetIds": list(dataset.agent_ids) or None,
    }
    planned = {
        "name": dataset.name,
        "settings": {name: value for name, value in settings.items() if value is not None},
        "origin": origin,
        "items": list(dataset.items),
    }
    if there is None:
        return {"action": "create", **planned}
    made = (there.metadata or {}).get("origin")
    if not isinstance(made, dict) or made.get("system") != system or made.get("name") != dataset.name:
        reason = "There is a dataset of this name and of another origin."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    if made == origin:
        return {"action": "unchanged", **planned, "items": []}
    known = {item.external_id for item in client.get_dataset(there.id).iter_items(per_page=200)}
    missing = [item for item in dataset.items if item["externalId"] not in known]
    named = {item["externalId"] for item in dataset.items}
    stay = sum(1 for one in known if one not in named)
    said = {"reason": f"{stay} items that are not in the source stay."} if stay else {}
    return {"action": "update", **said, **planned, "items": missing}


def apply_dataset(client: Client, planned: Mapping[str, Any], workspace_id: str) -> bool:
    """Make a dataset and its items, as far as they are missing; return whether there was anything to do."""
    there = find_dataset(client, planned["name"], workspace_id)
    if there is not None and (there.metadata or {}).get("origin") == planned["origin"]:
        return False
    if there is None:
        settings: Any = {**planned["settings"], "name": planned["name"], "workspaceId": workspace_id}
        there = client.create_dataset(**settings)
    dataset = client.get_dataset(there.id)
    for batch in _batches(planned["items"]):
        dataset.add_items(batch)
    dataset.update(metadata={**(there.metadata or {}), "origin": planned["origin"]})
    return True


def find_dataset(client: Client, name: str, workspace_id: str) -> DatasetRecord | None:
    """Return the dataset of this name, if there is one."""
    found = client.iter_datasets(workspace_id=workspace_id, per_page=100)
    return next((one for one in found if one.name == name), None)


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
