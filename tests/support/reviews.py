"""How tests speak of reviews: a resource with a draft, asking for a review, and verdicts."""

from __future__ import annotations

from typing import Any

from tests.support.api import Answer, Api, Kind
from tests.support.comments import WORDS
from versioning.conf import get_editor

REVIEWS = "/reviews"
NO_SUCH = "00000000-0000-4000-8000-000000000000"


def reference(kind: Kind, resource_id: str = "writer") -> dict[str, str]:
    return {"kind": WORDS[kind], "id": resource_id}


def ask(api: Api, kind: Kind, resource_id: str = "writer", **more: Any) -> dict[str, Any]:
    answer = api.post(REVIEWS, {"resource": reference(kind, resource_id), **more})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def path(review: dict[str, Any], *rest: str) -> str:
    """Return the path of a review, or of a route below it."""
    return "/".join([REVIEWS, review["id"], *rest])


def read(api: Api, review: dict[str, Any]) -> dict[str, Any]:
    """Read the current state of a review."""
    answer = api.get(path(review))
    assert answer.status == 200, answer.body
    return dict(answer.body)


def say(api: Api, review: dict[str, Any], verdict: str, version_id: str = "", **more: Any) -> Answer:
    """Give a verdict, on the version that the review was about when it was read."""
    body = {"versionId": version_id or review["versionId"], "verdict": verdict, **more}
    return api.post(path(review, "verdicts"), body)


def approve(api: Api, review: dict[str, Any], version_id: str = "") -> dict[str, Any]:
    answer = say(api, review, "approve", version_id)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def listed(api: Api, **query: Any) -> list[str]:
    """Return the ids of the reviews in a list, newest first."""
    answer = api.get(REVIEWS, **query)
    assert answer.status == 200, answer.body
    assert answer.body["total"] == len(answer.body["reviews"])
    return [review["id"] for review in answer.body["reviews"]]


def require_approvals(count: int, workspace_id: str = "acme") -> None:
    """Make a workspace require so many approvals."""
    get_editor().review_policy.set(workspace_id, required=count)
