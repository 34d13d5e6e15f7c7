"""Datasets for tests."""

from __future__ import annotations

from typing import Any

from tests.support.api import Api

DATASETS = "/datasets"


def make_dataset(api: Api, name: str = "Questions", **members: Any) -> str:
    """Make a dataset in acme and return its path."""
    answer = api.post(DATASETS, {"name": name, "workspaceId": "acme", **members})
    assert answer.status == 201, answer.body
    return f"{DATASETS}/{answer.body['id']}"


def add_item(api: Api, dataset: str, **members: Any) -> dict[str, Any]:
    answer = api.post(f"{dataset}/items", {"input": "Hi", **members})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def inputs(api: Api, dataset: str, **query: Any) -> list[Any]:
    """Return the inputs of its items, oldest first."""
    asked = {"perPage": 1000, "orderBy[direction]": "ASC", **query}
    return [one["input"] for one in api.get(f"{dataset}/items", **asked).body["items"]]
