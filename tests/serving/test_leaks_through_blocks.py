"""References to prompt blocks give no access: the rights of the publisher decide what is shown."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api

REFERENCE = [
    {"type": "text", "content": "own words"},
    {"type": "prompt_block_ref", "id": "tone"},
]


def shared_block(api: Api, *, draft: bool = True) -> str:
    """Make a block `tone` with published words and by default draft words; return its live version."""
    record = PROMPT_BLOCKS.make(api, "tone", "published tone", autoPublish=True)
    if draft:
        PROMPT_BLOCKS.save(api, "tone", "draft tone")
    return str(record["activeVersionId"])


def referring(api: Api, agent_id: str = "writer", **more: Any) -> dict[str, Any]:
    """An agent that refers to `tone`."""
    return AGENTS.make(api, agent_id, instructions=REFERENCE, **more)


def served(api: Api, agent_id: str = "writer", **query: Any) -> tuple[str, list[Any]]:
    """The instructions, and how each referenced block was resolved."""
    answer = api.get(f"/agents/{agent_id}", **query)
    assert answer.status == 200, answer.body
    return answer.body["instructions"], [
        (block["id"], block["shown"], block["reason"]) for block in answer.body["blocks"]
    ]


SHOWN = [("tone", True, None)]
MISSING = [("tone", False, "missing")]


def test_callers_who_may_run_an_agent_see_only_the_published_text_of_its_blocks(cast: Cast) -> None:
    live = shared_block(cast.alice)
    referring(cast.alice, visibility="public", autoPublish=True)
    for api in (cast.alice, cast.vera, cast.edgar, cast.charlie):
        for query in ({}, {"status": "published"}, {"label": "production"}):
            assert served(api, **query) == ("own words\n\npublished tone", SHOWN)
    assert served(cast.alice, status="draft")[0] == "own words\n\ndraft tone"
    assert cast.charlie.get("/agents/writer").body["blocks"][0]["versionId"] == live
    assert cast.charlie.get("/agents").body["writer"]["instructions"] == "own words\n\npublished tone"
    assert cast.charlie.get(PROMPT_BLOCKS.url("tone")).status == 404
    assert cast.charlie.get(PROMPT_BLOCKS.path, search="tone").body["total"] == 0
    for answer in (
        cast.charlie.get(AGENTS.url("writer")),
        cast.charlie.post(f"{AGENTS.url('writer')}/export"),
    ):
        assert "published tone" not in json.dumps(answer.body)
    assert cast.alice.post(PROMPT_BLOCKS.url("tone", "unpublish")).status == 200
    for api in (cast.charlie, cast.vera, cast.alice):
        assert served(api) == ("own words", [("tone", False, "unpublished")])


def test_a_draft_that_refers_to_the_block_of_another_workspace_shows_nothing_of_it(cast: Cast) -> None:
    shared_block(cast.alice)
    draft = referring(cast.charlie, "spy")["latestVersionId"]
    AGENTS.make(cast.charlie, "half", "harmless", autoPublish=True)
    AGENTS.save(cast.charlie, "half", instructions=REFERENCE)
    for query in ({}, {"status": "draft"}, {"label": "latest"}, {"versionId": draft}):
        assert served(cast.charlie, "spy", **query) == ("own words", MISSING)
    assert cast.charlie.get("/agents").body["spy"]["instructions"] == "own words"
    assert served(cast.charlie, "half", status="draft") == ("own words", MISSING)
    assert served(cast.charlie, "half") == ("harmless", [])


def problems(answer: Any) -> list[dict[str, str]]:
    assert answer.status == 400, answer.body
    return list(answer.body["issues"])


def test_publishing_a_reference_to_an_unreadable_block_is_refused_as_for_a_missing_one(cast: Cast) -> None:
    shared_block(cast.alice)
    draft = referring(cast.charlie, "spy")["latestVersionId"]
    unreadable = [
        cast.charlie.post(AGENTS.url("spy", "versions", draft, "activate")),
        cast.charlie.patch(AGENTS.url("spy"), {"autoPublish": True}),
        cast.charlie.post(AGENTS.path, {"id": "other", "name": "Spy", "instructions": REFERENCE}),
    ]
    absent = [{"type": "prompt_block_ref", "id": "tune"}]
    missing = cast.charlie.post(AGENTS.path, {"id": "other", "name": "Spy", "instructions": absent})
    expected = problems(missing)[0]["message"].replace("tune", "tone")
    for answer in unreadable:
        assert problems(answer) == [{"field": "instructions.1.id", "message": expected}]
        assert answer.code == missing.code


def test_a_superuser_may_publish_a_block_across_workspaces(cast: Cast) -> None:
    shared_block(cast.alice)
    draft = referring(cast.charlie, "borrower")["latestVersionId"]
    AGENTS.publish(cast.root, "borrower", draft)
    assert served(cast.charlie, "borrower") == ("own words\n\npublished tone", SHOWN)


def test_an_old_reference_does_not_show_a_new_block_with_the_id_of_a_deleted_one(cast: Cast) -> None:
    """Charlie publishes a reference to a block of his own, deletes it and waits for acme to take the id."""
    PROMPT_BLOCKS.make(cast.charlie, "tone", "bait", autoPublish=True)
    referring(cast.charlie, "spy", autoPublish=True)
    assert cast.charlie.delete(PROMPT_BLOCKS.url("tone")).status == 200
    shared_block(cast.alice)
    assert "published tone" not in json.dumps(cast.charlie.get("/agents/spy").body)
    assert "published tone" not in json.dumps(cast.charlie.get("/agents").body)


# Preview


def preview(api: Api) -> tuple[str, dict[str, Any]]:
    body = api.post("/stored/agents/preview-instructions", {"blocks": REFERENCE}).body
    return body["result"], body["blocks"][1]


def test_a_preview_shows_only_blocks_that_the_caller_may_read(cast: Cast) -> None:
    missing = {"type": "prompt_block_ref", "id": "tone", "shown": False, "reason": "missing"}
    PROMPT_BLOCKS.make(cast.alice, "tone", "draft tone")
    for api in (cast.vera, cast.charlie):  # the answer is the same as for a missing block
        assert preview(api) == ("own words", missing)
    PROMPT_BLOCKS.save(cast.alice, "tone", "published tone", autoPublish=True)
    PROMPT_BLOCKS.save(cast.alice, "tone", "draft tone")
    shown = {"type": "prompt_block_ref", "id": "tone", "shown": True}
    assert preview(cast.vera) == ("own words\n\npublished tone", shown)
    for api in (cast.edgar, cast.alice, cast.root):
        assert preview(api) == ("own words\n\ndraft tone", shown)
    assert preview(cast.charlie) == ("own words", missing)
    answer = cast.nobody.post("/stored/agents/preview-instructions", {"blocks": REFERENCE})
    assert (answer.status, answer.code) == (401, "unauthorized")


# Sub-agents
