"""Comments, as tests write and read them over HTTP."""

from __future__ import annotations

from typing import Any

from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Answer, Api, Kind

WORDS = {AGENTS: "agent", PROMPT_BLOCKS: "promptBlock", SCORERS: "scorer"}


def body_of(version: dict[str, Any], kind: Kind = AGENTS, **more: Any) -> dict[str, Any]:
    """Return a comment on a version of a record."""
    about = {"kind": WORDS[kind], "id": version["id"]}
    return {"resource": about, "versionId": version["latestVersionId"], "body": "Why?", **more}


def say(api: Api, version: dict[str, Any], kind: Kind = AGENTS, **more: Any) -> dict[str, Any]:
    """Comment on a version of a record and return the comment."""
    answer = api.post("/comments", body_of(version, kind, **more))
    assert answer.status == 201, answer.body
    return dict(answer.body)


def change(api: Api, comment: dict[str, Any], **changes: Any) -> Answer:
    return api.patch(f"/comments/{comment['id']}", changes)


def listed(api: Api, **query: Any) -> list[str]:
    """Return the texts of comments in the order of the list."""
    answer = api.get("/comments", **query)
    assert answer.status == 200, answer.body
    found = [comment["body"] for comment in answer.body["comments"]]
    assert answer.body["total"] == len(found)
    return found
