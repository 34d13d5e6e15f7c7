"""The examples in the OpenAPI document are what the service answers, and valid by their schemas."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jsonschema_rs
import pytest
from django.db import transaction

from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.api_examples import PATH, Fixer
from tests.support.honest_requests import existing, honest, make_one_of_everything
from tests.support.openapi import NEVER_SUCCEEDING, ROUTES, operations
from versioning.api.openapi import document as openapi

STREAMS = {"POST /agents/{}/stream", "GET /events/stream"}
FOR_SUPERUSERS = {"POST /workspaces", "DELETE /workspaces/{}", "POST /people/{}/erase"}
RECORDED = [route for route in ROUTES if route != "GET /events/stream"]
EXPERIMENT = {"dryRun": True, "targetType": "agent", "targetId": "calm"}
DRY_RUNS: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("POST /datasets/{}/experiments", EXPERIMENT, {}),
    *((f"POST /stored/{kind}", {}, {"dryRun": "true"}) for kind in ("agents", "prompt-blocks", "scorers")),
]
"""The same operations once more, for their other answers: the route, members of the body, the query."""
UNSENT = {
    "POST /stored/agents/{}/change-request": {
        "200": {"url": "https://git.example.org/agents/pull/7", "ref": "editor/writer", "id": "7"}
    }
}
"""Answers that no configuration gives yet."""


@pytest.fixture(scope="module")
def versions(
    stored_once: Callable[[], AbstractContextManager[None]], shared_keys: dict[str, str]
) -> dict[Kind, list[str]]:
    """The versions of `writer`, along with one object of every other type."""
    with stored_once():
        return make_one_of_everything(shared_keys)


def recorded(cast: Cast, versions: dict[Kind, list[str]]) -> dict[str, Any]:
    """Send an honest request to every route, undo what it did, and return the examples by operation."""
    described, fixer = operations(openapi()), Fixer()
    examples: dict[str, Any] = {}
    for route, changes, query in [*((route, {}, {}) for route in RECORDED), *DRY_RUNS]:
        method, _, path = route.partition(" ")
        request, api = honest(route, versions), cast.root if route in FOR_SUPERUSERS else cast.alice
        address = path.format(*existing(route, versions).values())
        takes_json = "application/json" in described[route].get("requestBody", {}).get("content", {})
        body = {**request.get("body", {}), **changes} if takes_json else None
        if route not in {*STREAMS, *NEVER_SUCCEEDING}:
            with transaction.atomic():
                answer = api.request(method, address, body, query={**request["query"], **query})
                transaction.set_rollback(True)
            assert answer.status in {200, 201, 202}, (route, answer.body)
            answers = {} if answer.body is None else {str(answer.status): answer.body}
        else:
            answers = UNSENT.get(route, {})
        example = examples.setdefault(described[route]["operationId"], {"answers": {}})
        if takes_json:
            example.setdefault("request", fixer.fixed(body))
        example["answers"] |= fixer.fixed(answers)
    return examples


def test_every_example_is_what_the_service_answers(
    shared_cast: Cast, versions: dict[Kind, list[str]], settings: Any
) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]
    examples = recorded(shared_cast, versions)
    if os.environ.get("PYTEST_RECORD_EXAMPLES"):
        PATH.write_text(json.dumps(examples, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    assert examples.keys() == stored.keys(), "run `make api-reference`"
    for operation, example in examples.items():
        assert example == stored[operation], (operation, "run `make api-reference`")


def test_examples_are_valid_and_every_operation_with_json_has_them() -> None:
    whole = openapi()
    for route, operation in operations(whole).items():
        answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        for content in (operation.get("requestBody", {}), *answers):
            described = content.get("content", {}).get("application/json")
            if described is not None:
                assert "example" in described, route
                schema = {**described["schema"], "components": whole["components"]}
                jsonschema_rs.validator_for(schema).validate(described["example"])
