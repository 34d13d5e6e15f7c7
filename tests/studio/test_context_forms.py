"""The form of a context, made from names and schemas; and words for everything on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from editor_client.shared import canonical, conditions
from hypothesis import given

from studio.field_words import OPERATORS, REASONS, words_of
from studio.forms.context import MAX_CONTROLS, ContextControl, context_controls, read_context, shown_context
from studio.forms.inputs import Input, Reading
from tests.support.configurations import json_objects, json_values
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import Invalid


def one(field: str, operator: str, *value: Any) -> dict[str, Any]:
    """Return a group of one condition."""
    rule = {"field": field, "operator": operator, **({"value": value[0]} if value else {})}
    return {"operator": "AND", "conditions": [rule]}


DAY: dict[str, Any] = {"properties": {"day": {"type": "string", "format": "date"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tier": {"type": "string", "enum": ["gold", "silver"], "title": "Tier"},
        "path": {
            "type": "object",
            "properties": {"typed": {"type": "string"}, "children": {"type": "number"}},
        },
        "beta": {"type": "boolean"},
        "with.dot": {"type": "string"},
        "list": {"type": "array"},
    },
}


def read(schema: Any = SCHEMA, **typed: str) -> dict[str, Any]:
    """Fill in the form (`given__path__typed`) and return the context."""
    controls = Input.of((name.replace("__", "."), text) for name, text in typed.items())
    return read_context(controls, controls_of_schema(schema), Reading())


def controls_of_schema(schema: Any) -> list[ContextControl]:
    return context_controls({"name": "Writer", "requestContextSchema": schema})


def test_every_plain_value_of_a_schema_has_a_control() -> None:
    found = {
        control.path: (control.type, control.group, control.label) for control in controls_of_schema(SCHEMA)
    }
    assert found == {
        "tier": ("string", "", "Tier"),
        "path.typed": ("string", "path", "typed"),
        "path.children": ("number", "path", "children"),
        "beta": ("boolean", "", "beta"),
    }


def test_filled_in_fields_override_the_json() -> None:
    context = '{"path": {"typed": "json", "kept": 1}, "more": [1]}'
    assert read(context=context, given__path__typed="form") == {
        "path": {"typed": "form", "kept": 1},
        "more": [1],
    }
    assert read(context='{"path": 5}', given__path__typed="form") == {"path": {"typed": "form"}}


def test_unreadable_values_are_refused_by_name() -> None:
    for typed in [
        {"context": "[]"},
        {"context": "{"},
        {"given__path__children": "many"},
        {"given__path__children": "true"},
    ]:
        with pytest.raises(Invalid) as refusal:
            read(**typed)
        assert [issue.field for issue in refusal.value.issues] == [next(iter(typed)).replace("__", ".")]


@given(json_values)
def test_any_context_schema_gives_a_form(schema: Any) -> None:
    assert read({"properties": {"a": schema, "b": {"properties": schema}}, "type": schema}) == {}


FOR_ADULTS = {"field": "customer.age", "operator": "greater_than", "value": 17}
ASKING: dict[str, Any] = {
    "name": "Writer",
    "instructions": [
        {"type": "text", "content": "{{ customer.name }} {{ tier || 'none' }} {{ customer.name }} {{ a }}"},
        {
            "type": "prompt_block",
            "content": "{{ a.b }}",
            "rules": {
                "operator": "AND",
                "conditions": [
                    {"field": "tier", "operator": "in", "value": ["gold", "tin"]},
                    {"operator": "OR", "conditions": [FOR_ADULTS]},
                ],
            },
        },
    ],
    "tools": [
        {"value": {"search": {"rules": one("beta", "in", [True])}}, "rules": one("mixed", "in", [1, "one"])}
    ],
    "model": [{"value": {"provider": "echo", "name": "echo"}, "rules": one("region", "exists")}],
    "memory": {"rules": one("not.a.rule", "exists")},
}


def test_every_name_in_placeholders_and_conditions_has_a_control_of_its_type() -> None:
    found = {control.path: (control.type, control.suggestions) for control in context_controls(ASKING)}
    assert found == {
        "customer.name": ("string", []),
        "tier": ("string", ["gold", "tin"]),
        "a.b": ("string", []),  # and `a`, which holds it, is an object
        "customer.age": ("number", ["17"]),
        "region": ("string", []),
        "beta": ("boolean", []),
    }


def test_names_of_prompt_blocks_are_included_and_a_schema_decides_the_types() -> None:
    block = {"name": "Tone", "content": "{{ tier }} {{ day }}", "requestContextSchema": DAY}
    found = context_controls({"instructions": [], "requestContextSchema": SCHEMA}, block)
    by_path = {control.path: control for control in found}
    assert by_path["tier"].options and by_path["day"].format == "date"


@given(json_objects)
def test_any_context_is_shown_in_fields_and_json_and_read_back_the_same(context: dict[str, Any]) -> None:
    names = [f"{{{{ {path} }}}}" for path in _paths(context)]
    controls = context_controls({"content": " ".join(names), "requestContextSchema": SCHEMA})
    shown = shown_context(context, controls)
    assert canonical.same(read_context(shown, controls, Reading()), context)


def test_values_that_a_control_cannot_hold_stay_json() -> None:
    controls = controls_of_schema({"properties": {**SCHEMA["properties"], **DAY["properties"]}})
    context = {
        "tier": "tin",
        "beta": "yes",
        "day": "1.5.2026",
        "path": {"typed": "two\nlines", "children": 5},
    }
    shown = shown_context(context, controls)
    assert shown.at("given.path.children").typed == "5"
    assert json.loads(shown["context"].typed) == context | {"path": {"typed": "two\nlines"}}


def _paths(context: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in context.items():
        if name.isascii() and name.isidentifier():
            yield f"{prefix}{name}"
            if isinstance(value, dict):
                yield from _paths(value, f"{prefix}{name}.")


def test_the_number_and_depth_of_controls_from_a_schema_is_limited() -> None:
    wide = {"properties": {f"p{number}": {"type": "string"} for number in range(MAX_CONTROLS + 1)}}
    assert len(controls_of_schema(wide)) == MAX_CONTROLS
    deep: dict[str, Any] = {"properties": {"end": {"type": "string"}}}
    for _ in range(60):
        deep = {"properties": {"a": deep}}
    assert controls_of_schema(deep) == []


def test_the_page_has_words_for_everything() -> None:
    assert set(OPERATORS) == set(conditions.OPERATORS)
    assert all(words_of(name).title for name in {*AGENT.schema.names, *PROMPT_BLOCK.schema.names})
    assert set(REASONS) == {"rules", "blank", "missing", "unpublished"}
