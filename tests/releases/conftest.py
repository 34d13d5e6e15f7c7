"""Helpers for the tests of releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Answer, Api, Kind
from tests.support.served import reference

WORDS = {AGENTS.path: "agent", PROMPT_BLOCKS.path: "promptBlock", SCORERS.path: "scorer"}


def item(kind: Kind, resource_id: str, version_id: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an item of a release; without a version it publishes the latest one."""
    named = {"resource": {"kind": WORDS[kind.path], "id": resource_id}, **more}
    return named if version_id is None else {**named, "versionId": version_id}


def make(api: Api, *items: dict[str, Any], workspace: str = "acme", **more: Any) -> dict[str, Any]:
    """Make a release, and return it."""
    answer = post(api, *items, workspace=workspace, **more)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def post(api: Api, *items: dict[str, Any], workspace: str = "acme", **more: Any) -> Answer:
    """Send a request to create a release."""
    return api.post("/releases", {"workspaceId": workspace, "title": "Autumn", "items": items, **more})


def publish(api: Api, release: dict[str, Any], **more: Any) -> Answer:
    return api.post(f"/releases/{release['id']}/publish", more or None)


def check(api: Api, release: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"/releases/{release['id']}/check")
    assert answer.status == 200, answer.body
    return dict(answer.body)


def codes(problems: list[dict[str, Any]]) -> list[tuple[str | None, str]]:
    return [(one["resource"] and one["resource"]["id"], one["code"]) for one in problems]


def live(api: Api, kind: Kind, resource_id: str) -> str | None:
    found: str | None = api.get(kind.url(resource_id), status="draft").body["activeVersionId"]
    return found


@dataclass(frozen=True)
class Pair:
    """An agent and the block that it shows; of both only the versions in `old` are published."""

    old: dict[str, str]
    new: dict[str, str]

    def items(self, which: str = "new") -> list[dict[str, Any]]:
        """Return the items that publish both."""
        versions = getattr(self, which)
        return [
            item(AGENTS, "writer", versions["writer"]),
            item(PROMPT_BLOCKS, "tone", versions["tone"]),
        ]


@pytest.fixture
def pair(cast: Cast) -> Pair:
    """Both have a live old version and a new draft."""
    old = {"tone": PROMPT_BLOCKS.make(cast.alice, "tone", "old", autoPublish=True)["latestVersionId"]}
    showing = [{"type": "text", "content": "old"}, reference("tone")]
    old["writer"] = AGENTS.make(cast.alice, "writer", showing, autoPublish=True)["latestVersionId"]
    new = {"tone": PROMPT_BLOCKS.save(cast.edgar, "tone", "new")["latestVersionId"]}
    changed = [{"type": "text", "content": "new"}, reference("tone")]
    answer = cast.edgar.patch(AGENTS.url("writer"), {"instructions": changed})
    new["writer"] = answer.body["latestVersionId"]
    return Pair(old=old, new=new)
