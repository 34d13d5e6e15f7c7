"""Which version of a prompt block a run shows: `versions.promptBlocks`, with the rights of the caller."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import PROMPT_BLOCKS, Api
from tests.support.people import give_role
from tests.support.runs import agent, noticed, ran, run
from tests.support.served import published_block, reference, text
from versioning.domain.access import Role

PLACE = "versions.promptBlocks.tone"


def toned(api: Api, instructions: Any = None) -> dict[str, str]:
    """Make `writer`, which shows `tone`: first in an old version, now live, and with a draft."""
    old = published_block(api, "tone", "old tone")
    live = str(PROMPT_BLOCKS.save(api, "tone", "live tone", autoPublish=True)["activeVersionId"])
    draft = str(PROMPT_BLOCKS.save(api, "tone", "drafted tone")["latestVersionId"])
    agent(api, "writer", instructions or [reference("tone")])
    return {"old": old, "live": live, "draft": draft}


def with_tone(selector: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"versions": {"promptBlocks": {"tone": selector}, **more}}


def prompt(answer: dict[str, Any]) -> str:
    return str(answer["text"]).partition("\n\nhello")[0]


def test_a_version_of_a_block_is_selected_in_every_agent_that_shows_it(alice: Api) -> None:
    versions = toned(alice)
    alice.put("/stored/prompt-blocks/tone/labels/old", {"versionId": versions["old"]})
    agent(alice, "lead", [text("Lead."), reference("tone")], agents={"writer": {}})
    for selector, shown in (
        ({"versionId": versions["old"]}, "old tone"),
        ({"label": "old"}, "old tone"),
        ({"versionId": versions["live"]}, "live tone"),
        ({"label": "production"}, "live tone"),
        ({"status": "published"}, "live tone"),
        ({"status": "draft"}, "drafted tone"),
        ({"label": "latest"}, "drafted tone"),
    ):
        answer = ran(alice, "lead", **with_tone(selector))
        assert prompt(answer) == f"Lead.\n\n{shown}", selector
        assert answer["toolResults"][0]["result"] == f"{shown}\n\nhello", selector
        assert answer["warnings"] == []


def test_the_body_precedes_the_context_and_a_selected_block_precedes_the_status_of_the_run(
    alice: Api,
) -> None:
    versions = toned(alice)
    context = {"versions": {"promptBlocks": {"tone": {"status": "draft"}}}}
    assert prompt(ran(alice, requestContext=context)) == "drafted tone"
    assert (
        prompt(ran(alice, requestContext=context, **with_tone({"versionId": versions["old"]}))) == "old tone"
    )
    draft = {"query": {"status": "draft"}}
    assert prompt(ran(alice, **draft)) == "drafted tone"
    assert prompt(ran(alice, **draft, **with_tone({"status": "published"}))) == "live tone"


def test_an_entry_that_plays_no_part_or_is_malformed_is_named(alice: Api) -> None:
    toned(alice)
    answer = ran(alice, versions={"promptBlocks": {"other": {"status": "draft"}}})
    assert noticed(answer) == [("version_not_applied", "versions.promptBlocks.other")]
    for blocks, field in (
        ([], "versions.promptBlocks"),
        (None, "versions.promptBlocks"),
        ({"tone": {}}, PLACE),
        ({"tone": {"status": "live"}}, PLACE),
        ({"tone": {"status": "draft", "label": "x"}}, PLACE),
    ):
        refused = run(alice, versions={"promptBlocks": blocks})
        assert (refused.status, refused.fields) == (400, [field]), blocks


def test_an_unpublished_block_is_shown_in_the_version_that_is_selected(alice: Api) -> None:
    versions = toned(alice)
    alice.post("/stored/prompt-blocks/tone/unpublish")
    assert prompt(ran(alice, **with_tone({"versionId": versions["live"]}))) == "live tone"
    gone = ran(alice, **with_tone({"status": "published"}))
    assert "tone" not in prompt(gone) and noticed(gone) == [("block_unpublished", "instructions.0.id")]


@pytest.mark.parametrize("strict", [False, True])
def test_an_unreadable_version_of_a_block_is_answered_like_a_missing_one(cast: Cast, strict: bool) -> None:
    versions = toned(cast.alice)
    other = published_block(cast.alice, "other", "other")
    for selector in (
        {"versionId": versions["old"]},
        {"versionId": versions["draft"]},
        {"versionId": other},
        {"versionId": "no version"},
        {"status": "draft"},
        {"label": "latest"},
        {"label": "nothing"},
    ):
        answer = run(cast.vera, **with_tone(selector, strict=strict))
        if strict:
            assert (answer.status, answer.code) == (424, "version_unresolved")
            assert PLACE in answer.body["error"]
        else:
            assert noticed(answer.body) == [("version_unresolved", PLACE)]
            assert prompt(answer.body) == "live tone"
    assert prompt(ran(cast.vera, **with_tone({"versionId": versions["live"]}, strict=True))) == "live tone"


def test_only_members_select_blocks_by_released_labels(cast: Cast) -> None:
    versions = toned(cast.alice)
    label = {"versionId": versions["old"], "released": True}
    assert cast.alice.put("/stored/prompt-blocks/tone/labels/pilot", label).status == 200
    cast.alice.patch("/stored/agents/writer", {"visibility": "public"})
    assert prompt(ran(cast.vera, **with_tone({"label": "pilot"}))) == "old tone"
    answer = ran(cast.charlie, **with_tone({"label": "pilot"}))
    assert prompt(answer) == "live tone" and noticed(answer) == [("version_unresolved", PLACE)]


def test_selecting_a_version_shows_no_block_of_another_workspace(cast: Cast) -> None:
    toned(cast.alice)
    # A draft may name blocks that its author cannot read.
    agent(cast.charlie, "theirs", [text("Mine.")])
    cast.charlie.patch("/stored/agents/theirs", {"instructions": [text("Mine."), reference("tone")]})
    give_role("edgar", "elsewhere", Role.PUBLISHER)
    for reader in (cast.charlie, cast.edgar):
        answer = ran(reader, "theirs", query={"status": "draft"}, **with_tone({"status": "draft"}))
        seen = prompt(answer)
        assert seen == ("Mine." if reader is cast.charlie else "Mine.\n\ndrafted tone")
    answer = ran(cast.charlie, "theirs", query={"status": "draft"}, **with_tone({"label": "none"}))
    gone = {"versions": {"promptBlocks": {"gone": {"label": "none"}}}}
    assert ("version_unresolved", PLACE) in noticed(answer)
    assert ("version_not_applied", "versions.promptBlocks.gone") in noticed(
        ran(cast.charlie, "theirs", **gone)
    )
