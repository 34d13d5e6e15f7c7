"""The schemas within a JSON Schema. Pure.

A schema holds schemas only at certain keywords. Elsewhere it holds data, such as in `const`, `enum`,
`default` and `examples`, which may have members with the names of keywords; so may `properties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_ONE: Final = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LISTED: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED: Final = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
"""`dependencies` also holds lists of names, which are no schemas."""


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects that are schemas directly within a schema, each with its place: `properties.a`."""
    for keyword, value in schema.items():
        if keyword in _ONE and isinstance(value, Mapping):
            yield keyword, value
        elif keyword in _LISTED and isinstance(value, list):
            found = ((f"{keyword}.{index}", part) for index, part in enumerate(value))
            yield from ((place, part) for place, part in found if isinstance(part, Mapping))
        elif keyword in _NAMED and isinstance(value, Mapping):
            named = ((f"{keyword}.{name}", part) for name, part in value.items())
            yield from ((place, part) for place, part in named if isinstance(part, Mapping))
