"""The agent as applications use it: one text, plain values, nothing conditional left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Api
from tests.support.served import FOR_GOLD, ask, published_agent, published_block, reference, served, text

FOR_BETA = {"operator": "AND", "conditions": [{"field": "beta", "operator": "equals", "value": True}]}
MEMBERS = {
    *("id", "name", "description", "instructions", "tools", "agents", "model", "provider", "modelId"),
    *("defaultOptions", "source", "status", "metadata", "resolvedVersionId", "activeVersionId"),
    *("selector", "fallback", "warnings", "blocks", "rollout"),
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
        "rollout": None,
        "blocks": [{"id": "tone", "versionId": block_id, "shown": True, "reason": None, "rollout": None}],
    }


def test_an_agent_with_only_required_fields_has_every_member_too(alice: Api) -> None:
    published_agent(alice)
    agent = served(alice)
    assert set(agent) == MEMBERS
    assert (agent["description"], agent["model"], agent["provider"], agent["modelId"]) == (None,) * 4
    assert (agent["tools"], agent["agents"], agent["defaultOptions"], agent["metadata"]) == ({}, {}, {}, {})
    assert (agent["warnings"], agent["blocks"]) == ([], [])


def test_plain_text_instructions_are_served_unchanged(alice: Api) -> None:
    published_agent(alice, instructions="Hi {{ name || 'you' }}")
    assert served(alice, context={"name": "Ann"})["instructions"] == "Hi {{ name || 'you' }}"


def test_the_context_fills_the_placeholders_and_affects_the_etag(alice: Api) -> None:
    published_agent(alice, instructions=[text("Hi {{ name }}."), text("You have {{ items || '{}' }}.")])
    answers: dict[str, Answer] = {
        "Hi {{ name }}.\n\nYou have {}.": ask(alice),
        "Hi Ann.\n\nYou have {}.": ask(alice, context={"name": "Ann"}),
        'Hi {{ name }}.\n\nYou have ["ü",1].': ask(alice, context={"name": None, "items": ["ü", 1]}),
        'Hi {{ items }}.\n\nYou have {"a":2}.': ask(
            alice, context={"name": "{{ items }}", "items": {"a": 2}}
        ),
        "Hi \U0001f600>?~ÿ.\n\nYou have {}.": ask(alice, context={"name": "\U0001f600>?~ÿ"}),
    }
    assert [answer.body["instructions"] for answer in answers.values()] == list(answers)
    assert len({answer.etag for answer in answers.values()}) == len(answers)


def test_a_block_is_shown_when_its_rules_hold_for_the_context(alice: Api) -> None:
    published_block(alice, "perk", "stored", rules=FOR_GOLD)
    inline = {"type": "prompt_block", "content": "inline", "rules": FOR_GOLD}
    published_agent(alice, instructions=[text("always"), inline, reference("perk")])
    for context, instructions, shown in (
        ({"tier": "gold"}, "always\n\ninline\n\nstored", (True, None)),
        ({"tier": "silver"}, "always", (False, "rules")),
        (None, "always", (False, "rules")),
    ):
        agent = served(alice, context=context)
        assert agent["instructions"] == instructions
        assert [(block["shown"], block["reason"]) for block in agent["blocks"]] == [shown]
        assert agent["warnings"] == []


def test_a_tool_or_sub_agent_is_offered_when_its_rules_hold_for_the_context(alice: Api) -> None:
    variants = [
        {"value": {"clock": {"description": "UTC"}, "search": {"rules": FOR_GOLD}}},
        {"value": {"clock": {"description": "local"}}, "rules": FOR_BETA},
    ]
    published_agent(alice, tools=variants, agents=variants)
    utc, local = {"clock": {"description": "UTC"}}, {"clock": {"description": "local"}}
    contexts: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, utc),
        ({"tier": "gold"}, {**utc, "search": {}}),
        ({"beta": True}, local),
        ({"beta": True, "tier": "gold"}, {**local, "search": {}}),
        ({"beta": "true", "tier": "Gold"}, utc),
    ]
    for context, offered in contexts:
        agent = served(alice, context=context)
        assert (agent["tools"], agent["agents"]) == (offered, offered), context


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


def test_without_a_matching_variant_a_field_is_empty(alice: Api) -> None:
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


def test_an_agent_is_served_under_its_id(alice: Api) -> None:
    for agent_id in ("team/writer", "a b", "é", "100%", "a%2Fb"):
        published_agent(alice, agent_id)
        assert served(alice, agent_id)["id"] == agent_id
