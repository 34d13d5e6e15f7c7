"""Display rules and conditional variants: what of a configuration applies in a given context.

Pure: a rule sees nothing but the context that the caller hands in, a JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_MISSING = object()


def lookup(path: str, context: Mapping[str, Any]) -> Any:
    """Return the value at a dotted path, or None when it is missing; only objects are entered."""
    value = _find(path, context)
    return None if value is _MISSING else value


def holds(rules: Mapping[str, Any] | None, context: Mapping[str, Any]) -> bool:
    """Say whether a rule group holds; no group and no conditions hold always.

    `rules` has passed `versioning.config`: `{"operator": "AND"|"OR", "conditions": [rule | group]}`.
    """
    if not rules or not rules["conditions"]:
        return True
    met = (
        holds(condition, context) if "conditions" in condition else _rule_holds(condition, context)
        for condition in rules["conditions"]
    )
    return all(met) if rules["operator"] == "AND" else any(met)


def choose(value: Any, context: Mapping[str, Any]) -> Any:
    """Return what a conditional field amounts to in this context.

    A plain value is itself. Of a list of variants the matching ones count: objects merge
    shallowly in order, lists are concatenated. None when no variant matches.
    """
    if not isinstance(value, list):
        return value
    chosen: Any = None
    for variant in value:
        if not holds(variant.get("rules"), context):
            continue
        found = variant["value"]
        if isinstance(chosen, dict) and isinstance(found, dict):
            chosen = {**chosen, **found}
        elif isinstance(chosen, list) and isinstance(found, list):
            chosen = [*chosen, *found]
        else:
            chosen = found
    return chosen


def same_value(left: Any, right: Any) -> bool:
    """Compare as JSON does: strict in type, but 1 and 1.0 are the same number and True is none."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return type(left) is type(right) and bool(left == right)


def _find(path: str, context: Mapping[str, Any]) -> Any:
    value: Any = context
    for segment in path.split("."):
        if not isinstance(value, Mapping) or segment not in value:
            return _MISSING
        value = value[segment]
    return value


def _rule_holds(rule: Mapping[str, Any], context: Mapping[str, Any]) -> bool:
    return _OPERATORS[rule["operator"]](_find(rule["field"], context), rule.get("value"))


def _contains(actual: Any, expected: Any) -> bool:
    if isinstance(actual, str):
        return isinstance(expected, str) and expected in actual
    return isinstance(actual, list) and any(same_value(item, expected) for item in actual)


def _is_in(actual: Any, expected: Any) -> bool:
    return any(same_value(actual, item) for item in expected)


def _exists(actual: Any, _expected: Any) -> bool:
    return actual is not _MISSING and actual is not None


def _numbers(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def both_numbers_and(actual: Any, expected: Any) -> bool:
        return _is_number(actual) and _is_number(expected) and compare(actual, expected)

    return both_numbers_and


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": same_value,
    "not_equals": lambda actual, expected: not same_value(actual, expected),
    "contains": _contains,
    "not_contains": lambda actual, expected: not _contains(actual, expected),
    "greater_than": _numbers(lambda actual, expected: actual > expected),
    "less_than": _numbers(lambda actual, expected: actual < expected),
    "greater_than_or_equal": _numbers(lambda actual, expected: actual >= expected),
    "less_than_or_equal": _numbers(lambda actual, expected: actual <= expected),
    "in": lambda actual, expected: isinstance(expected, list) and _is_in(actual, expected),
    "not_in": lambda actual, expected: isinstance(expected, list) and not _is_in(actual, expected),
    "exists": _exists,
    "not_exists": lambda actual, expected: not _exists(actual, expected),
}
OPERATORS = tuple(_OPERATORS)
