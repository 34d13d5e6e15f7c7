"""The routes that the OpenAPI document has to describe, and how to find them in it."""

from __future__ import annotations

import re
from typing import Any

PREFIX = "/api"
_OF_A_RESOURCE = [
    "GET /stored/{kind}",
    "POST /stored/{kind}",
    "GET /stored/{kind}/{}",
    "PATCH /stored/{kind}/{}",
    "DELETE /stored/{kind}/{}",
    "GET /stored/{kind}/{}/dependents",
    "POST /stored/{kind}/{}/export",
    "POST /stored/{kind}/{}/clone",
    "POST /stored/{kind}/{}/unpublish",
    "GET /stored/{kind}/{}/versions",
    "POST /stored/{kind}/{}/versions",
    "GET /stored/{kind}/{}/versions/{}",
    "GET /stored/{kind}/{}/versions/compare",
    "POST /stored/{kind}/{}/versions/{}/activate",
    "POST /stored/{kind}/{}/versions/{}/restore",
    "DELETE /stored/{kind}/{}/versions/{}",
    "GET /stored/{kind}/{}/labels",
    "PUT /stored/{kind}/{}/labels/{}",
    "DELETE /stored/{kind}/{}/labels/{}",
    "PUT /stored/{kind}/{}/favorite",
    "DELETE /stored/{kind}/{}/favorite",
]


def of_each_kind(routes: list[str]) -> list[str]:
    kinds = ("agents", "prompt-blocks", "scorers")
    return [route.replace("{kind}", kind) for kind in kinds for route in routes]


RUNS = ["POST /agents/{}/generate", "POST /agents/{}/stream"]
"""The routes that run an agent."""
DATASETS = [
    "GET /datasets",
    "POST /datasets",
    "GET /datasets/{}",
    "PATCH /datasets/{}",
    "DELETE /datasets/{}",
    "GET /datasets/{}/versions",
    "POST /datasets/{}/import",
    "GET /datasets/{}/export",
    "POST /datasets/{}/generate-items",
    "POST /datasets/cluster-failures",
    "GET /datasets/{}/items",
    "POST /datasets/{}/items",
    "POST /datasets/{}/items/batch",
    "DELETE /datasets/{}/items/batch",
    "GET /datasets/{}/items/{}",
    "PATCH /datasets/{}/items/{}",
    "DELETE /datasets/{}/items/{}",
    "DELETE /datasets/{}/items/{}/purge",
    "GET /datasets/{}/items/{}/history",
    "GET /datasets/{}/items/{}/versions/{}",
]
EXPERIMENTS = [
    "GET /experiments",
    "GET /experiments/review-summary",
    "GET /experiments/{}",
    "DELETE /experiments/{}",
    "GET /datasets/{}/experiments",
    "POST /datasets/{}/experiments",
    "GET /datasets/{}/experiments/{}",
    "PATCH /datasets/{}/experiments/{}",
    "DELETE /datasets/{}/experiments/{}",
    "POST /datasets/{}/experiments/{}/finalize",
    "POST /datasets/{}/experiments/{}/cancel",
    "POST /datasets/{}/experiments/{}/resume",
    "POST /datasets/{}/experiments/{}/attempts",
    "POST /datasets/{}/experiments/{}/score",
    "GET /datasets/{}/experiments/{}/results",
    "POST /datasets/{}/experiments/{}/results",
    "PATCH /datasets/{}/experiments/{}/results/{}",
    "GET /labels",
    "POST /labels",
    "GET /stored/scorers/{}/agreement",
    "POST /scores",
    "GET /scores/run/{}",
    "GET /scores/scorer/{}",
    "GET /scores/entity/{}/{}",
    "GET /datasets/{}/experiments/{}/compare",
    "POST /datasets/{}/experiments/{}/items/{}/run",
    "POST /datasets/{}/compare",
    "GET /scores/scorers",
    "GET /scores/scorers/{}",
    "GET /datasets/{}/experiments/{}/export",
]
GATES = [
    "GET /gates",
    "POST /gates",
    "GET /gates/{}",
    "PATCH /gates/{}",
    "DELETE /gates/{}",
    "GET /gates/check",
    "POST /gates/run",
]
ROUTES = [
    *of_each_kind(_OF_A_RESOURCE),
    "POST /stored/agents/{}/change-request",
    "POST /stored/scorers/{}/try",
    "POST /stored/agents/preview-instructions",
    "GET /agents",
    "GET /agents/{}",
    "GET /agents/{}/parts",
    "GET /events",
    "POST /locks",
    "GET /providers",
    "GET /events/stream",
    "GET /workspaces/{}/review-policy",
    "PUT /workspaces/{}/review-policy",
    "GET /webhooks",
    "POST /webhooks",
    "GET /webhooks/{}",
    "PATCH /webhooks/{}",
    "DELETE /webhooks/{}",
    "POST /webhooks/{}/rotate",
    "POST /webhooks/{}/ping",
    "GET /webhooks/{}/deliveries",
    "POST /webhooks/{}/deliveries/{}/replay",
    "GET /schedules",
    "POST /schedules",
    "GET /schedules/{}",
    "PATCH /schedules/{}",
    "DELETE /schedules/{}",
    "GET /releases",
    "POST /releases",
    "GET /releases/{}",
    "PATCH /releases/{}",
    "DELETE /releases/{}",
    "GET /releases/{}/check",
    "POST /releases/{}/publish",
    "POST /releases/{}/revert",
    "GET /reviews",
    "POST /reviews",
    "GET /reviews/{}",
    "PATCH /reviews/{}",
    "POST /reviews/{}/verdicts",
    "GET /comments",
    "POST /comments",
    "GET /comments/{}",
    "PATCH /comments/{}",
    "DELETE /comments/{}",
    "GET /rollouts",
    "POST /rollouts",
    "GET /rollouts/{}",
    "PATCH /rollouts/{}",
    "POST /rollouts/{}/stop",
    "POST /rollouts/{}/complete",
    "GET /usage",
    "POST /usage",
    "GET /feedback",
    "POST /feedback",
    "GET /feedback/summary",
    "GET /me",
    "GET /keys",
    "POST /keys",
    "DELETE /keys/{}",
    "GET /service-accounts",
    "POST /service-accounts",
    "DELETE /service-accounts/{}",
    "POST /people/{}/erase",
    "GET /workspaces",
    "POST /workspaces",
    "GET /workspaces/{}",
    "PATCH /workspaces/{}",
    "DELETE /workspaces/{}",
    "GET /workspaces/{}/members",
    "PUT /workspaces/{}/members/{}",
    "DELETE /workspaces/{}/members/{}",
    "GET /workspaces/{}/invitations",
    "POST /workspaces/{}/invitations",
    "DELETE /workspaces/{}/invitations/{}",
    *DATASETS,
    *EXPERIMENTS,
    *GATES,
    *RUNS,
]
"""Method and path, below the prefix; what a path parameter is called does not matter."""
NOT_IMPLEMENTED = ["POST /datasets/{}/generate-items", "POST /datasets/cluster-failures"]
"""Of these the routes that other servers have, and this one answers with 501."""
NEVER_SUCCEEDING = ["POST /stored/agents/{}/change-request", *NOT_IMPLEMENTED]
"""Of these the routes that no configuration makes succeed yet."""
CREATING = [
    *of_each_kind(
        [
            "POST /stored/{kind}",
            "POST /stored/{kind}/{}/clone",
            "POST /stored/{kind}/{}/versions",
            "POST /stored/{kind}/{}/versions/{}/restore",
        ]
    ),
    "POST /webhooks",
    "POST /schedules",
    "POST /releases",
    "POST /releases/{}/revert",
    "POST /reviews",
    "POST /comments",
    "POST /rollouts",
    "POST /usage",
    "POST /feedback",
    "POST /datasets",
    "POST /datasets/{}/items",
    "POST /datasets/{}/items/batch",
    "POST /datasets/{}/experiments",
    "POST /datasets/{}/experiments/{}/results",
    "POST /labels",
    "POST /scores",
    "POST /gates",
    "POST /workspaces",
    "POST /workspaces/{}/invitations",
    "POST /keys",
    "POST /service-accounts",
]
"""Of these the routes that make something with an address."""
ALSO_MAKING_NOTHING = ["POST /datasets/{}/experiments", *of_each_kind(["POST /stored/{kind}"])]
BEGINNING = ["POST /gates/run"]
"""Of these the routes that begin what goes on after the answer."""


def route_of(method: str, path: str) -> str:
    """Return the route that an operation of the document is."""
    return f"{method.upper()} {re.sub('{[^}]*}', '{}', path.removeprefix(PREFIX))}"


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the operations of a document by route."""
    return {
        route_of(method, path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
