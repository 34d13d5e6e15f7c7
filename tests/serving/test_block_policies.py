"""Which version of a prompt block is shown, live and in a draft; and which blocks publishing needs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.served import ask, published_agent, published_block, reference, served, text

SECRET = "the draft of the block"


def block_with_draft(api: Api, block_id: str = "tone") -> tuple[str, str]:
    """Make a block with a published version and a draft; return the ids of both."""
    published = published_block(api, block_id, "published text")
    return published, PROMPT_BLOCKS.save(api, block_id, SECRET)["latestVersionId"]


def draft_agent(api: Api, instructions: Any, agent_id: str = "writer") -> str:
    """Make an unpublished agent and return its version's id."""
    return str(AGENTS.make(api, agent_id, instructions)["latestVersionId"])


def activate(api: Api, agent_id: str, version_id: str) -> Answer:
    return api.post(AGENTS.url(agent_id, "versions", version_id, "activate"))


def test_a_live_agent_shows_published_blocks_and_a_draft_shows_drafts(cast: Cast) -> None:
    published, drafted = block_with_draft(cast.alice)
    instructions = [text("Write."), reference("tone")]
    active = published_agent(cast.alice, instructions=instructions)
    draft = AGENTS.save(cast.alice, text=[text("New."), reference("tone")])["latestVersionId"]
    cast.alice.put(AGENTS.url("writer", "labels", "next"), {"versionId": draft})
    shown = [{"id": "tone", "versionId": published, "shown": True, "reason": None, "rollout": None}]
    for reader in (cast.alice, cast.edgar, cast.vera, cast.root):
        for query in ({}, {"status": "published"}, {"label": "production"}, {"versionId": active}):
            answer = ask(reader, **query)
            assert answer.body["instructions"] == "Write.\n\npublished text"
            assert answer.body["blocks"] == shown
            assert SECRET not in str(answer.body)
    for query in ({"versionId": draft}, {"label": "next"}):  # exact versions, of which blocks are live
        assert served(cast.alice, **query)["instructions"] == "New.\n\npublished text"
    for reader in (cast.alice, cast.edgar):
        agent = served(reader, status="draft")
        assert agent["instructions"] == f"New.\n\n{SECRET}"
        assert agent["blocks"] == [{**shown[0], "versionId": drafted}]
    tag = ask(cast.vera).etag
    PROMPT_BLOCKS.publish(cast.alice, "tone", drafted)
    after = ask(cast.vera)
    assert after.body["instructions"] == f"Write.\n\n{SECRET}" and after.etag != tag


def test_a_fallback_to_a_draft_shows_published_blocks_only(alice: Api) -> None:
    block_with_draft(alice)
    PROMPT_BLOCKS.make(alice, "unborn", SECRET)
    draft_agent(alice, [reference("tone"), reference("unborn")])
    agent = served(alice)
    assert agent["instructions"] == "published text"
    assert agent["fallback"]["code"] == "no_published_version"
    assert [block["reason"] for block in agent["blocks"]] == [None, "unpublished"]


def test_an_unpublished_or_deleted_block_is_omitted_and_reported(cast: Cast) -> None:
    published_block(cast.alice, "tone", "kind")
    published_block(cast.alice, "format", "brief")
    published_agent(cast.alice, instructions=[reference("format"), reference("tone"), text("Write.")])
    for reason in ("unpublished", "missing"):
        if reason == "missing":
            assert cast.alice.delete(PROMPT_BLOCKS.url("tone")).status == 200
        else:
            assert cast.alice.post(PROMPT_BLOCKS.url("tone", "unpublish")).status == 200
        agent = served(cast.vera)
        assert agent["instructions"] == "brief\n\nWrite."
        assert [(block["id"], block["shown"], block["reason"]) for block in agent["blocks"]] == [
            ("format", True, None),
            ("tone", False, reason),
        ]
        assert agent["blocks"][1]["versionId"] is None
        (warning,) = agent["warnings"]
        assert warning["field"] == "instructions.1.id"
        assert warning["code"] and "tone" in warning["message"]
        assert agent["fallback"] is None


def test_a_block_hidden_by_its_rules_or_blank_causes_no_warning(alice: Api) -> None:
    never = {"operator": "AND", "conditions": [{"field": "no", "operator": "exists"}]}
    published_block(alice, "hidden", "text", rules=never)
    published_block(alice, "blank", " {{ nothing || '' }} ")
    published_agent(alice, instructions=[text("Write."), reference("hidden"), reference("blank")])
    agent = served(alice)
    assert [(block["id"], block["reason"]) for block in agent["blocks"]] == [
        ("hidden", "rules"),
        ("blank", "blank"),
    ]
    assert agent["warnings"] == []


INSTRUCTIONS = [text("Write."), reference("fine"), reference("unborn"), reference("missing")]
OFFENDERS = ["instructions.2.id", "instructions.3.id"]


def assert_refused_for_blocks(refused: Answer) -> None:
    assert refused.status == 400
    assert refused.fields == OFFENDERS
    messages = {issue["field"]: issue["message"] for issue in refused.body["issues"]}
    assert "unborn" in messages["instructions.2.id"]
    assert "missing" in messages["instructions.3.id"]


@pytest.fixture
def blocks(alice: Api) -> None:
    published_block(alice, "fine", "fine")
    PROMPT_BLOCKS.make(alice, "unborn")


@pytest.mark.usefixtures("blocks")
def test_publishing_names_every_block_that_is_not_published(cast: Cast) -> None:
    version_id = draft_agent(cast.alice, INSTRUCTIONS)
    for publisher in (cast.alice, cast.paula, cast.root):
        assert_refused_for_blocks(activate(publisher, "writer", version_id))
    assert served(cast.alice)["activeVersionId"] is None
    PROMPT_BLOCKS.save(cast.alice, "unborn", "kind", autoPublish=True)
    published_block(cast.alice, "missing", "kind")
    assert activate(cast.alice, "writer", version_id).body["activeVersionId"] == version_id


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("explicit", [{"autoPublish": True}, {}], ids=["explicit", "by default"])
def test_creating_and_publishing_with_unpublished_blocks_is_refused_and_creates_nothing(
    alice: Api, explicit: dict[str, bool]
) -> None:
    body = AGENTS.body(INSTRUCTIONS, id="writer", **explicit)
    assert_refused_for_blocks(alice.post(AGENTS.path, body))
    assert alice.get(AGENTS.url("writer")).status == 404
    assert alice.post(AGENTS.path, AGENTS.body(id="writer")).status == 201


@pytest.mark.usefixtures("blocks")
def test_saving_and_publishing_with_unpublished_blocks_is_refused_and_saves_nothing(alice: Api) -> None:
    active = published_agent(alice)
    changes = {"instructions": INSTRUCTIONS, "metadata": {"a": 1}, "visibility": "public"}
    assert_refused_for_blocks(alice.patch(AGENTS.url("writer"), {**changes, "autoPublish": True}))
    record = alice.get(AGENTS.url("writer"), status="draft").body
    assert (record["latestVersionId"], record["activeVersionId"]) == (active, active)
    assert (record["metadata"], record["visibility"]) == ({}, "private")


def test_publishing_checks_the_blocks_of_the_published_version_and_not_the_latest(alice: Api) -> None:
    fine = draft_agent(alice, "plain")
    AGENTS.save(alice, text=[reference("missing")])
    assert activate(alice, "writer", fine).status == 200
    assert alice.patch(AGENTS.url("writer"), {"metadata": {"a": 1}}).status == 200
    refused = alice.patch(AGENTS.url("writer"), {"metadata": {"a": 2}, "autoPublish": True})
    assert (refused.status, refused.fields) == (400, ["instructions.0.id"])
