"""Warnings: what an agent refers to in vain, and sub-agents that lead back to where they began."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.served import published_agent, served

Warnings = list[tuple[str, str]]


def uses(*agent_ids: str) -> dict[str, Any]:
    return {"agents": {agent_id: {} for agent_id in agent_ids}}


def told(body: dict[str, Any]) -> Warnings:
    """Return code and field of each warning; each has a sentence and nothing else."""
    assert all(set(warning) == {"code", "field", "message"} for warning in body["warnings"])
    assert all(warning["message"] for warning in body["warnings"])
    return sorted((warning["code"], warning["field"]) for warning in body["warnings"])


def patched(api: Api, agent_id: str, **changes: Any) -> dict[str, Any]:
    answer = api.patch(AGENTS.url(agent_id), changes)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def activated(api: Api, agent_id: str, version_id: str) -> dict[str, Any]:
    answer = api.post(AGENTS.url(agent_id, "versions", version_id, "activate"))
    assert answer.status == 200, answer.body
    return dict(answer.body)


def chain(api: Api, length: int) -> str:
    """Make agents each of which uses the next, the last of which uses `agent-0`; return the second."""
    AGENTS.make(api, "agent-0", autoPublish=True)
    for number in range(length - 1, 0, -1):
        AGENTS.make(api, f"agent-{number}", autoPublish=True, **uses(f"agent-{(number + 1) % length}"))
    return "agent-1"


def test_what_refers_to_nothing_or_to_what_is_there_is_warned_of_nothing(alice: Api) -> None:
    assert PROMPT_BLOCKS.make(alice)["warnings"] == PROMPT_BLOCKS.save(alice)["warnings"] == []
    AGENTS.make(alice, "reader")
    published_agent(alice, "team/editor")
    assert told(AGENTS.make(alice, "lead", **uses("reader", "team/editor"))) == []
    made = AGENTS.make(alice)
    assert told(made) == []
    assert told(patched(alice, "writer", description="x")) == []
    assert told(activated(alice, "writer", made["latestVersionId"])) == []


def test_unknown_tools_and_sub_agents_are_named_where_they_are(alice: Api) -> None:
    tools = {"no-such-tool": {}}
    made = AGENTS.make(alice, "plain", tools=tools, **uses("nobody"))
    assert told(made) == [("unknown_agent", "agents.nobody"), ("unknown_tool", "tools.no-such-tool")]
    never = {"operator": "AND", "conditions": [{"field": "no", "operator": "exists"}]}
    varying = AGENTS.make(
        alice,
        "varying",
        tools=[{"value": {}}, {"value": tools, "rules": never}],
        agents=[{"value": {"nobody": {"rules": never}}, "rules": never}],
    )
    assert told(varying) == [
        ("unknown_agent", "agents.0.value.nobody"),
        ("unknown_tool", "tools.1.value.no-such-tool"),
    ]


def test_a_warning_refuses_nothing_and_comes_with_create_patch_and_activate(alice: Api) -> None:
    expected = [("unknown_agent", "agents.nobody")]
    made = AGENTS.make(alice, **uses("nobody"))
    nothing = patched(alice, "writer", agents=None)["latestVersionId"]
    assert told(activated(alice, "writer", made["latestVersionId"])) == expected
    assert told(activated(alice, "writer", nothing)) == []
    saved = patched(alice, "writer", instructions="two", **uses("nobody"))
    published = activated(alice, "writer", saved["latestVersionId"])
    at_once = patched(alice, "writer", instructions="three", autoPublish=True)
    assert told(made) == told(saved) == told(published) == told(at_once) == expected
    assert served(alice)["instructions"] == "three"


def test_a_sub_agent_that_is_made_later_is_unknown_no_more(alice: Api) -> None:
    AGENTS.make(alice, **uses("reader"))
    AGENTS.make(alice, "reader")
    assert told(patched(alice, "writer", instructions="two")) == []
    alice.delete(AGENTS.url("reader"))
    assert told(patched(alice, "writer", instructions="three")) == [("unknown_agent", "agents.reader")]


def test_an_agent_that_uses_itself_is_a_cycle(alice: Api) -> None:
    assert told(AGENTS.make(alice, "writer", **uses("writer"))) == [("agent_cycle", "agents.writer")]
    variants = [{"value": {}}, {"value": {"writer": {}}}]
    assert told(patched(alice, "writer", agents=variants)) == [("agent_cycle", "agents.1.value.writer")]


@pytest.mark.parametrize("length", [2, 12])
def test_a_cycle_is_found_however_long_until_it_is_opened(alice: Api, length: int) -> None:
    second = chain(alice, length)
    closing = patched(alice, "agent-0", **uses(second))
    assert told(closing) == [("agent_cycle", f"agents.{second}")]
    assert told(activated(alice, "agent-0", closing["latestVersionId"])) == told(closing)
    patched(alice, f"agent-{length - 1}", agents=None, autoPublish=True)
    assert told(patched(alice, "agent-0", instructions="two")) == []


def test_only_the_sub_agents_that_lead_back_are_named(alice: Api) -> None:
    published_agent(alice, "leaf")
    published_agent(alice, "back", **uses("writer", "leaf"))
    published_agent(alice, "side", **uses("leaf"))
    made = AGENTS.make(alice, **uses("leaf", "back", "side"))
    assert told(made) == [("agent_cycle", "agents.back")]
    # Agents that meet again are no cycle.
    assert told(patched(alice, "writer", **uses("leaf", "side"))) == []


def test_a_cycle_among_others_does_not_keep_the_answer_back(alice: Api) -> None:
    AGENTS.make(alice, "left", autoPublish=True, **uses("right"))
    AGENTS.make(alice, "right", autoPublish=True, **uses("left", "right"))
    made = AGENTS.make(alice, **uses("left"))
    assert ("unknown_agent", "agents.left") not in told(made)


@pytest.mark.parametrize(
    "publish", [{"autoPublish": False}, {"autoPublish": True}], ids=["draft", "published"]
)
def test_a_cycle_through_a_draft_is_one(cast: Cast, publish: dict[str, bool]) -> None:
    published_agent(cast.alice, "reader")
    AGENTS.make(cast.alice)
    patched(cast.alice, "reader", **uses("writer"), **publish)
    for writer in (cast.edgar, cast.alice):
        assert told(patched(writer, "writer", **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_a_cycle_through_what_is_published_is_one_although_the_draft_has_left_it(alice: Api) -> None:
    published_agent(alice, "reader", **uses("writer"))
    patched(alice, "reader", agents=None)
    assert told(AGENTS.make(alice, **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_a_cycle_through_a_conditional_variant_is_one(alice: Api) -> None:
    never = {"operator": "AND", "conditions": [{"field": "no", "operator": "exists"}]}
    published_agent(alice, "reader", agents=[{"value": {}}, {"value": {"writer": {}}, "rules": never}])
    assert told(AGENTS.make(alice, **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_an_agent_that_the_caller_cannot_read_is_as_unknown_as_one_that_does_not_exist(cast: Cast) -> None:
    published_agent(cast.alice, "secret", name="Hidden name")
    made = AGENTS.make(cast.charlie, **uses("nobody", "secret"))
    assert told(made) == [("unknown_agent", "agents.nobody"), ("unknown_agent", "agents.secret")]
    sentences = {warning["message"].replace("secret", "nobody") for warning in made["warnings"]}
    assert len(sentences) == 1
    assert "Hidden name" not in str(made)


def test_a_public_agent_of_others_is_known_once_it_is_published(cast: Cast) -> None:
    version_id = AGENTS.make(cast.alice, "shared", visibility="public")["latestVersionId"]
    assert told(AGENTS.make(cast.charlie, **uses("shared"))) == [("unknown_agent", "agents.shared")]
    AGENTS.publish(cast.alice, "shared", version_id)
    assert told(patched(cast.charlie, "writer", instructions="two")) == []


def test_a_cycle_through_a_draft_that_the_caller_cannot_read_is_not_told(cast: Cast) -> None:
    published_agent(cast.alice, "shared", visibility="public")
    AGENTS.make(cast.charlie)
    patched(cast.alice, "shared", **uses("writer"))
    assert told(patched(cast.charlie, "writer", **uses("shared"))) == []


def test_a_cycle_through_an_agent_that_the_caller_cannot_read_is_not_told(cast: Cast) -> None:
    AGENTS.make(cast.charlie)
    published_agent(cast.alice, "secret", **uses("writer"))
    published_agent(cast.alice, "shared", visibility="public", **uses("secret"))
    saved = patched(cast.charlie, "writer", **uses("shared"))
    assert told(saved) == []
    assert "secret" not in str(saved)


def test_a_cycle_through_what_the_caller_can_read_is_told_across_workspaces(cast: Cast) -> None:
    AGENTS.make(cast.charlie)
    published_agent(cast.alice, "shared", visibility="public", **uses("writer"))
    assert told(patched(cast.charlie, "writer", **uses("shared"))) == [("agent_cycle", "agents.shared")]


def test_of_very_many_warnings_the_first_are_given_and_the_rest_counted(alice: Api) -> None:
    made = AGENTS.make(alice, **uses(*(f"nobody-{number}" for number in range(1_500))))
    assert len(made["warnings"]) == 1_001
    last = made["warnings"][-1]
    assert (last["code"], last["message"]) == ("more_warnings", "There are 500 more warnings.")


def test_a_block_with_the_id_of_an_agent_in_code_has_nothing_to_do_with_it(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    body = PROMPT_BLOCKS.body(id="answers", workspaceId="acme")
    assert cast.alice.post(PROMPT_BLOCKS.path, body).body["warnings"] == []
