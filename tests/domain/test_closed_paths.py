"""Which placeholders a context schema makes impossible, and which only look so."""

from __future__ import annotations

from typing import Any

import pytest

from versioning.domain.closed_paths import closed_paths
from versioning.domain.context_schema import refusals, schema_problem

ONLY_A: dict[str, Any] = {"properties": {"a": {}}, "additionalProperties": False}
CLOSED: list[tuple[dict[str, Any] | bool, str]] = [
    (ONLY_A, "b"),
    (ONLY_A, "b.c"),
    ({"properties": {"a": ONLY_A}}, "a.b"),
    ({"properties": {"a": {"type": "string"}}}, "a.b"),
    ({"properties": {"a": False}}, "a"),
    ({"properties": {"a": {"enum": ["x", {"c": 1}]}}}, "a.b"),
    ({"properties": {"a": {"const": {"c": 1}}}}, "a.b"),
    ({"patternProperties": {"^x": {}}, "additionalProperties": False}, "y"),
    ({"patternProperties": {"^x": ONLY_A}}, "xy.b"),
    ({"additionalProperties": {"type": "string"}}, "a.b"),
    ({"allOf": [{}, ONLY_A]}, "b"),
    ({"anyOf": [ONLY_A, {"additionalProperties": False}]}, "b"),
    ({"oneOf": [ONLY_A, False]}, "b"),
    ({"$ref": "#/$defs/x", "$defs": {"x": ONLY_A}}, "b"),
    ({"properties": {"a": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": ONLY_A}}, "a.b"),
    ({"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}, "a.a.b"),
    ({"properties": {"a": {}}, "unevaluatedProperties": False}, "b"),
    ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, "b"),
    ({"properties": {"versions": ONLY_A}}, "versions.b"),
]
OPEN: list[tuple[dict[str, Any], str]] = [
    ({}, "a.b.c"),
    (ONLY_A, "a"),
    (ONLY_A, "a.b"),
    (ONLY_A, "versions.self"),  # selectors, which no schema need declare
    ({"properties": {"a": {"type": ["object", "null"]}}}, "a.b"),
    ({"properties": {"a": {"enum": [{"b": 1}]}}}, "a.b"),
    ({"patternProperties": {"^x": {}}, "additionalProperties": False}, "x1"),
    ({"anyOf": [ONLY_A, {}]}, "b"),
    ({"if": {"required": ["a"]}, "then": ONLY_A}, "b"),
    *(({"$ref": f"#/allOf/{one}", "allOf": [{}]}, "b") for one in ("²", "\u0660", "9" * 5_000)),
    ({"not": ONLY_A}, "b"),
    ({"properties": {"a": {"$ref": "#/properties/a"}}}, "a.b"),
    ({"allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": False}, "b"),
    ({"anyOf": [{"additionalProperties": True}], "unevaluatedProperties": False}, "b"),
    (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"$ref": "#/definitions/x", "additionalProperties": False}},
            "definitions": {"x": {}},
        },
        "a.b",
    ),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "unevaluatedProperties": False}, "b"),
    (
        {
            "properties": {"a": {"$id": "urn:x", "$ref": "#/$defs/x", "$defs": {"x": {}}}},
            "$defs": {"x": ONLY_A},
        },
        "a.b",
    ),
]


@pytest.mark.parametrize(("schema", "path"), CLOSED)
def test_a_path_that_no_context_can_have_is_closed(schema: dict[str, Any], path: str) -> None:
    assert list(closed_paths(schema, [path])) == [path]
    assert schema_problem(schema) is None and refusals(schema, holding(path))


@pytest.mark.parametrize(("schema", "path"), OPEN)
def test_a_path_that_some_context_may_have_is_not(schema: dict[str, Any], path: str) -> None:
    assert list(closed_paths(schema, [path])) == []


def test_a_schema_and_paths_that_multiply_are_left_before_they_take_long() -> None:
    branches = [{"properties": {f"a{number}": {}}, "additionalProperties": False} for number in range(2_000)]
    paths = [f"b{number}" for number in range(2_000)]
    assert len(list(closed_paths({"anyOf": branches}, paths))) < len(paths)


def test_patterns_that_take_long_close_nothing() -> None:
    patterns = {f"^(?=(a|aa){{{number},}}$)": {} for number in range(1, 50)}
    schema = {"patternProperties": patterns, "additionalProperties": False}
    assert list(closed_paths(schema, ["b", "a" * 60 + "b", "c"])) == ["b"]


def holding(path: str) -> Any:
    """Return a context that has a value at the path."""
    value: Any = "x"
    for name in reversed(path.split(".")):
        value = {name: value}
    return value
