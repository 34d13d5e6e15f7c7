"""Previewing instructions that are saved nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.served import FOR_GOLD, published_agent, published_block, reference, text

ROUTE = "/stored/agents/preview-instructions"


def preview(api: Api, *blocks: Any, **more: Any) -> Answer:
    return api.post(ROUTE, {"blocks": list(blocks), **more})


def inline(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "prompt_block", "content": content, **more}


def test_blocks_are_assembled_and_each_is_reported(alice: Api) -> None:
    published_block(alice, "tone", "Be {{ mood || 'kind' }}.")
    answer = preview(
        alice,
        text("Hi {{ user.name }}, {{ missing }}."),
        inline("Gold!", rules=FOR_GOLD),
        inline("Brief.", rules=None),
        text("  "),
        reference("tone"),
        reference("gone"),
        context={"user": {"name": "Ann"}, "mood": None},
    )
    assert answer.status == 200
    assert answer.body == {
        "result": "Hi Ann, {{ missing }}.\n\nBrief.\n\nBe kind.",
        "blocks": [
            {"type": "text", "shown": True},
            {"type": "prompt_block", "shown": False, "reason": "rules"},
            {"type": "prompt_block", "shown": True},
            {"type": "text", "shown": False, "reason": "blank"},
            {"type": "prompt_block_ref", "id": "tone", "shown": True},
            {"type": "prompt_block_ref", "id": "gone", "shown": False, "reason": "missing"},
        ],
    }


def test_rules_see_the_context(alice: Api) -> None:
    published_block(alice, "perk", "stored", rules=FOR_GOLD)
    blocks = [text("always"), inline("inline", rules=FOR_GOLD), reference("perk")]
    assert preview(alice, *blocks, context={"tier": "gold"}).body["result"] == "always\n\ninline\n\nstored"
    assert preview(alice, *blocks, context={"tier": "silver"}).body["result"] == "always"
    assert preview(alice, *blocks).body["result"] == "always"


def test_no_blocks_make_an_empty_text(alice: Api) -> None:
    answer = preview(alice)
    assert (answer.status, answer.body) == (200, {"result": "", "blocks": []})


def test_a_block_is_its_draft_or_the_published_one_or_missing_as_the_caller_may_read(cast: Cast) -> None:
    published_block(cast.alice, "tone", "published")
    PROMPT_BLOCKS.save(cast.alice, "tone", "draft")
    PROMPT_BLOCKS.make(cast.alice, "unborn", "never published")
    blocks = [reference("tone"), reference("unborn")]
    for writer in (cast.alice, cast.paula, cast.edgar, cast.root):
        assert preview(writer, *blocks).body["result"] == "draft\n\nnever published"
    assert preview(cast.vera, *blocks).body["result"] == "published"
    stranger = preview(cast.charlie, *blocks)
    assert (stranger.status, stranger.body["result"]) == (200, "")
    assert [report["reason"] for report in stranger.body["blocks"]] == ["missing", "missing"]


def test_any_signed_in_caller_may_preview_and_nobody_else(cast: Cast) -> None:
    for caller in (cast.alice, cast.paula, cast.edgar, cast.vera, cast.charlie, cast.root):
        assert preview(caller, text("Hi.")).body["result"] == "Hi."
    refused = preview(cast.nobody, text("Hi."))
    assert (refused.status, refused.code) == (401, "unauthorized")


def test_a_preview_stores_nothing(alice: Api) -> None:
    published_agent(alice)
    before = alice.get(AGENTS.url("writer"))
    preview(alice, text("x"), reference("writer"))
    assert alice.get(AGENTS.url("writer")).etag == before.etag
    assert alice.get(PROMPT_BLOCKS.path).body["total"] == 0


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["blocks"]),
        (None, ["blocks"]),
        ([], ["body"]),
        ("blocks", ["body"]),
        ({"blocks": None}, ["blocks"]),
        ({"blocks": "Write."}, ["blocks"]),
        ({"blocks": ["Write."]}, ["blocks.0"]),
        ({"blocks": [{}]}, ["blocks.0.type"]),
        ({"blocks": [{"type": "image"}]}, ["blocks.0.type"]),
        ({"blocks": [text("a"), {"type": "text"}]}, ["blocks.1.content"]),
        ({"blocks": [reference("../x")]}, ["blocks.0.id"]),
        ({"blocks": [{**text("a"), "text": 1}]}, ["blocks.0.text"]),
        ({"blocks": [inline("a", rules={"operator": "AND"})]}, ["blocks.0.rules.conditions"]),
        ({"blocks": [], "context": []}, ["context"]),
        ({"blocks": [], "context": "{}"}, ["context"]),
        ({"blocks": [], "bogus": 1}, ["bogus"]),
        ({"blocks": [{"type": "text"}], "context": 1, "bogus": 1}, ["blocks.0.content", "bogus", "context"]),
    ],
)
def test_a_body_of_another_shape_is_refused_and_every_problem_named(
    alice: Api, body: Any, fields: list[str]
) -> None:
    refused = alice.post(ROUTE, body)
    assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", fields)


@pytest.mark.parametrize("name", ["status", "versionId", "label", "bogus"])
def test_a_preview_takes_no_selector(alice: Api, name: str) -> None:
    refused = alice.request("POST", ROUTE, {"blocks": []}, query={name: "draft"})
    assert (refused.status, refused.fields) == (400, [name])


def test_prompt_blocks_have_no_route_to_preview_instructions(alice: Api) -> None:
    answer = alice.post("/stored/prompt-blocks/preview-instructions", {"blocks": []})
    assert answer.status in {404, 405}
