"""What is data in a JSON Schema is no schema, whatever its members are called."""

from __future__ import annotations

from typing import Any

import pytest

from versioning.domain.closed_paths import closed_paths
from versioning.domain.context_schema import refusals, schema_problem, subschemas

DATA: list[dict[str, Any]] = [
    {"properties": {"a": {"type": "object", "default": {"pattern": "*.py"}}}},
    {"properties": {"a": {"const": {"$ref": "https://example.org/x"}}}},
    {"enum": [{"$ref": "#/nowhere"}, {}]},
    {"examples": [{"$schema": "https://json-schema.org/draft/2020-12/schema"}]},
    {"properties": {"unevaluatedProperties": {"type": "boolean"}, "patternProperties": {"type": "object"}}},
    {"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}, "$schema": {}}},
    {"$defs": {"$ref": {"type": "string"}}, "required": ["$ref"]},
    {"x-own": {"pattern": "(a+)+$(", "$ref": "#/nowhere"}},
    {"dependentRequired": {"pattern": ["$ref"]}},
]
SCHEMAS: list[dict[str, Any]] = [
    {"not": {"$ref": "https://example.org/x"}},
    {"items": {"pattern": "("}},
    {"prefixItems": [{}, {"pattern": "("}]},
    {"allOf": [{"if": {"propertyNames": {"pattern": "("}}}]},
    {"dependentSchemas": {"a": {"contains": {"$ref": "#/nowhere"}}}},
    {"properties": {"default": {"pattern": "("}}},
    # What a reference leads to is a schema, even where data stands.
    {"properties": {"a": {"$ref": "#/x-own"}}, "x-own": {"pattern": "("}},
    {"$ref": "#/default", "default": {"items": {"$ref": "https://example.org/x"}}},
    {"x-own": {"a": {"unevaluatedProperties": False}}, "$ref": "#/x-own/a", "patternProperties": {"a": {}}},
]


@pytest.mark.parametrize("schema", DATA)
def test_data_is_not_taken_for_keywords(schema: dict[str, Any]) -> None:
    assert schema_problem(schema) is None
    assert isinstance(refusals(schema, {}), list)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_are_checked_wherever_they_are(schema: dict[str, Any]) -> None:
    assert schema_problem(schema) is not None


def test_a_reference_to_itself_ends() -> None:
    assert schema_problem({"properties": {"a": {"$ref": "#"}}}) is None
    assert schema_problem({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}) is None


def test_places_of_subschemas() -> None:
    schema = {
        "properties": {"a": {}, "b": True},
        "items": [{}],
        "anyOf": [{}, False],
        "dependencies": {"c": ["d"]},
    }
    assert [place for place, _schema in subschemas(schema)] == ["properties.a", "items.0", "anyOf.0"]


def test_an_id_in_data_does_not_open_a_path() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "additionalProperties": False,
        "default": {"$id": "https://example.org/x", "id": "x"},
        "$defs": {"a": {"properties": {"b": {}}, "additionalProperties": False}},
    }
    assert list(closed_paths(schema, ["a.b", "a.c"])) == ["a.c"]
