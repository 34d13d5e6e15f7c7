"""How tests start rollouts."""

from __future__ import annotations

from typing import Any

from tests.support.api import Answer, Api, Kind
from tests.support.reviews import reference


def arm(version_id: str, name: str = "new", weight: int = 10_000) -> dict[str, Any]:
    """Return an arm, which takes everything unless another weight is given."""
    return {"name": name, "versionId": version_id, "weight": weight}


def start(api: Api, kind: Kind, *arms: dict[str, Any], resource_id: str = "writer", **more: Any) -> Answer:
    """Ask for a rollout."""
    return api.post(
        "/rollouts",
        {"resource": reference(kind, resource_id), "bucketBy": "userId", "arms": list(arms), **more},
    )


def started(api: Api, kind: Kind, *arms: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Start a rollout and return it."""
    answer = start(api, kind, *arms, **more)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def with_draft(api: Api, kind: Kind) -> tuple[str, str]:
    """Make `writer`, published and with a later draft; return both versions."""
    live = kind.make(api, autoPublish=True)["resolvedVersionId"]
    return live, kind.save(api, "writer", "other words")["latestVersionId"]
