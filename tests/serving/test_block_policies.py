"""Which text of a prompt block counts: published ones live, drafts for a draft; and what publishing needs."""

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
    """Make an agent that nobody has published and return its version's id."""
    return str(AGENTS.make(api, agent_id, instructions)["latestVersionId"])


def activate(api: Api, agent_id: str, version_id: str) -> Answer:
    return api.post(AGENTS.url(agent_id, "versions", version_id, "activate"))


@pytest.mark.parametrize("query", [{}, {"status": "published"}, {"label": "production"}])
def test_what_is_live_holds_the_published_text_and_no_word_of_a_draft(
    cast: Cast, query: dict[str, str]
) -> None:
    published, _ = block_with_draft(cast.alice)
    published_agent(cast.alice, instructions=[text("Write."), reference("tone")])
    for reader in (cast.alice, cast.edgar, cast.vera, cast.root):
        answer = ask(reader, **query)
        assert answer.body["instructions"] == "Write.\n\npublished text"
        assert answer.body["blocks"] == [
            {"id": "tone", "versionId": published, "shown": True, "reason": None}
        ]
        assert SECRET not in str(answer.body)


def test_an_exact_version_is_served_with_published_blocks(cast: Cast) -> None:
    block_with_draft(cast.alice)
    active = published_agent(cast.alice, instructions=[reference("tone")])
    draft = AGENTS.save(cast.alice, text=[text("New."), reference("tone")])["latestVersionId"]
    cast.alice.put(AGENTS.url("writer", "labels", "next"), {"versionId": draft})
    assert served(cast.alice, versionId=active)["instructions"] == "published text"
    assert served(cast.vera, versionId=active)["instructions"] == "published text"
    assert served(cast.alice, versionId=draft)["instructions"] == "New.\n\npublished text"
    assert served(cast.alice, label="next")["instructions"] == "New.\n\npublished text"


def test_a_draft_is_served_with_the_drafts_of_its_blocks(cast: Cast) -> None:
    _, draft = block_with_draft(cast.alice)
    published_agent(cast.alice, instructions=[reference("tone")])
    for agent in (served(cast.alice, status="draft"), served(cast.edgar, status="draft")):
        assert agent["instructions"] == SECRET
        assert agent["blocks"] == [{"id": "tone", "versionId": draft, "shown": True, "reason": None}]


def test_a_draft_is_served_with_blocks_that_were_never_published(alice: Api) -> None:
    PROMPT_BLOCKS.make(alice, "tone", SECRET)
    draft_agent(alice, [reference("tone")])
    agent = served(alice, status="draft")
    assert (agent["instructions"], agent["warnings"]) == (SECRET, [])


def test_a_fallback_to_a_draft_is_live_and_holds_published_blocks_only(alice: Api) -> None:
    block_with_draft(alice)
    PROMPT_BLOCKS.make(alice, "unborn", SECRET)
    draft_agent(alice, [reference("tone"), reference("unborn")])
    agent = served(alice)
    assert agent["instructions"] == "published text"
    assert agent["fallback"]["code"] == "no_published_version"
    assert [block["reason"] for block in agent["blocks"]] == [None, "unpublished"]


def test_publishing_a_block_changes_what_is_live_at_once(cast: Cast) -> None:
    _, draft = block_with_draft(cast.alice)
    published_agent(cast.alice, instructions=[reference("tone")])
    tag = ask(cast.vera).etag
    PROMPT_BLOCKS.publish(cast.alice, "tone", draft)
    after = ask(cast.vera)
    assert after.body["instructions"] == SECRET
    assert after.etag != tag


@pytest.mark.parametrize(
    ("gone", "reason"), [("unpublish", "unpublished"), ("delete", "missing")], ids=["unpublished", "deleted"]
)
def test_a_block_that_is_gone_is_left_out_and_reported(cast: Cast, gone: str, reason: str) -> None:
    published_block(cast.alice, "tone", "kind")
    published_block(cast.alice, "format", "brief")
    instructions = [reference("format"), reference("tone"), text("Write.")]
    published_agent(cast.alice, instructions=instructions)
    if gone == "delete":
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


def test_every_missing_block_of_a_draft_is_reported(alice: Api) -> None:
    draft_agent(alice, [text("Write."), reference("a"), reference("b"), reference("a")])
    agent = served(alice, status="draft")
    assert agent["instructions"] == "Write."
    assert [(block["id"], block["reason"]) for block in agent["blocks"]] == [
        ("a", "missing"),
        ("b", "missing"),
        ("a", "missing"),
    ]
    assert sorted(warning["field"] for warning in agent["warnings"]) == [
        f"instructions.{position}.id" for position in (1, 2, 3)
    ]


def test_a_block_that_is_hidden_by_its_rules_or_blank_is_no_cause_for_a_warning(alice: Api) -> None:
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


def test_a_draft_may_refer_to_blocks_that_are_not_there(alice: Api) -> None:
    PROMPT_BLOCKS.make(alice, "unborn")
    made = alice.post(
        AGENTS.path,
        AGENTS.body([reference("unborn"), reference("missing")], id="writer", autoPublish=False),
    )
    assert made.status == 201
    saved = alice.patch(AGENTS.url("writer"), {"instructions": [reference("missing")]})
    assert saved.status == 200


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
    """One block that is published and one that is not."""
    published_block(alice, "fine", "fine")
    PROMPT_BLOCKS.make(alice, "unborn")


@pytest.mark.usefixtures("blocks")
def test_publishing_names_every_block_that_is_not_published(cast: Cast) -> None:
    version_id = draft_agent(cast.alice, INSTRUCTIONS)
    for publisher in (cast.alice, cast.paula, cast.root):
        assert_refused_for_blocks(activate(publisher, "writer", version_id))
    assert served(cast.alice)["activeVersionId"] is None


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("explicit", [{"autoPublish": True}, {}], ids=["explicit", "by default"])
def test_creating_and_publishing_at_once_is_refused_and_makes_nothing(
    alice: Api, explicit: dict[str, bool]
) -> None:
    body = AGENTS.body(INSTRUCTIONS, id="writer", **explicit)
    assert_refused_for_blocks(alice.post(AGENTS.path, body))
    assert alice.get(AGENTS.url("writer")).status == 404
    assert alice.post(AGENTS.path, AGENTS.body(id="writer")).status == 201


@pytest.mark.usefixtures("blocks")
def test_saving_and_publishing_at_once_is_refused_and_saves_nothing(alice: Api) -> None:
    active = published_agent(alice)
    changes = {"instructions": INSTRUCTIONS, "metadata": {"a": 1}, "visibility": "public"}
    assert_refused_for_blocks(alice.patch(AGENTS.url("writer"), {**changes, "autoPublish": True}))
    record = alice.get(AGENTS.url("writer"), status="draft").body
    assert (record["latestVersionId"], record["activeVersionId"]) == (active, active)
    assert (record["metadata"], record["visibility"]) == ({}, "private")


@pytest.mark.usefixtures("blocks")
def test_a_refused_publication_leaves_the_published_version_serving(cast: Cast) -> None:
    active = published_agent(cast.alice, instructions="old")
    draft = AGENTS.save(cast.alice, text=INSTRUCTIONS)["latestVersionId"]
    assert_refused_for_blocks(activate(cast.alice, "writer", draft))
    assert (served(cast.vera)["instructions"], served(cast.vera)["activeVersionId"]) == ("old", active)


def test_an_agent_is_published_once_its_blocks_are(alice: Api) -> None:
    version_id = draft_agent(alice, [reference("tone")])
    assert activate(alice, "writer", version_id).status == 400
    published_block(alice, "tone", "kind")
    assert activate(alice, "writer", version_id).body["activeVersionId"] == version_id
    assert served(alice)["instructions"] == "kind"


def test_the_blocks_of_the_version_that_is_published_count_and_not_those_of_the_latest(alice: Api) -> None:
    fine = draft_agent(alice, "plain")
    AGENTS.save(alice, text=[reference("missing")])
    assert activate(alice, "writer", fine).status == 200
    assert alice.patch(AGENTS.url("writer"), {"metadata": {"a": 1}}).status == 200
    refused = alice.patch(AGENTS.url("writer"), {"metadata": {"a": 2}, "autoPublish": True})
    assert (refused.status, refused.fields) == (400, ["instructions.0.id"])


def test_a_block_needs_none_of_this(alice: Api) -> None:
    """Blocks do not refer to one another: what looks like a reference in one is text."""
    content = '{"type": "prompt_block_ref", "id": "missing"}'
    published_block(alice, "tone", content)
    published_agent(alice, instructions=[reference("tone")])
    assert served(alice)["instructions"] == content
