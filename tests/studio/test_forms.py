"""A configuration shown in a form and read back is the same configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given

from studio.forms.fields import changes, rebase_form, show_config
from studio.forms.inputs import Input, Reading
from tests.support.configurations import (
    FOR_GOLD,
    FULL_AGENT,
    FULL_BLOCK,
    agent_configs,
    block_configs,
    fewer,
)
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import Issue

VARIANTS = [{"value": {"search": {}}, "rules": FOR_GOLD}, {"value": {"clock": {}}}]
NESTED = {
    "operator": "OR",
    "conditions": [
        {"field": "tier", "operator": "in", "value": ["gold", "silver"]},
        {
            "operator": "AND",
            "conditions": [
                {"field": "user.age", "operator": "greater_than", "value": 17.5},
                {"operator": "OR", "conditions": [{"field": "beta", "operator": "equals", "value": True}]},
                {"field": "name", "operator": "exists"},
                {"field": "odd", "operator": "equals", "value": {"a": None}},
            ],
        },
    ],
}


def posted(form: Input) -> Iterator[tuple[str, str]]:
    """Yield the values that a browser posts for the form, with the line ends of a browser."""
    for part in form.rows:
        yield from posted(part)
    if not form.children:
        multiline = form.path.rpartition(".")[2] in {"content", "text", "json", "description"}
        yield form.path, form.as_text.replace("\n", "\r\n") if multiline else form.as_line


def edited(
    config: dict[str, Any], schema: Any = AGENT.schema, **typed: str
) -> tuple[dict[str, Any], Reading]:
    """Show a configuration, type into controls (`instructions__text`), and return the changes."""
    controls = dict(posted(show_config(config, schema.names)))
    controls |= {name.replace("__", "."): text for name, text in typed.items()}
    reading = Reading()
    return changes(config, schema.names, Input.of(controls.items()), reading), reading


def test_a_form_sent_back_untouched_changes_nothing() -> None:
    for schema, config in [(AGENT.schema, FULL_AGENT), (PROMPT_BLOCK.schema, FULL_BLOCK)]:
        changed, reading = edited(config, schema)
        assert changed == {} and reading.issues == []


@fewer
@given(agent_configs)
def test_showing_an_agent_in_a_form_changes_nothing(config: dict[str, Any]) -> None:
    assert edited(config)[0] == {}


@given(block_configs)
def test_showing_a_block_in_a_form_changes_nothing(config: dict[str, Any]) -> None:
    assert edited(config, PROMPT_BLOCK.schema)[0] == {}


@fewer
@given(agent_configs)
def test_an_edit_of_a_part_of_a_field_leaves_the_rest_unchanged(config: dict[str, Any]) -> None:
    """Even if read as if every field had been touched, a form gives the shown values."""
    controls = Input.of(posted(show_config(config, AGENT.schema.names)))
    everything = changes({}, AGENT.schema.names, controls, Reading())
    again = Input.of(posted(show_config(everything, AGENT.schema.names)))
    assert changes(config, AGENT.schema.names, again, Reading()) == {}


def test_rows_count_in_the_order_of_the_page() -> None:
    config = {"name": "Writer", "instructions": [{"type": "text", "content": "b"}]}
    rows = {
        "instructions.as": "blocks",
        "instructions.blocks.n7.type": "text",
        "instructions.blocks.n7.content": "a",
    }
    controls = Input.of([*rows.items(), *posted(show_config(config, AGENT.schema.names))])
    changed = changes(config, AGENT.schema.names, controls, Reading())
    assert [block["content"] for block in changed["instructions"]] == ["a", "b"]


def test_each_variant_has_controls_and_an_edit_leaves_the_others() -> None:
    config = {"name": "Writer", "instructions": "Write.", "tools": VARIANTS}
    assert show_config(config, AGENT.schema.names)["tools"]["as"].typed == "variants"
    changed, _ = edited(config, tools__variants__1__value__offered__0__description="Tells the time")
    assert changed == {"tools": [VARIANTS[0], {"value": {"clock": {"description": "Tells the time"}}}]}


def test_a_cleared_field_is_null() -> None:
    changed, _ = edited(
        FULL_AGENT, description="", memory="", model__provider="", model__name="", model__more=""
    )
    assert changed == {"description": None, "memory": None, "model": None}


def test_a_condition_compares_with_a_value_of_the_chosen_sort() -> None:
    for operator, sort, typed, value in [
        ("equals", "text", "gold", "gold"),
        ("equals", "text", "5", "5"),
        ("greater_than", "number", "5", 5),
        ("less_than", "number", " 1.5 ", 1.5),
        ("equals", "boolean", "True", True),
        ("in", "list", "gold, silver,", ["gold", "silver"]),
        ("equals", "json", '{"a": [null]}', {"a": [None]}),
        ("equals", "json", "null", None),
    ]:
        condition = "rules__conditions__0__"
        parts = {"field": "plan", "operator": operator, "type": sort, "value": typed}
        config = {**FULL_BLOCK, "rules": NESTED}
        typed_parts = {condition + part: text for part, text in parts.items()}
        changed, reading = edited(config, PROMPT_BLOCK.schema, **typed_parts)
        assert reading.issues == []
        assert changed["rules"]["conditions"][0] == {"field": "plan", "operator": operator, "value": value}


def test_a_value_of_another_sort_is_an_error_of_the_condition() -> None:
    for sort, typed in [
        ("number", "five"),
        ("number", "true"),
        ("boolean", "yes"),
        ("number", ""),
        ("json", "{"),
        ("json", ""),
    ]:
        _, reading = edited(
            FULL_BLOCK,
            PROMPT_BLOCK.schema,
            rules__conditions__0__type=sort,
            rules__conditions__0__value=typed,
        )
        assert [issue.field for issue in reading.issues] == ["rules.conditions.0.value"]


def test_two_tools_of_the_same_name_are_an_error() -> None:
    _, reading = edited(FULL_AGENT, tools__offered__1__key="clock", tools__offered__0__key="clock")
    assert [(issue.field, issue.message) for issue in reading.issues] == [("tools", "is listed twice")]


def test_a_tool_needs_a_name_and_an_empty_row_is_ignored() -> None:
    _, nameless = edited(FULL_AGENT, tools__offered__9__description="Searches")
    assert [issue.message for issue in nameless.issues] == ["needs a name"]
    changed, empty = edited(FULL_AGENT, tools__offered__9__key="")
    assert changed == {} and empty.issues == []


def test_errors_are_attached_to_the_nearest_control() -> None:
    config = {"name": "Writer", "instructions": [{"type": "prompt_block", "content": "x", "rules": FOR_GOLD}]}
    controls = Input.of(posted(show_config(config, AGENT.schema.names)))
    reading = Reading()
    changes(config, AGENT.schema.names, controls, reading)
    homeless = reading.attach(
        [
            Issue("instructions.0.rules.conditions.0.operator", "is unknown"),
            Issue("instructions.0.rules.conditions.0.value.deep", "is odd"),
            Issue("name", "must not be blank"),
            Issue("body", "is odd"),
        ]
    )
    condition = controls["instructions"]["blocks"]["0"]["rules"]["conditions"]["0"]
    assert condition["operator"].errors == ["is unknown"]
    assert condition["value"].errors == ["is odd (deep)"]
    assert controls["name"].errors == ["must not be blank"]
    assert [issue.field for issue in homeless] == ["body"]


def test_groups_deeper_than_three_are_an_error_and_not_a_crash() -> None:
    group = "rules"
    typed = {"rules.operator": "AND"}
    for _ in range(9):
        group += ".conditions.0"
        typed |= {f"{group}.kind": "group", f"{group}.operator": "AND"}
    reading = Reading()
    changes({}, ["rules"], Input.of(typed.items()), reading)
    assert [issue.field for issue in reading.issues] == ["rules.conditions.0.conditions.0.conditions.0"]


def test_after_a_conflict_only_touched_fields_keep_the_typed_values() -> None:
    old = {"name": "Writer", "instructions": "Write.", "description": "old"}
    theirs = {**old, "description": "theirs", "instructions": "Write well."}
    controls = dict(posted(show_config(old, AGENT.schema.names))) | {"instructions.text": "Write badly."}
    mine = Input.of(controls.items())
    touched = list(changes(old, AGENT.schema.names, mine, Reading()))
    form = rebase_form(theirs, AGENT.schema.names, mine, touched)
    assert touched == ["instructions"]
    assert form["instructions"]["text"].typed == "Write badly."
    assert changes(theirs, AGENT.schema.names, form, Reading()) == {"instructions": "Write badly."}
