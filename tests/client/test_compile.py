"""Prompts compiled without the server equal those of the server."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from editor_client import Client, ValidationFailed, compile_prompt, referenced_blocks
from editor_client.parts import evaluate
from editor_client.shared.conditions import holds
from hypothesis import given
from hypothesis import strategies as st

from tests.support.configurations import FOR_GOLD, FULL_BLOCK, rule_groups
from tests.support.service import Service

CONTEXTS: list[dict[str, Any]] = [
    {},
    {"tier": "gold"},
    {"tier": "silver", "manner": "brisk"},
    {"tier": "gold", "manner": None, "user": {"name": "Ann"}},
    {"tier": ["gold"], "user": {"name": {"first": "Ü"}}},
]
TEMPLATES = ["Hi {{ user.name || 'you' }}.", "{{ manner }}", "{{ user }}", "  ", "{{ manner || '' }}"]


def reference(block_id: str) -> dict[str, Any]:
    return {"type": "prompt_block_ref", "id": block_id}


@pytest.fixture
def blocking(live_service: Service) -> Any:
    """A client of the real server."""
    with Client(live_service.url, api_key=live_service.key) as client:
        yield client


@pytest.mark.processes
def test_a_compiled_block_equals_the_text_of_the_server(blocking: Client, new_id: str) -> None:
    block = blocking.create_stored_prompt_block(**{**FULL_BLOCK, "id": new_id})
    for context in CONTEXTS:
        shown = blocking.preview_instructions([reference(new_id)], context=context).result
        assert compile_prompt(block, context) == shown
    assert {bool(compile_prompt(block, context)) for context in CONTEXTS} == {True, False}


@pytest.mark.processes
def test_a_compiled_agent_equals_the_text_of_the_server(blocking: Client, new_id: str) -> None:
    for number, template in enumerate(TEMPLATES):
        blocking.create_stored_prompt_block(
            id=f"{new_id}/{number}", name="x", content=template, rules=FOR_GOLD if number % 2 else None
        )
    blocks = [
        *({"type": "prompt_block", "content": one, "rules": FOR_GOLD} for one in TEMPLATES),
        *({"type": "text", "content": one} for one in TEMPLATES),
        *(reference(f"{new_id}/{number}") for number in range(len(TEMPLATES))),
    ]
    agent = blocking.create_stored_agent(id=new_id, name="x", instructions=blocks, auto_publish=False)
    found = {
        block_id: blocking.get_stored_prompt_block(block_id).details()
        for block_id in referenced_blocks(agent)
    }
    assert len(found) == len(TEMPLATES)
    for context in CONTEXTS:
        shown = blocking.preview_instructions(blocks, context=context).result
        assert compile_prompt(agent, context, blocks=found) == shown
        served = blocking.get_agent(new_id, status="draft").details(request_context=context)
        assert compile_prompt(served) == shown


@given(rule_groups, st.sampled_from(CONTEXTS))
def test_rules_hold_exactly_as_on_the_server(rules: Any, context: dict[str, Any]) -> None:
    assert compile_prompt({"content": "shown", "rules": rules}, context) == "shown" * holds(rules, context)


def test_plain_text_is_not_a_template_and_other_values_are_refused() -> None:
    assert compile_prompt({"instructions": " {{ name }} "}, {"name": "Ann"}) == "{{ name }}"
    assert compile_prompt({"name": "x", "content": "Hi {{ name }}."}, {"name": "Ann"}) == "Hi Ann."
    prompt: Any
    for prompt in ({}, {"name": "x"}, {"instructions": [reference("a")]}):
        with pytest.raises(ValidationFailed):
            compile_prompt(prompt, {}, blocks={"a": {"name": "no content"}})
    with pytest.raises(ValidationFailed) as raised:
        compile_prompt({"content": "{{ v }}" * 10_000}, {"v": "x" * 10_000})
    assert raised.value.code == "instructions_too_long"


NO_CONTEXTS: list[Any] = [["a"], [1], [], "x", "", 1, 0, False]


@pytest.mark.processes
def test_a_context_that_is_no_object_is_refused_like_by_the_server(
    blocking: Client, live_service: Service, new_id: str
) -> None:
    template = [{"type": "prompt_block", "content": "Hi {{ name }}.", "rules": None}]
    blocking.create_stored_agent(id=new_id, name="x", instructions=template)
    agent = blocking.get_agent(new_id)
    parts = agent.parts()
    sent = httpx2.get(
        f"{blocking.address}/agents/{new_id}?requestContext=WyJhIl0",
        headers={"Authorization": f"Bearer {live_service.key}"},
    )
    assert sent.status_code == 400
    [issue] = sent.json()["issues"]
    for context in NO_CONTEXTS:
        for ask in (
            lambda context=context: agent.details(request_context=context),
            lambda context=context: agent.details(request_context=context, fallback={"instructions": "x"}),
            lambda context=context: blocking.list_agents(request_context=context),
            lambda context=context: evaluate(parts, context),
            lambda context=context: evaluate(parts, context, offline=True),
        ):
            with pytest.raises(ValidationFailed) as raised:
                ask()
            assert [(one.field, one.message) for one in raised.value.issues] == [
                (issue["field"], issue["message"])
            ]
        with pytest.raises(ValidationFailed, match="context: must be a JSON object"):
            compile_prompt({"content": "Hi {{ name }}."}, context)


def test_a_missing_block_is_named() -> None:
    agent = {"instructions": [reference("tone"), reference("a/b"), {"type": "text", "content": "x"}]}
    with pytest.raises(ValidationFailed, match="'a/b'") as raised:
        compile_prompt(agent, {}, blocks={"tone": {"content": "kind"}})
    assert [issue.field for issue in raised.value.issues] == ["blocks"]
    assert compile_prompt(agent, {}, blocks={"tone": {"content": "kind"}, "a/b": None}) == "kind\n\nx"
    assert referenced_blocks({"instructions": [reference("b"), reference("a"), reference("b")]}) == ["b", "a"]
