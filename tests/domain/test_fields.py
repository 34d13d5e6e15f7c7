"""The shapes of the snapshot fields: what each accepts and refuses, and how a problem is named."""

from __future__ import annotations

from typing import Any

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
from versioning.domain.agents import AGENT, PROMPT_BLOCK

ECHO = {"provider": "echo", "name": "echo"}


def edited_agent(**changes: Any) -> dict[str, Any]:
    return AGENT.schema.edit_config(SMALLEST_AGENT, changes)


def edited_block(**changes: Any) -> dict[str, Any]:
    return PROMPT_BLOCK.schema.edit_config(SMALLEST_BLOCK, changes)


def some_value(field: str) -> dict[str, Any]:
    """Return a value that is neither a list nor a variant."""
    return dict(FULL_AGENT[field])


def test_every_field_is_stored_as_given() -> None:
    assert set(AGENT.schema.names) == set(FULL_AGENT)
    assert set(PROMPT_BLOCK.schema.names) == set(FULL_BLOCK)
    for field, value in FULL_AGENT.items():
        assert edited_agent(**{field: value}) == {**SMALLEST_AGENT, field: value}
    for field, value in FULL_BLOCK.items():
        assert edited_block(**{field: value}) == {**SMALLEST_BLOCK, field: value}
    for content in ("", " ", "{{ broken"):
        assert edited_block(content=content)["content"] == content


def test_a_field_that_a_kind_lacks_is_refused_by_name() -> None:
    for kind in SMALLEST:
        for field in ("id", "status", "authorId", "Name", "request_context_schema"):
            assert problems_of(kind, **{field: "x"}) == problems_of(kind, **{field: None}) == [field]
    for field in ("content", "rules"):
        assert problems_of("agent", **{field: FULL_BLOCK[field]}) == [field]
    for field in ("instructions", *CONDITIONAL_FIELDS):
        assert problems_of("block", **{field: FULL_AGENT[field]}) == [field]


def test_plain_fields_have_their_types() -> None:
    wrong: dict[str, list[Any]] = {
        "name": [*BLANKS, None, 5, True, ["Writer"], {}],
        "description": [5, True, [], {}],
        "requestContextSchema": [5, "{}", [], [{"value": {}}]],
    }
    for kind in SMALLEST:
        for field, values in wrong.items():
            for value in values:
                assert problems_of(kind, **{field: value}) == [field], value
    for content in (None, 5, ["a"], {}):
        assert problems_of("block", content=content) == ["content"]


def test_a_model_has_a_provider_and_a_name() -> None:
    for model, fields in (
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
    ):
        assert problems_of("agent", model=model) == fields


def test_the_name_of_a_model_is_not_a_url() -> None:
    for name in (
        "http://10.0.0.1/v1",
        "HTTPS://example.com",
        "a://b",
        " m",
        "a b",
        "a\n",
        "a\x9f",
        "a\u2028b",
    ):
        assert problems_of("agent", model={"provider": "huggingface", "name": name}) == ["model.name"]
    for name in (
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude:0",
        "openai/gpt-4o:free",
        "@cf/meta/llama-3",
        "hf.co/org/Model-GGUF:Q4_K_M",
    ):
        assert edited_agent(model={**ECHO, "name": name})["model"]["name"] == name


def test_a_model_saved_before_the_rule_does_not_prevent_edits_of_other_fields() -> None:
    before = {**SMALLEST_AGENT, "model": {"provider": "huggingface", "name": "http://10.0.0.1/v1"}}
    assert AGENT.schema.edit_config(before, {"name": "Another"}) == {**before, "name": "Another"}


def test_a_problem_of_a_usage_is_named_by_its_path() -> None:
    for field in USAGE_FIELDS:
        for usages, suffixes in (
            ("search", [""]),
            ({"search": None}, [".search"]),
            ({"search": True}, [".search"]),
            ({"search": {"description": 5}}, [".search.description"]),
            ({"search": {"bogus": 1}}, [".search.bogus"]),
            ({"search": {"rules": []}}, [".search.rules"]),
            ({"search": {"rules": {"conditions": []}}}, [".search.rules.operator"]),
            ({"a": {"bogus": 1}, "b": {"description": 1}}, [".a.bogus", ".b.description"]),
            ([{"value": {"search": {"bogus": 1}}}], [".0.value.search.bogus"]),
        ):
            assert problems_of("agent", **{field: usages}) == [field + suffix for suffix in suffixes]


def test_only_a_scorer_has_sampling() -> None:
    plain = {"search": {}, "clock": {"description": None, "rules": None}}
    for field in USAGE_FIELDS:
        assert edited_agent(**{field: plain})[field] == plain
    sampled = {"tone": {"sampling": {"type": "ratio", "rate": 0.5}}}
    assert edited_agent(scorers=sampled)["scorers"] == sampled
    assert problems_of("agent", tools=sampled) == ["tools.tone.sampling"]
    assert problems_of("agent", scorers={"tone": {"sampling": "all"}}) == ["scorers.tone.sampling"]


def test_the_key_of_a_sub_agent_is_an_id() -> None:
    for agent_id in (" x", "a//b", "..", "versions"):
        assert problems_of("agent", agents={agent_id: {}}) == [f"agents.{agent_id}"]
        assert problems_of("agent", agents=[{"value": {agent_id: {}}}]) == [f"agents.0.value.{agent_id}"]


def test_an_opaque_field_is_an_object() -> None:
    for field in OPAQUE_FIELDS:
        for value in (5, "x", True, 0.5):
            assert problems_of("agent", **{field: value}) == [field]
            assert problems_of("agent", **{field: [{"value": value}]}) == [f"{field}.0.value"]


def test_a_field_may_be_a_list_of_variants() -> None:
    for field in CONDITIONAL_FIELDS:
        for more in ({}, {"rules": None}, {"rules": ALWAYS}, {"rules": FOR_GOLD}):
            variants = [{"value": some_value(field), **more}, {"value": some_value(field)}]
            assert edited_agent(**{field: variants})[field] == variants


def test_a_problem_of_a_variant_is_named_by_its_path() -> None:
    for field in CONDITIONAL_FIELDS:
        for variant, suffix in (
            (5, ""),
            (None, ""),
            ([], ""),
            ({}, ".value"),
            ({"rules": ALWAYS}, ".value"),
            ({"value": None}, ".value"),
            ({"value": "x"}, ".value"),
        ):
            variants = [{"value": some_value(field)}, variant]
            assert problems_of("agent", **{field: variants}) == [f"{field}.1{suffix}"]


def test_the_rules_of_a_variant_are_checked() -> None:
    variants = [{"value": [1, {"a": None}]}, {"value": {"a": 1}, "rules": FOR_GOLD}]
    for field in OPAQUE_FIELDS:
        assert edited_agent(**{field: variants})[field] == variants
    for member in ("bogus", "operator", "text", "prompt_block_ref"):
        assert problems_of("agent", memory=[{"value": {}, member: 1}]) == [f"memory.0.{member}"]
    for field in CONDITIONAL_FIELDS:
        variant = {"value": some_value(field), "rules": {"operator": "OR", "conditions": [{"field": "tier"}]}}
        assert problems_of("agent", **{field: [variant]}) == [f"{field}.0.rules.conditions.0.operator"]


def test_a_problem_below_a_key_names_that_key() -> None:
    for key in ("[key]", "<value>", "<text>", "text", "0", "a.b", "value"):
        assert problems_of("agent", tools={key: {"bogus": 1}}) == [f"tools.{key}.bogus"]
