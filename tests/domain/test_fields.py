"""The shapes of the snapshot fields: what each takes, what each refuses, and how a problem is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.configurations import (
    ALWAYS,
    BLANKS,
    CONDITIONAL_FIELDS,
    FOR_GOLD,
    FULL_AGENT,
    FULL_BLOCK,
    OPAQUE_FIELDS,
    SMALLEST,
    SMALLEST_AGENT,
    SMALLEST_BLOCK,
    USAGE_FIELDS,
    problems_of,
)
from versioning.domain.agents import AGENT
from versioning.domain.prompt_blocks import PROMPT_BLOCK

ECHO = {"provider": "echo", "name": "echo"}


def edited_agent(**changes: Any) -> dict[str, Any]:
    return AGENT.schema.edited(SMALLEST_AGENT, changes)


def edited_block(**changes: Any) -> dict[str, Any]:
    return PROMPT_BLOCK.schema.edited(SMALLEST_BLOCK, changes)


def some_value(field: str) -> dict[str, Any]:
    """Return a value that is neither a list nor a variant."""
    return dict(FULL_AGENT[field])


@pytest.mark.parametrize("field", FULL_AGENT)
def test_every_field_of_an_agent_is_kept_as_given(field: str) -> None:
    after = edited_agent(**{field: FULL_AGENT[field]})
    assert after == {**SMALLEST_AGENT, field: FULL_AGENT[field]}


@pytest.mark.parametrize("field", FULL_BLOCK)
def test_every_field_of_a_block_is_kept_as_given(field: str) -> None:
    after = edited_block(**{field: FULL_BLOCK[field]})
    assert after == {**SMALLEST_BLOCK, field: FULL_BLOCK[field]}


def test_the_fields_of_both_kinds_are_those_of_the_contract() -> None:
    assert set(AGENT.schema.names) == set(FULL_AGENT)
    assert set(PROMPT_BLOCK.schema.names) == set(FULL_BLOCK)


@pytest.mark.parametrize("kind", SMALLEST)
@pytest.mark.parametrize(
    "field", ["id", "status", "authorId", "workspaceId", "Name", "request_context_schema"]
)
def test_an_unknown_field_is_refused_by_name(kind: str, field: str) -> None:
    assert problems_of(kind, **{field: "x"}) == [field]


@pytest.mark.parametrize("kind", SMALLEST)
@pytest.mark.parametrize("field", ["bogus", "status"])
def test_an_unknown_field_is_refused_even_when_it_is_null(kind: str, field: str) -> None:
    assert problems_of(kind, **{field: None}) == [field]


@pytest.mark.parametrize("field", ["content", "rules"])
def test_an_agent_has_no_field_of_a_block(field: str) -> None:
    assert problems_of("agent", **{field: FULL_BLOCK[field]}) == [field]


@pytest.mark.parametrize("field", ["instructions", *CONDITIONAL_FIELDS])
def test_a_block_has_no_field_of_an_agent(field: str) -> None:
    assert problems_of("block", **{field: FULL_AGENT[field]}) == [field]


@pytest.mark.parametrize("kind", SMALLEST)
@pytest.mark.parametrize("name", [*BLANKS, None, 5, True, ["Writer"], {}])
def test_a_name_is_text_and_not_blank(kind: str, name: Any) -> None:
    assert problems_of(kind, name=name) == ["name"]


@pytest.mark.parametrize("kind", SMALLEST)
@pytest.mark.parametrize("value", [5, True, [], {}])
def test_a_description_is_text(kind: str, value: Any) -> None:
    assert problems_of(kind, description=value) == ["description"]


@pytest.mark.parametrize("kind", SMALLEST)
@pytest.mark.parametrize("value", [5, "{}", [], [{"value": {}}]])
def test_a_schema_of_the_context_is_an_object_and_never_varies(kind: str, value: Any) -> None:
    assert problems_of(kind, requestContextSchema=value) == ["requestContextSchema"]


@pytest.mark.parametrize("content", ["", " ", "Hello", "{{ broken"])
def test_the_content_of_a_block_is_any_text(content: str) -> None:
    assert edited_block(content=content)["content"] == content


@pytest.mark.parametrize("content", [None, 5, ["a"], {}])
def test_the_content_of_a_block_is_nothing_but_text(content: Any) -> None:
    assert problems_of("block", content=content) == ["content"]


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("gpt", ["model"]),
        (5, ["model"]),
        ({}, ["model.name", "model.provider"]),
        ({"provider": "echo"}, ["model.name"]),
        ({"name": "echo"}, ["model.provider"]),
        ({"provider": "", "name": " "}, ["model.name", "model.provider"]),
        ({"provider": None, "name": 5}, ["model.name", "model.provider"]),
        ([{"value": {"provider": "echo"}}], ["model.0.value.name"]),
        ([{"value": ECHO}, {"value": {**ECHO, "name": "http://[::1]/v1"}}], ["model.1.value.name"]),
        ([{"value": [{"provider": "echo", "name": "echo"}]}], ["model.0.value"]),
    ],
)
def test_a_model_has_a_provider_and_a_name(model: Any, fields: list[str]) -> None:
    assert problems_of("agent", model=model) == fields


@pytest.mark.parametrize(
    "name",
    ["http://10.0.0.1/v1", "HTTPS://example.com", "a://b", " m", "a b", "a\n", "a\x1f", "a\x9f", "a\u2028b"],
)
def test_the_name_of_a_model_is_a_name_and_no_address(name: str) -> None:
    assert problems_of("agent", model={"provider": "huggingface", "name": name}) == ["model.name"]


@pytest.mark.parametrize(
    "name",
    [
        "anthropic.claude-v2:1",
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude:0",
        "openai/gpt-4o:free",
        "@cf/meta/llama-3",
        "projects/p/locations/l/endpoints/1",
        "hf.co/org/Model-GGUF:Q4_K_M",
    ],
)
def test_the_name_of_a_model_may_hold_what_providers_put_into_names(name: str) -> None:
    assert edited_agent(model={**ECHO, "name": name})["model"]["name"] == name


def test_a_model_that_was_saved_before_there_was_a_rule_keeps_nothing_else_from_being_edited() -> None:
    before = {**SMALLEST_AGENT, "model": {"provider": "huggingface", "name": "http://10.0.0.1/v1"}}
    assert AGENT.schema.edited(before, {"name": "Another"}) == {**before, "name": "Another"}


@pytest.mark.parametrize("field", USAGE_FIELDS)
@pytest.mark.parametrize(
    ("usages", "suffixes"),
    [
        ("search", [""]),
        ({"search": None}, [".search"]),
        ({"search": True}, [".search"]),
        ({"search": {"description": 5}}, [".search.description"]),
        ({"search": {"bogus": 1}}, [".search.bogus"]),
        ({"search": {"rules": []}}, [".search.rules"]),
        ({"search": {"rules": {"conditions": []}}}, [".search.rules.operator"]),
        ({"a": {"bogus": 1}, "b": {"description": 1}}, [".a.bogus", ".b.description"]),
        ([{"value": {"search": {"bogus": 1}}}], [".0.value.search.bogus"]),
    ],
)
def test_a_problem_of_a_usage_is_named_where_it_is(field: str, usages: Any, suffixes: list[str]) -> None:
    assert problems_of("agent", **{field: usages}) == [field + suffix for suffix in suffixes]


@pytest.mark.parametrize("field", USAGE_FIELDS)
def test_a_usage_may_say_nothing_or_null(field: str) -> None:
    value = {"search": {}, "clock": {"description": None, "rules": None}}
    assert edited_agent(**{field: value})[field] == value


def test_only_a_scorer_has_sampling() -> None:
    sampled = {"tone": {"sampling": {"type": "ratio", "rate": 0.5}}}
    assert edited_agent(scorers=sampled)["scorers"] == sampled
    assert problems_of("agent", tools=sampled) == ["tools.tone.sampling"]
    assert problems_of("agent", scorers={"tone": {"sampling": "all"}}) == ["scorers.tone.sampling"]


@pytest.mark.parametrize("agent_id", [" x", "a//b", "..", "versions"])
def test_the_key_of_a_sub_agent_is_an_id(agent_id: str) -> None:
    assert problems_of("agent", agents={agent_id: {}}) == [f"agents.{agent_id}"]
    assert problems_of("agent", agents=[{"value": {agent_id: {}}}]) == [f"agents.0.value.{agent_id}"]


@pytest.mark.parametrize("field", OPAQUE_FIELDS)
@pytest.mark.parametrize("value", [5, "x", True, 0.5])
def test_a_field_that_is_kept_as_given_is_an_object(field: str, value: Any) -> None:
    assert problems_of("agent", **{field: value}) == [field]
    assert problems_of("agent", **{field: [{"value": value}]}) == [f"{field}.0.value"]


@pytest.mark.parametrize("field", OPAQUE_FIELDS)
def test_a_variant_of_a_field_that_is_kept_as_given_may_be_a_list(field: str) -> None:
    variants = [{"value": [1, {"a": None}]}, {"value": {"a": 1}, "rules": FOR_GOLD}]
    assert edited_agent(**{field: variants})[field] == variants


@pytest.mark.parametrize("field", CONDITIONAL_FIELDS)
@pytest.mark.parametrize("more", [{}, {"rules": None}, {"rules": ALWAYS}, {"rules": FOR_GOLD}], ids=str)
def test_a_field_may_be_a_list_of_variants(field: str, more: dict[str, Any]) -> None:
    variants = [{"value": some_value(field), **more}, {"value": some_value(field)}]
    assert edited_agent(**{field: variants})[field] == variants


@pytest.mark.parametrize("field", CONDITIONAL_FIELDS)
@pytest.mark.parametrize(
    ("variant", "suffix"),
    [
        (5, ""),
        (None, ""),
        ([], ""),
        ({}, ".value"),
        ({"rules": ALWAYS}, ".value"),
        ({"value": None}, ".value"),
        ({"value": "x"}, ".value"),
    ],
)
def test_a_problem_of_a_variant_is_named_where_it_is(field: str, variant: Any, suffix: str) -> None:
    variants = [{"value": some_value(field)}, variant]
    assert problems_of("agent", **{field: variants}) == [f"{field}.1{suffix}"]


@pytest.mark.parametrize("member", ["bogus", "operator", "text", "prompt_block", "prompt_block_ref"])
def test_an_unknown_member_of_a_variant_is_named(member: str) -> None:
    assert problems_of("agent", memory=[{"value": {}, member: 1}]) == [f"memory.0.{member}"]


@pytest.mark.parametrize("field", CONDITIONAL_FIELDS)
def test_the_rules_of_a_variant_are_checked(field: str) -> None:
    variant = {"value": some_value(field), "rules": {"operator": "OR", "conditions": [{"field": "tier"}]}}
    assert problems_of("agent", **{field: [variant]}) == [f"{field}.0.rules.conditions.0.operator"]


@pytest.mark.parametrize("key", ["[key]", "<value>", "<text>", "text", "0", "a.b", "value"])
def test_a_problem_below_a_key_keeps_that_key_whatever_it_is(key: str) -> None:
    assert problems_of("agent", tools={key: {"bogus": 1}}) == [f"tools.{key}.bogus"]
