"""Experiments for tests."""

from __future__ import annotations

from typing import Any

from tests.support.api import Api


def make_experiment(api: Api, dataset: str, **members: Any) -> str:
    """Start an experiment over a dataset, by default one whose results are sent; return its path."""
    answer = api.post(f"{dataset}/experiments", {"start": False, **members})
    assert answer.status == 201, answer.body
    return f"{dataset}/experiments/{answer.body['id']}"


def submit(api: Api, experiment: str, item: str, output: Any = "Hello", **members: Any) -> dict[str, Any]:
    """Send the result of an item."""
    answer = api.post(f"{experiment}/results", {"itemId": item, "output": output, **members})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def results(api: Api, experiment: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.get(f"{experiment}/results", perPage=1000, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["results"])
