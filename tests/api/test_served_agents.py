"""The agent as applications use it: one text, plain values, nothing conditional left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.served import FOR_GOLD, ask, published_agent, published_block, reference, served, text

FOR_BETA = {"operator": "AND", "conditions": [{"field": "beta", "operator": "equals", "value": True}]}
MEMBERS = {
    *("id", "name", "description", "instructions", "tools", "agents", "model", "provider", "modelId"),
    *("defaultOptions", "source", "status", "metadata", "resolvedVersionId", "activeVersionId"),
    *("selector", "fallback", "warnings", "blocks"),
}
ECHO = {"provider": "echo", "name": "echo"}
LARGE = {"name": "large", "temperature": 0.2}


def rich_agent(api: Api) -> tuple[str, str]:
    """Make an agent with everything in it; return the ids of its version and of its block's version."""
    block_id = published_block(api, "tone", "Be {{ mood || 'kind' }}.")
    version_id = published_agent(
        api,
        "team/writer",
        [text("Write for {{ user.name }}."), reference("tone"), {**text("!"), "content": " "}],
        name="Writer",
        description="Writes.",
        metadata={"team": "red"},
        tools={"search": {"description": "Look it up", "rules": None}, "clock": {"rules": FOR_GOLD}},
        agents={"proof/reader": {"description": "Corrects"}},
        model={**ECHO, "temperature": 0.5},
        defaultOptions={"maxSteps": 3},
    )
    return version_id, block_id


def test_the_answer_holds_everything_and_nothing_else(alice: Api) -> None:
    version_id, block_id = rich_agent(alice)
    assert served(alice, "team/writer", {"user": {"name": "Ann"}, "tier": "gold"}) == {
        "id": "team/writer",
        "name": "Writer",
        "description": "Writes.",
        "instructions": "Write for Ann.\n\nBe kind.",
        "tools": {"search": {"description": "Look it up"}, "clock": {}},
        "agents": {"proof/reader": {"description": "Corrects"}},
        "model": {**ECHO, "temperature": 0.5},
        "provider": "echo",
        "modelId": "echo",
        "defaultOptions": {"maxSteps": 3},
        "source": "stored",
        "status": "published",
        "metadata": {"team": "red"},
        "resolvedVersionId": version_id,
        "activeVersionId": version_id,
        "selector": {"status": "published"},
        "fallback": None,
        "warnings": [],
        "blocks": [{"id": "tone", "versionId": block_id, "shown": True, "reason": None}],
    }


def test_an_agent_of_the_required_fields_alone_has_every_member_too(alice: Api) -> None:
    published_agent(alice)
    agent = served(alice)
    assert set(agent) == MEMBERS
    assert (agent["description"], agent["model"], agent["provider"], agent["modelId"]) == (None,) * 4
    assert (agent["tools"], agent["agents"], agent["defaultOptions"], agent["metadata"]) == ({}, {}, {}, {})
    assert (agent["warnings"], agent["blocks"]) == ([], [])


def test_whoever_may_run_an_agent_gets_the_same_answer(cast: Cast) -> None:
    published_agent(cast.alice, visibility="public", metadata={"a": 1})
    agent = served(cast.alice)
    assert served(cast.vera) == served(cast.charlie) == served(cast.root) == agent


def test_instructions_that_are_text_are_used_as_they_are(alice: Api) -> None:
    published_agent(alice, instructions="  Hi {{ name || 'you' }}\n")
    assert served(alice, context={"name": "Ann"})["instructions"] == "  Hi {{ name || 'you' }}\n"


@pytest.mark.parametrize(
    ("context", "instructions"),
    [
        (None, "Hi {{ name }}.\n\nYou have {}."),
        ({}, "Hi {{ name }}.\n\nYou have {}."),
        ({"name": "Ann"}, "Hi Ann.\n\nYou have {}."),
        ({"name": None, "items": ["ü", 1]}, 'Hi {{ name }}.\n\nYou have ["ü",1].'),
        ({"name": "{{ items }}", "items": {"b": 1, "a": 2}}, 'Hi {{ items }}.\n\nYou have {"a":2,"b":1}.'),
        ({"name": "\U0001f600>?~ÿ"}, "Hi \U0001f600>?~ÿ.\n\nYou have {}."),
    ],
)
def test_the_context_fills_the_placeholders(alice: Api, context: Any, instructions: str) -> None:
    published_agent(alice, instructions=[text("Hi {{ name }}."), text("You have {{ items || '{}' }}.")])
    assert served(alice, context=context)["instructions"] == instructions


@pytest.mark.parametrize(
    ("context", "shown"),
    [({"tier": "gold"}, ["inline", "stored"]), ({"tier": "silver"}, []), ({}, []), (None, [])],
)
def test_a_block_is_shown_when_its_rules_hold_for_the_context(
    alice: Api, context: Any, shown: list[str]
) -> None:
    published_block(alice, "perk", "stored", rules=FOR_GOLD)
    inline = {"type": "prompt_block", "content": "inline", "rules": FOR_GOLD}
    published_agent(alice, instructions=[text("always"), inline, reference("perk")])
    agent = served(alice, context=context)
    assert agent["instructions"] == "\n\n".join(["always", *shown])
    assert [(block["shown"], block["reason"]) for block in agent["blocks"]] == (
        [(True, None)] if shown else [(False, "rules")]
    )
    assert agent["warnings"] == []


@pytest.mark.parametrize(
    ("context", "tools"),
    [
        ({}, {"clock": {"description": "UTC"}}),
        ({"tier": "gold"}, {"clock": {"description": "UTC"}, "search": {}}),
        ({"beta": True}, {"clock": {"description": "local"}}),
        ({"beta": True, "tier": "gold"}, {"clock": {"description": "local"}, "search": {}}),
        ({"beta": "true", "tier": "Gold"}, {"clock": {"description": "UTC"}}),
    ],
)
@pytest.mark.parametrize("field", ["tools", "agents"])
def test_a_tool_or_sub_agent_is_offered_when_its_rules_hold_for_the_context(
    alice: Api, field: str, context: dict[str, Any], tools: dict[str, Any]
) -> None:
    variants = [
        {"value": {"clock": {"description": "UTC"}, "search": {"rules": FOR_GOLD}}},
        {"value": {"clock": {"description": "local"}}, "rules": FOR_BETA},
    ]
    published_agent(alice, **{field: variants})
    assert served(alice, context=context)[field] == tools


@pytest.mark.parametrize(
    ("context", "model", "options"),
    [
        ({}, ECHO, {"maxSteps": 1, "deep": {"a": 1}}),
        ({"tier": "gold"}, {**ECHO, **LARGE, "provider": "other"}, {"maxSteps": 9, "deep": {"b": 2}}),
    ],
)
def test_variants_merge_into_one_plain_value(
    alice: Api, context: dict[str, Any], model: dict[str, Any], options: dict[str, Any]
) -> None:
    published_agent(
        alice,
        model=[{"value": ECHO}, {"value": {"provider": "other", **LARGE}, "rules": FOR_GOLD}],
        defaultOptions=[
            {"value": {"maxSteps": 1, "deep": {"a": 1}}},
            {"value": {"maxSteps": 9, "deep": {"b": 2}}, "rules": FOR_GOLD},
        ],
    )
    agent = served(alice, context=context)
    assert (agent["model"], agent["defaultOptions"]) == (model, options)
    assert (agent["provider"], agent["modelId"]) == (model["provider"], model["name"])


def test_where_no_variant_matches_nothing_is_offered(alice: Api) -> None:
    variants = {"model": ECHO, "tools": {"clock": {}}, "agents": {"a": {}}, "defaultOptions": {"maxSteps": 1}}
    published_agent(
        alice, **{field: [{"value": value, "rules": FOR_GOLD}] for field, value in variants.items()}
    )
    agent = served(alice)
    assert (agent["model"], agent["provider"], agent["modelId"]) == (None, None, None)
    assert (agent["tools"], agent["agents"], agent["defaultOptions"]) == ({}, {}, {})


def test_a_selected_version_is_resolved_with_its_own_fields(alice: Api) -> None:
    published_agent(alice, tools={"clock": {}}, description="old")
    alice.patch(AGENTS.url("writer"), {"name": "New", "tools": None, "description": None})
    draft = served(alice, status="draft")
    assert (draft["name"], draft["tools"], draft["description"]) == ("New", {}, None)
    assert (served(alice)["name"], served(alice)["tools"]) == ("Writer", {"clock": {}})


@pytest.mark.parametrize("agent_id", ["team/writer", "a b", "é", "100%", "a%2Fb"])
def test_an_agent_is_served_under_its_id(alice: Api, agent_id: str) -> None:
    published_agent(alice, agent_id)
    assert served(alice, agent_id)["id"] == agent_id


@pytest.mark.parametrize("agent_id", ["nobody", "..", "a//b", "x" * 300, "a\u200bb"])
def test_an_agent_that_does_not_exist_is_not_found(alice: Api, agent_id: str) -> None:
    missing = ask(alice, agent_id)
    assert (missing.status, missing.code) == (404, "not_found")


def test_a_private_agent_of_others_is_answered_like_one_that_does_not_exist(cast: Cast) -> None:
    published_agent(cast.alice)
    hidden, missing = ask(cast.charlie), ask(cast.charlie, "nobody")
    assert (hidden.status, hidden.body) == (missing.status, missing.body)
    assert ask(cast.nobody).status == 401
