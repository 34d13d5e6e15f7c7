"""A reference to a prompt block opens no door: whose text is shown depends on who published what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api

REFERENCE = [
    {"type": "text", "content": "own words"},
    {"type": "prompt_block_ref", "id": "tone"},
]


def shared_block(api: Api, *, draft: bool = True) -> str:
    """A block `tone` with published words and, unless told otherwise, draft words; returns what is live."""
    record = PROMPT_BLOCKS.make(api, "tone", "published tone", autoPublish=True)
    if draft:
        PROMPT_BLOCKS.save(api, "tone", "draft tone")
    return str(record["activeVersionId"])


def referring(api: Api, agent_id: str = "writer", **more: Any) -> dict[str, Any]:
    """An agent that refers to `tone`."""
    return AGENTS.make(api, agent_id, instructions=REFERENCE, **more)


def served(api: Api, agent_id: str = "writer", **query: Any) -> tuple[str, list[Any]]:
    """The instructions, and what became of each referenced block."""
    answer = api.get(f"/agents/{agent_id}", **query)
    assert answer.status == 200, answer.body
    return answer.body["instructions"], [
        (block["id"], block["shown"], block["reason"]) for block in answer.body["blocks"]
    ]


SHOWN = [("tone", True, None)]
MISSING = [("tone", False, "missing")]


def test_who_may_run_an_agent_sees_the_published_text_of_its_blocks(cast: Cast) -> None:
    live = shared_block(cast.alice)
    referring(cast.alice, visibility="public", autoPublish=True)
    for api in (cast.vera, cast.edgar, cast.charlie):
        assert served(api) == ("own words\n\npublished tone", SHOWN)
    assert cast.charlie.get("/agents/writer").body["blocks"][0]["versionId"] == live
    assert cast.charlie.get("/agents").body["writer"]["instructions"] == "own words\n\npublished tone"


def test_which_does_not_make_the_block_itself_readable(cast: Cast) -> None:
    shared_block(cast.alice)
    referring(cast.alice, visibility="public", autoPublish=True)
    assert cast.charlie.get(PROMPT_BLOCKS.url("tone")).status == 404
    assert cast.charlie.get(PROMPT_BLOCKS.path, search="tone").body["total"] == 0
    assert "published tone" not in json.dumps(cast.charlie.get(AGENTS.url("writer")).body)
    export = cast.charlie.post(f"{AGENTS.url('writer')}/export")
    assert "published tone" not in json.dumps(export.body)


def test_live_instructions_hold_no_draft_of_a_block_whoever_asks(cast: Cast) -> None:
    shared_block(cast.alice)
    referring(cast.alice, autoPublish=True)
    for query in ({}, {"status": "published"}, {"label": "production"}):
        assert served(cast.alice, **query)[0] == "own words\n\npublished tone"
    assert served(cast.alice, status="draft")[0] == "own words\n\ndraft tone"


def test_a_block_that_is_unpublished_later_is_left_out_of_live_instructions(cast: Cast) -> None:
    shared_block(cast.alice)
    referring(cast.alice, visibility="public", autoPublish=True)
    assert cast.alice.post(PROMPT_BLOCKS.url("tone", "unpublish")).status == 200
    for api in (cast.charlie, cast.vera, cast.alice):
        assert served(api) == ("own words", [("tone", False, "unpublished")])


@pytest.mark.parametrize("query", [{}, {"status": "draft"}, {"label": "latest"}], ids=str)
def test_a_draft_that_refers_to_the_block_of_another_workspace_shows_nothing_of_it(
    cast: Cast, query: dict[str, str]
) -> None:
    shared_block(cast.alice)
    referring(cast.charlie, "spy")
    assert served(cast.charlie, "spy", **query) == ("own words", MISSING)
    assert cast.charlie.get("/agents").body["spy"]["instructions"] == "own words"


def test_a_draft_by_version_id_shows_nothing_of_it_either(cast: Cast) -> None:
    shared_block(cast.alice)
    draft = referring(cast.charlie, "spy")["latestVersionId"]
    assert served(cast.charlie, "spy", versionId=draft) == ("own words", MISSING)


def test_a_draft_beside_a_published_version_shows_nothing_of_it_either(cast: Cast) -> None:
    shared_block(cast.alice)
    AGENTS.make(cast.charlie, "spy", "harmless", autoPublish=True)
    AGENTS.save(cast.charlie, "spy", instructions=REFERENCE)
    assert served(cast.charlie, "spy", status="draft") == ("own words", MISSING)
    assert served(cast.charlie, "spy") == ("harmless", [])


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


def test_a_block_that_takes_the_id_of_a_deleted_one_is_not_read_through_an_old_reference(cast: Cast) -> None:
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


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("vera", "published tone"),
        ("edgar", "draft tone"),
        ("paula", "draft tone"),
        ("alice", "draft tone"),
        ("root", "draft tone"),
    ],
)
def test_a_preview_shows_the_block_as_far_as_the_caller_may_read_it(cast: Cast, who: str, text: str) -> None:
    shared_block(cast.alice)
    result, block = preview(getattr(cast, who))
    assert result == f"own words\n\n{text}"
    assert block == {"type": "prompt_block_ref", "id": "tone", "shown": True}


def test_to_a_stranger_a_preview_says_the_same_of_an_unreadable_block_as_of_a_missing_one(cast: Cast) -> None:
    before = preview(cast.charlie)
    shared_block(cast.alice)
    assert preview(cast.charlie) == before
    assert before == (
        "own words",
        {"type": "prompt_block_ref", "id": "tone", "shown": False, "reason": "missing"},
    )


def test_to_a_viewer_a_preview_says_the_same_of_an_unpublished_block_as_of_a_missing_one(cast: Cast) -> None:
    before = preview(cast.vera)
    PROMPT_BLOCKS.make(cast.alice, "tone", "draft tone")
    assert preview(cast.vera) == before


def test_a_preview_needs_a_signed_in_caller(cast: Cast) -> None:
    answer = cast.nobody.post("/stored/agents/preview-instructions", {"blocks": REFERENCE})
    assert (answer.status, answer.code) == (401, "unauthorized")


# Sub-agents


def test_a_warning_says_the_same_of_an_unreadable_sub_agent_as_of_an_unknown_one(cast: Cast) -> None:
    AGENTS.make(cast.alice, "secret", autoPublish=True)

    def warnings(agent_id: str, sub_agent: str) -> list[dict[str, str]]:
        made = AGENTS.make(cast.charlie, agent_id, agents={sub_agent: {}})
        return [{**found, "message": found["message"].replace(sub_agent, "…")} for found in made["warnings"]]

    unreadable, unknown = warnings("one", "secret"), warnings("two", "absent")
    assert [found["code"] for found in unreadable] == [found["code"] for found in unknown]
    assert [found["message"] for found in unreadable] == [found["message"] for found in unknown]


def test_a_cycle_through_an_unreadable_agent_is_not_told(cast: Cast) -> None:
    AGENTS.make(cast.charlie, "mine")
    AGENTS.make(cast.alice, "secret", agents={"mine": {}}, autoPublish=True)
    saved = AGENTS.save(cast.charlie, "mine", agents={"secret": {}})
    assert [(found["field"], found["code"]) for found in saved["warnings"]] == [
        ("agents.secret", "unknown_agent")
    ]
