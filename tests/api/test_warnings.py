"""Warnings: references of an agent to missing resources, and cycles of sub-agents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.served import published_agent, served

Warnings = list[tuple[str, str]]


def uses(*agent_ids: str) -> dict[str, Any]:
    return {"agents": {agent_id: {} for agent_id in agent_ids}}


def warnings_of(body: dict[str, Any]) -> Warnings:
    """Return code and field of each warning, which apart from them has only a sentence."""
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


def test_without_missing_references_there_are_no_warnings(alice: Api) -> None:
    assert PROMPT_BLOCKS.make(alice)["warnings"] == PROMPT_BLOCKS.save(alice)["warnings"] == []
    AGENTS.make(alice, "reader")
    published_agent(alice, "team/editor")
    assert warnings_of(AGENTS.make(alice, "lead", **uses("reader", "team/editor"))) == []
    made = AGENTS.make(alice)
    assert warnings_of(made) == []
    assert warnings_of(patched(alice, "writer", description="x")) == []
    assert warnings_of(activated(alice, "writer", made["latestVersionId"])) == []


def test_warnings_name_unknown_tools_and_sub_agents_by_their_field(alice: Api) -> None:
    tools = {"no-such-tool": {}}
    made = AGENTS.make(alice, "plain", tools=tools, **uses("nobody"))
    assert warnings_of(made) == [("unknown_agent", "agents.nobody"), ("unknown_tool", "tools.no-such-tool")]
    never = {"operator": "AND", "conditions": [{"field": "no", "operator": "exists"}]}
    varying = AGENTS.make(
        alice,
        "varying",
        tools=[{"value": {}}, {"value": tools, "rules": never}],
        agents=[{"value": {"nobody": {"rules": never}}, "rules": never}],
    )
    assert warnings_of(varying) == [
        ("unknown_agent", "agents.0.value.nobody"),
        ("unknown_tool", "tools.1.value.no-such-tool"),
    ]


def test_create_patch_and_activate_succeed_with_warnings(alice: Api) -> None:
    expected = [("unknown_agent", "agents.nobody")]
    made = AGENTS.make(alice, **uses("nobody"))
    nothing = patched(alice, "writer", agents=None)["latestVersionId"]
    assert warnings_of(activated(alice, "writer", made["latestVersionId"])) == expected
    assert warnings_of(activated(alice, "writer", nothing)) == []
    saved = patched(alice, "writer", instructions="two", **uses("nobody"))
    published = activated(alice, "writer", saved["latestVersionId"])
    at_once = patched(alice, "writer", instructions="three", autoPublish=True)
    assert (
        warnings_of(made) == warnings_of(saved) == warnings_of(published) == warnings_of(at_once) == expected
    )
    assert served(alice)["instructions"] == "three"


def test_a_sub_agent_that_is_created_later_is_known(alice: Api) -> None:
    AGENTS.make(alice, **uses("reader"))
    AGENTS.make(alice, "reader")
    assert warnings_of(patched(alice, "writer", instructions="two")) == []
    alice.delete(AGENTS.url("reader"))
    assert warnings_of(patched(alice, "writer", instructions="three")) == [("unknown_agent", "agents.reader")]


def test_an_agent_that_uses_itself_is_a_cycle(alice: Api) -> None:
    assert warnings_of(AGENTS.make(alice, "writer", **uses("writer"))) == [("agent_cycle", "agents.writer")]
    variants = [{"value": {}}, {"value": {"writer": {}}}]
    assert warnings_of(patched(alice, "writer", agents=variants)) == [
        ("agent_cycle", "agents.1.value.writer")
    ]


@pytest.mark.parametrize("length", [2, 12])
def test_a_cycle_of_any_length_is_found_until_it_is_broken(alice: Api, length: int) -> None:
    second = chain(alice, length)
    closing = patched(alice, "agent-0", **uses(second))
    assert warnings_of(closing) == [("agent_cycle", f"agents.{second}")]
    assert warnings_of(activated(alice, "agent-0", closing["latestVersionId"])) == warnings_of(closing)
    patched(alice, f"agent-{length - 1}", agents=None, autoPublish=True)
    assert warnings_of(patched(alice, "agent-0", instructions="two")) == []


def test_only_sub_agents_that_are_part_of_the_cycle_are_named(alice: Api) -> None:
    published_agent(alice, "leaf")
    published_agent(alice, "back", **uses("writer", "leaf"))
    published_agent(alice, "side", **uses("leaf"))
    made = AGENTS.make(alice, **uses("leaf", "back", "side"))
    assert warnings_of(made) == [("agent_cycle", "agents.back")]
    # Agents that meet again are no cycle.
    assert warnings_of(patched(alice, "writer", **uses("leaf", "side"))) == []


def test_a_cycle_among_sub_agents_does_not_block_the_answer(alice: Api) -> None:
    AGENTS.make(alice, "left", autoPublish=True, **uses("right"))
    AGENTS.make(alice, "right", autoPublish=True, **uses("left", "right"))
    made = AGENTS.make(alice, **uses("left"))
    assert ("unknown_agent", "agents.left") not in warnings_of(made)


@pytest.mark.parametrize(
    "publish", [{"autoPublish": False}, {"autoPublish": True}], ids=["draft", "published"]
)
def test_a_cycle_through_a_draft_is_found(cast: Cast, publish: dict[str, bool]) -> None:
    published_agent(cast.alice, "reader")
    AGENTS.make(cast.alice)
    patched(cast.alice, "reader", **uses("writer"), **publish)
    for writer in (cast.edgar, cast.alice):
        assert warnings_of(patched(writer, "writer", **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_a_cycle_through_a_published_version_is_found_although_the_draft_breaks_it(alice: Api) -> None:
    published_agent(alice, "reader", **uses("writer"))
    patched(alice, "reader", agents=None)
    assert warnings_of(AGENTS.make(alice, **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_a_cycle_through_a_conditional_variant_is_found(alice: Api) -> None:
    never = {"operator": "AND", "conditions": [{"field": "no", "operator": "exists"}]}
    published_agent(alice, "reader", agents=[{"value": {}}, {"value": {"writer": {}}, "rules": never}])
    assert warnings_of(AGENTS.make(alice, **uses("reader"))) == [("agent_cycle", "agents.reader")]


def test_an_unreadable_sub_agent_gets_the_same_warning_as_a_missing_one(cast: Cast) -> None:
    published_agent(cast.alice, "secret", name="Hidden name")
    made = AGENTS.make(cast.charlie, **uses("nobody", "secret"))
    assert warnings_of(made) == [("unknown_agent", "agents.nobody"), ("unknown_agent", "agents.secret")]
    sentences = {warning["message"].replace("secret", "nobody") for warning in made["warnings"]}
    assert len(sentences) == 1
    assert "Hidden name" not in str(made)


def test_a_public_agent_of_another_workspace_is_known_once_published(cast: Cast) -> None:
    version_id = AGENTS.make(cast.alice, "shared", visibility="public")["latestVersionId"]
    assert warnings_of(AGENTS.make(cast.charlie, **uses("shared"))) == [("unknown_agent", "agents.shared")]
    AGENTS.publish(cast.alice, "shared", version_id)
    assert warnings_of(patched(cast.charlie, "writer", instructions="two")) == []


def test_a_cycle_through_an_unreadable_draft_is_not_revealed(cast: Cast) -> None:
    published_agent(cast.alice, "shared", visibility="public")
    AGENTS.make(cast.charlie)
    patched(cast.alice, "shared", **uses("writer"))
    assert warnings_of(patched(cast.charlie, "writer", **uses("shared"))) == []


def test_a_cycle_through_an_unreadable_agent_is_not_revealed(cast: Cast) -> None:
    AGENTS.make(cast.charlie)
    published_agent(cast.alice, "secret", **uses("writer"))
    published_agent(cast.alice, "shared", visibility="public", **uses("secret"))
    saved = patched(cast.charlie, "writer", **uses("shared"))
    assert warnings_of(saved) == []
    assert "secret" not in str(saved)


def test_a_cycle_of_readable_agents_is_reported_across_workspaces(cast: Cast) -> None:
    AGENTS.make(cast.charlie)
    published_agent(cast.alice, "shared", visibility="public", **uses("writer"))
    assert warnings_of(patched(cast.charlie, "writer", **uses("shared"))) == [
        ("agent_cycle", "agents.shared")
    ]


def test_of_very_many_warnings_the_first_are_listed_and_the_rest_counted(alice: Api) -> None:
    made = AGENTS.make(alice, **uses(*(f"nobody-{number}" for number in range(1_500))))
    assert len(made["warnings"]) == 1_001
    last = made["warnings"][-1]
    assert (last["code"], last["message"]) == ("more_warnings", "There are 500 more warnings.")


def test_a_block_with_the_id_of_a_code_defined_agent_gets_no_warning(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    body = PROMPT_BLOCKS.body(id="answers", workspaceId="acme")
    assert cast.alice.post(PROMPT_BLOCKS.path, body).body["warnings"] == []
