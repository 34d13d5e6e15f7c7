"""Check a request context against a `requestContextSchema` like the server, as far as possible.

The server has a library for all of JSON Schema, and the client only httpx2. So this module implements the
keywords of most schemas, with exactly the messages of the server; a test compares both. A schema with any
other keyword, such as `pattern`, can be checked only by the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from editor_client.errors import CannotEvaluate
from editor_client.shared import canonical
from editor_client.shared.clipping import brief, clip
from editor_client.shared.conditions import same_value
from editor_client.shared.errors import Issue

MAX_ISSUES: Final = 20
MAX_CHECKS: Final = 10_000
"""The maximum number of keywords checked here; the server has a time limit, which clients cannot predict."""
MAX_DEPTH: Final = 100
"""The maximum depth of references."""
MAX_SCHEMA: Final = 256 * 1024
_LONGEST_MESSAGE: Final = 300
_FIELD: Final = "requestContext"
# The dialects, with the keywords that have another meaning, or none, in older ones.
_DIALECTS: Final[Mapping[str, frozenset[str]]] = {
    "https://json-schema.org/draft/2020-12/schema": frozenset(),
    "http://json-schema.org/draft-07/schema": frozenset({"$ref", "$defs", "deprecated"}),
}
_DEFAULT_DIALECT: Final = next(iter(_DIALECTS))

Path = tuple[str | int, ...]
Problem = tuple[Path, str]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        (_is_number(value) and isinstance(value, int)) or (isinstance(value, float) and value.is_integer())
    ),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def refusals(schema: Mapping[str, Any], context: Mapping[str, Any]) -> list[Issue]:
    """Return why a schema refuses a context, in the server's words; empty if it does not.

    The member `versions` of a context holds selectors, which a schema need not declare. Raises
    `CannotEvaluate` for a schema, or a context, that only the server can check.
    """
    text = canonical.dump(schema)
    if len(text.encode()) > MAX_SCHEMA:
        raise CannotEvaluate("its requestContextSchema is too large")
    root = _usable(text)
    knows_versions = "versions" in root.get("properties", {})
    values = {name: value for name, value in context.items() if knows_versions or name != "versions"}
    problems = islice(_Check(root).problems(root, brief(values), ()), MAX_ISSUES)
    return [
        Issue(".".join([_FIELD, *map(str, path)]), clip(message, _LONGEST_MESSAGE))
        for path, message in problems
    ]


class _Check:
    """A check of a context."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self._remaining_checks = MAX_CHECKS
        self.depth = 0

    def problems(self, schema: Any, value: Any, path: Path) -> Iterator[Problem]:
        """Yield the problems of a value, in the order of the server."""
        if schema is False:
            yield path, f"False schema does not allow {value!r}"
            return
        for keyword, argument in () if schema is True else schema.items():
            self._remaining_checks -= 1
            if self._remaining_checks < 0:
                raise CannotEvaluate("its requestContextSchema takes too long to check")
            if keyword in _SIMPLE:
                message = _SIMPLE[keyword](argument, value)
                if message:
                    yield path, message
            elif keyword in _NESTED:
                yield from _NESTED[keyword](self, argument, value, path, schema)

    def member(self, schema: Any, value: Any, path: Path) -> Iterator[Problem]:
        """Yield the problems of a member of an object, which the schema `false` refuses."""
        if schema is False:
            yield path, "is not expected"
        else:
            yield from self.problems(schema, value, path)


def _properties(check: _Check, properties: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    for name, inner in properties.items() if isinstance(value, dict) else ():
        if name in value:
            yield from check.member(inner, value[name], (*path, name))


def _additional(check: _Check, subschema: Any, value: Any, path: Path, schema: Any) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    for name, member in sorted(value.items(), key=itemgetter(0)) if isinstance(value, dict) else ():
        if name not in properties:
            yield from check.member(subschema, member, (*path, name))


def _required(check: _Check, names: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    for name in names if isinstance(value, dict) else ():
        if name not in value:
            yield (*path, name), "is required"


def _items(check: _Check, subschema: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    for index, item in enumerate(value) if isinstance(value, list) else ():
        yield from check.problems(subschema, item, (*path, index))


def _all_of(check: _Check, subschemas: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    for inner in subschemas:
        yield from check.problems(inner, value, path)


def _any_of(check: _Check, subschemas: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    if all(list(check.problems(inner, value, path)) for inner in subschemas):
        yield path, f"{value!r} is not valid under any of the given schemas"


def _reference(check: _Check, reference: Any, value: Any, path: Path, _schema: Any) -> Iterator[Problem]:
    check.depth += 1
    if check.depth > MAX_DEPTH:
        raise CannotEvaluate("its requestContextSchema refers to itself")
    yield from check.problems(_target(check.root, reference), value, path)
    check.depth -= 1


_NESTED: Final[Mapping[str, Callable[[_Check, Any, Any, Path, Any], Iterator[Problem]]]] = {
    "$ref": _reference,
    "additionalProperties": _additional,
    "allOf": _all_of,
    "anyOf": _any_of,
    "items": _items,
    "properties": _properties,
    "required": _required,
}


def _type(types: Any, value: Any) -> str | None:
    names = [types] if isinstance(types, str) else types
    if any(_TYPES[name](value) for name in names):
        return None
    return f"{value!r} is not of type {', '.join(map(repr, names))}"


def _compare(refuses: Callable[[Any, Any], bool], words: str) -> Callable[[Any, Any], str | None]:
    def compare(limit: Any, value: Any) -> str | None:
        wrong = _is_number(value) and refuses(value, limit)
        return f"{value!r} is {words} of {limit!r}" if wrong else None

    return compare


def _at_least(kind: type[Sized], words: str) -> Callable[[Any, Any], str | None]:
    def at_least(minimum: Any, value: Any) -> str | None:
        if not isinstance(value, kind) or len(value) >= minimum:
            return None
        return f"{value!r} {'should be non-empty' if minimum == 1 else words}"

    return at_least


def _at_most(kind: type[Sized], words: str) -> Callable[[Any, Any], str | None]:
    def at_most(maximum: Any, value: Any) -> str | None:
        if not isinstance(value, kind) or len(value) <= maximum:
            return None
        return f"{value!r} {'is expected to be empty' if maximum == 0 else words}"

    return at_most


_SIMPLE: Final[Mapping[str, Callable[[Any, Any], str | None]]] = {
    "type": _type,
    "enum": lambda choices, value: (
        None if any(same_value(other, value) for other in choices) else f"{value!r} is not one of {choices!r}"
    ),
    "const": lambda expected, value: None if same_value(expected, value) else f"{expected!r} was expected",
    "minimum": _compare(lambda value, limit: value < limit, "less than the minimum"),
    "maximum": _compare(lambda value, limit: value > limit, "greater than the maximum"),
    "exclusiveMinimum": _compare(lambda value, limit: value <= limit, "less than or equal to the minimum"),
    "exclusiveMaximum": _compare(lambda value, limit: value >= limit, "greater than or equal to the maximum"),
    "minLength": _at_least(str, "is too short"),
    "maxLength": _at_most(str, "is too long"),
    "minItems": _at_least(list, "is too short"),
    "maxItems": _at_most(list, "is too long"),
    "minProperties": _at_least(dict, "does not have enough properties"),
    "maxProperties": _at_most(dict, "has too many properties"),
}


# Supported schemas. The server refuses to save a malformed one, but a file may contain any.


@lru_cache(maxsize=256)
def _usable(text: str) -> Any:
    """Return the schema for a canonical text; raises `CannotEvaluate` for unsupported keywords."""
    root = canonical.parse(text)
    pending, keywords = [root], set()
    while pending:
        schema = pending.pop()
        if isinstance(schema, bool):
            continue
        for keyword, value in schema.items() if isinstance(schema, dict) else [("", schema)]:
            is_right = _SHAPES.get(keyword)
            if is_right is None or not is_right(value) or (keyword == "$schema" and schema is not root):
                raise CannotEvaluate(f"its requestContextSchema holds {keyword!r}, which the server checks")
            if keyword == "$ref":
                _target(root, value)
            keywords.add(keyword)
            if keyword in {"properties", "$defs", "definitions"}:
                pending.extend(value.values())
            elif keyword in {"allOf", "anyOf"}:
                pending.extend(value)
            elif keyword in {"items", "additionalProperties"}:
                pending.append(value)
    beyond = _DIALECTS.get(root.get("$schema", _DEFAULT_DIALECT).rstrip("#"))
    if beyond is None or beyond & keywords:
        raise CannotEvaluate("its requestContextSchema is of an older dialect")
    return brief(root)


def _target(root: Any, reference: str) -> Any:
    """Return the referenced schema; raises `CannotEvaluate` unless it is one of the `$defs`."""
    place, _, name = reference.removeprefix("#/").partition("/")
    schemas = root.get(place) if place in {"$defs", "definitions"} else None
    subschema = schemas.get(name) if isinstance(schemas, dict) else None
    if subschema is None or not reference.startswith("#/") or {"~", "%"} & set(name):
        raise CannotEvaluate(f"its requestContextSchema refers to {reference!r}")
    return subschema


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


_SHAPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("$schema", "$ref", "$comment", "title", "description", "format"), _is_text),
    **dict.fromkeys(("default", "const"), lambda _value: True),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("enum", "examples"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("properties", "$defs", "definitions"), lambda value: isinstance(value, dict)),
    **dict.fromkeys(("allOf", "anyOf"), lambda value: isinstance(value, list) and bool(value)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        lambda value: type(value) is int and value >= 0,
    ),
    "items": lambda value: value is True or isinstance(value, dict),
    "additionalProperties": lambda value: isinstance(value, bool | dict),
    "required": _are_names,
    "type": lambda value: (
        value in _TYPES
        if isinstance(value, str)
        else _are_names(value) and value and set(value) <= set(_TYPES)
    ),
}
