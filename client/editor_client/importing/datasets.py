"""Datasets of an import: compared by the external ids of their items, which are made of the content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from editor_client.calls import Answer, Call, query
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
        **({"targetType": "agent", "targetIds": list(dataset.agent_ids)} if dataset.agent_ids else {}),
    }
    planned = {
        "name": dataset.name,
        "settings": {name: value for name, value in settings.items() if value is not None},
        "origin": origin,
        "items": list(dataset.items),
    }
    if there is None:
        return {"action": "create", **planned}
    made = (there.get("metadata") or {}).get("origin")
    if not isinstance(made, dict) or made.get("system") != system or made.get("name") != dataset.name:
        reason = "There is a dataset of this name and of another origin."
        return {"action": "conflict", "reason": reason, **planned, "items": []}
    if made == origin:
        return {"action": "unchanged", **planned, "items": []}
    known = {item.get("externalId") for item in items_of(client, there["id"])}
    missing = [item for item in dataset.items if item["externalId"] not in known]
    named = {item["externalId"] for item in dataset.items}
    stay = sum(1 for one in known if one not in named)
    said = {"reason": f"{stay} items that are not in the source stay."} if stay else {}
    return {"action": "update", **said, **planned, "items": missing}


def apply_dataset(client: Client, planned: Mapping[str, Any], workspace_id: str) -> bool:
    """Make a dataset and its items, as far as they are missing; return whether there was anything to do."""
    there = find_dataset(client, planned["name"], workspace_id)
    if there is not None and (there.get("metadata") or {}).get("origin") == planned["origin"]:
        return False
    if there is None:
        body = {"name": planned["name"], "workspaceId": workspace_id, **planned["settings"]}
        there = _call(client, "POST", "/datasets", body)
    for batch in _batches(planned["items"]):
        _call(client, "POST", f"/datasets/{there['id']}/items/batch", {"items": batch})
    metadata = {**(there.get("metadata") or {}), "origin": planned["origin"]}
    _call(client, "PATCH", f"/datasets/{there['id']}", {"metadata": metadata})
    return True


def find_dataset(client: Client, name: str, workspace_id: str) -> Mapping[str, Any] | None:
    """Return the dataset of this name, if there is one."""
    found = _pages(client, "/datasets", "datasets", workspace_id=workspace_id, per_page=100)
    return next((one for one in found if one["name"] == name and one["workspaceId"] == workspace_id), None)


def items_of(client: Client, dataset_id: str) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a dataset."""
    return _pages(client, f"/datasets/{dataset_id}/items", "items", per_page=50)


def _batches(items: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    batch: list[Mapping[str, Any]] = []
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


def _pages(client: Client, path: str, member: str, **arguments: Any) -> Iterator[Mapping[str, Any]]:
    page = 0
    while True:
        found = client.perform(Call.to("GET", path, _json, query=query(page=page, **arguments)))
        yield from found[member]
        if not found["pagination"]["hasMore"]:
            return
        page += 1


def _call(client: Client, method: str, path: str, body: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = client.perform(Call.to(method, path, _json, body=body))
    return found


def _json(answer: Answer) -> Any:
    return answer.json()
