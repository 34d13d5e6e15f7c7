"""Previewing instructions that are not saved."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.served import FOR_GOLD, published_agent, published_block, reference, text

ROUTE = "/stored/agents/preview-instructions"


def preview(api: Api, *blocks: Any, **more: Any) -> Answer:
    return api.post(ROUTE, {"blocks": list(blocks), **more})


def inline(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "prompt_block", "content": content, **more}


def test_blocks_are_assembled_and_each_is_reported(alice: Api) -> None:
    published_block(alice, "tone", "Be {{ mood || 'kind' }}.", rules=FOR_GOLD)
    for_silver = {
        "operator": "AND",
        "conditions": [{"field": "tier", "operator": "equals", "value": "silver"}],
    }
    answer = preview(
        alice,
        text("Hi {{ user.name }}, {{ missing }}."),
        inline("Silver!", rules=for_silver),
        inline("Brief.", rules=FOR_GOLD),
        text("  "),
        reference("tone"),
        reference("gone"),
        context={"user": {"name": "Ann"}, "mood": None, "tier": "gold"},
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


def test_a_preview_shows_each_block_in_the_version_that_the_caller_may_read(cast: Cast) -> None:
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


def test_a_preview_stores_nothing(alice: Api) -> None:
    published_agent(alice)
    before = alice.get(AGENTS.url("writer"))
    preview(alice, text("x"), reference("writer"))
    assert alice.get(AGENTS.url("writer")).etag == before.etag
    assert alice.get(PROMPT_BLOCKS.path).body["total"] == 0


WRONG: list[tuple[Any, list[str]]] = [
    ({}, ["blocks"]),
    (None, ["blocks"]),
    ({"blocks": None}, ["blocks"]),
    ({"blocks": ["Write."]}, ["blocks.0"]),
    ({"blocks": [{"type": "image"}]}, ["blocks.0.type"]),
    ({"blocks": [text("a"), {"type": "text"}]}, ["blocks.1.content"]),
    ({"blocks": [reference("../x")]}, ["blocks.0.id"]),
    ({"blocks": [{**text("a"), "text": 1}]}, ["blocks.0.text"]),
    ({"blocks": [inline("a", rules={"operator": "AND"})]}, ["blocks.0.rules.conditions"]),
    ({"blocks": [], "context": "{}"}, ["context"]),
    ({"blocks": [{"type": "text"}], "context": 1, "bogus": 1}, ["blocks.0.content", "bogus", "context"]),
]


def test_a_body_of_another_shape_is_refused_and_every_problem_named(alice: Api) -> None:
    for body, fields in WRONG:
        refused = alice.post(ROUTE, body)
        assert (refused.status, refused.code, refused.fields) == (400, "validation_failed", fields), body
    for name in ("status", "versionId", "label", "bogus"):
        refused = alice.request("POST", ROUTE, {"blocks": []}, query={name: "draft"})
        assert (refused.status, refused.fields) == (400, [name])
