"""The shapes of instructions and of rules: what they accept and refuse, and how a problem is named."""

from __future__ import annotations

from typing import Any

from tests.support.configurations import (
    ALWAYS,
    BLANKS,
    FOR_GOLD,
    SMALLEST_AGENT,
    SMALLEST_BLOCK,
    problems_of,
)
from versioning.domain.agents import AGENT, PROMPT_BLOCK

A_REFERENCE = {"type": "prompt_block_ref", "id": "tone"}
OPERATORS = [
    *("equals", "not_equals", "contains", "not_contains"),
    *("greater_than", "less_than", "greater_than_or_equal", "less_than_or_equal"),
    *("in", "not_in", "exists", "not_exists"),
]


def edited_agent(**changes: Any) -> dict[str, Any]:
    return AGENT.schema.edit_config(SMALLEST_AGENT, changes)


def edited_block(**changes: Any) -> dict[str, Any]:
    return PROMPT_BLOCK.schema.edit_config(SMALLEST_BLOCK, changes)


def group(*conditions: Any, operator: str = "AND") -> dict[str, Any]:
    return {"operator": operator, "conditions": list(conditions)}


def rule(**changes: Any) -> dict[str, Any]:
    return {"field": "tier", "operator": "exists", **changes}


def nested_groups(levels: int) -> dict[str, Any]:
    innermost = group(rule())
    for _ in range(levels - 1):
        innermost = group(innermost)
    return innermost


def test_blank_instructions_are_refused_in_every_form() -> None:
    for instructions in (
        *BLANKS,
        [],
        [{"type": "text", "content": ""}],
        [{"type": "prompt_block", "content": " \n "}],
        [{"type": "text", "content": " "}, {"type": "prompt_block", "content": "", "rules": FOR_GOLD}],
    ):
        assert problems_of("agent", instructions=instructions) == ["instructions"]


def test_instructions_are_text_or_blocks() -> None:
    for instructions in (
        "Write.",
        [{"type": "text", "content": "Write."}],
        [{"type": "prompt_block", "content": "Write."}],
        [{"type": "prompt_block", "content": "Write.", "rules": None}],
        [{"type": "prompt_block", "content": "Write.", "rules": ALWAYS}],
        [A_REFERENCE],
        [{"type": "text", "content": " "}, A_REFERENCE, A_REFERENCE],
    ):
        assert edited_agent(instructions=instructions)["instructions"] == instructions


def test_a_problem_of_the_instructions_is_named_by_its_path() -> None:
    for instructions, fields in (
        (None, ["instructions"]),
        ({"type": "text", "content": "a"}, ["instructions"]),
        (["Write."], ["instructions.0"]),
        ([{}], ["instructions.0.type"]),
        ([{"type": "image", "content": "a"}], ["instructions.0.type"]),
        ([{"type": "text"}], ["instructions.0.content"]),
        ([{"type": "text", "content": ["a"]}], ["instructions.0.content"]),
        ([{"type": "text", "content": "a", "rules": ALWAYS}], ["instructions.0.rules"]),
        ([{"type": "text", "content": "a", "text": "b"}], ["instructions.0.text"]),
        ([{"type": "prompt_block", "content": "a", "id": "tone"}], ["instructions.0.id"]),
        ([{"type": "prompt_block_ref"}], ["instructions.0.id"]),
        ([{"type": "prompt_block_ref", "id": "a/../b"}], ["instructions.0.id"]),
        ([{**A_REFERENCE, "rules": ALWAYS}], ["instructions.0.rules"]),
        ([{**A_REFERENCE, "content": "a"}], ["instructions.0.content"]),
        ([{"type": "prompt_block", "content": "a", "rules": 1}], ["instructions.0.rules"]),
        (
            [A_REFERENCE, {"type": "text"}, {"type": "nothing"}],
            ["instructions.1.content", "instructions.2.type"],
        ),
    ):
        assert problems_of("agent", instructions=instructions) == fields


def test_a_rule_accepts_every_operator() -> None:
    for operator in OPERATORS:
        rules = group(rule(operator=operator, value=[1, "a", None, {"b": True}]), operator="OR")
        assert edited_block(rules=rules)["rules"] == rules


def test_three_levels_of_rules_are_accepted_and_a_fourth_is_refused_by_its_path() -> None:
    where = "rules.conditions.0.conditions.0.conditions.0"
    for levels in (1, 2, 3, 4, 30):
        rules = nested_groups(levels)
        blocks = [{"type": "prompt_block", "content": "Hi.", "rules": rules}]
        if levels <= 3:
            assert edited_block(rules=rules)["rules"] == rules
            assert edited_agent(instructions=blocks)["instructions"] == blocks
            continue
        refused = {
            "": problems_of("block", rules=rules),
            "instructions.0.": problems_of("agent", instructions=blocks),
            "tools.search.": problems_of("agent", tools={"search": {"rules": rules}}),
            "memory.0.": problems_of("agent", memory=[{"value": {}, "rules": rules}]),
        }
        for prefix, fields in refused.items():
            assert fields and all(field.startswith(f"{prefix}{where}") for field in fields)


def test_a_problem_of_rules_is_named_by_its_path() -> None:
    for rules, fields in (
        (5, ["rules"]),
        ({}, ["rules.conditions", "rules.operator"]),
        (rule(), ["rules.conditions", "rules.field", "rules.operator"]),
        (group(operator="and"), ["rules.operator"]),
        ({"operator": "AND", "conditions": {}}, ["rules.conditions"]),
        ({**group(), "bogus": 1}, ["rules.bogus"]),
        (group(5), ["rules.conditions.0"]),
        (group({}), ["rules.conditions.0.field", "rules.conditions.0.operator"]),
        (group(rule(operator="like")), ["rules.conditions.0.operator"]),
        (group(rule(field="")), ["rules.conditions.0.field"]),
        (group(rule(bogus=1)), ["rules.conditions.0.bogus"]),
        (group(rule(text=1)), ["rules.conditions.0.text"]),
        (group(rule(), group(rule(bogus=1))), ["rules.conditions.1.conditions.0.bogus"]),
        (group(group(group(rule(text=1)))), ["rules.conditions.0.conditions.0.conditions.0.text"]),
        (group(group(group(5))), ["rules.conditions.0.conditions.0.conditions.0"]),
    ):
        assert problems_of("block", rules=rules) == fields
