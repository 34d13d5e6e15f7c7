"""Rules and variants: when a condition holds, and what a conditional field amounts to."""

from __future__ import annotations

from enum import Enum
from itertools import product
from typing import Any

import pytest
from editor_client.shared.conditions import OPERATORS, choose, holds, same_value
from hypothesis import given

from tests.support.configurations import json_objects, json_values, rule_groups, unhurried


class Absence(Enum):
    """Stands for a value that is not there at all."""

    MISSING = "missing"


MISSING = Absence.MISSING
COMPARISONS = ("greater_than", "less_than", "greater_than_or_equal", "less_than_or_equal")

# operator, value in the context, value of the rule, whether it holds
TABLE: list[tuple[str, Any, Any, bool]] = [
    ("equals", "a", "a", True),
    ("equals", "a", "A", False),
    ("equals", "a", "a ", False),
    ("equals", 1, 1, True),
    ("equals", 1, 1.0, True),  # JSON knows one type of number
    ("equals", 1, "1", False),
    ("equals", "1", 1, False),
    ("equals", 1, True, False),
    ("equals", True, 1, False),
    ("equals", 0, False, False),
    ("equals", False, 0.0, False),
    ("equals", True, True, True),
    ("equals", False, False, True),
    ("equals", "true", True, False),
    ("equals", "", None, False),
    ("equals", 0, None, False),
    ("equals", False, None, False),
    ("equals", None, None, True),
    ("equals", MISSING, "a", False),
    ("equals", MISSING, 0, False),
    ("equals", MISSING, "", False),
    ("equals", [1, "a"], [1, "a"], True),
    ("equals", [1, 2], [2, 1], False),
    ("equals", [1], [1, 2], False),
    ("equals", [1, 2], [1], False),
    ("equals", [1], [True], False),
    ("equals", [], {}, False),
    ("equals", {"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ("equals", {"a": 1}, {"a": True}, False),
    ("equals", {"a": None}, {}, False),
    ("equals", [1], 1, False),
    ("contains", "gold member", "gold", True),
    ("contains", "gold member", "Gold", False),
    ("contains", "gold", "", True),
    ("contains", "gold", "gold member", False),
    ("contains", "12", 1, False),
    ("contains", "None", None, False),
    ("contains", ["a", "b"], "a", True),
    ("contains", ["ab"], "a", False),
    ("contains", [1, 2], 1, True),
    ("contains", [1, 2], "1", False),
    ("contains", [1], True, False),
    ("contains", [True], 1, False),
    ("contains", [None], None, True),
    ("contains", [[1]], [1], True),
    ("contains", [1.0], 1, True),
    ("contains", [[1]], [1.0], True),
    ("contains", [{"a": 1}], {"a": 1}, True),
    ("contains", [], "a", False),
    ("contains", {"a": 1}, "a", False),
    ("contains", 12, 1, False),
    ("contains", True, True, False),
    ("contains", None, "a", False),
    ("contains", MISSING, "a", False),
    ("in", "a", ["a", "b"], True),
    ("in", "c", ["a", "b"], False),
    ("in", 1, [True, "1"], False),
    ("in", True, [1], False),
    ("in", None, [None], True),
    ("in", [1], [[1], 2], True),
    ("in", 1, [[1]], False),
    ("in", "a", [], False),
    ("in", MISSING, ["a", None], False),
    ("exists", "a", None, True),
    ("exists", "", None, True),
    ("exists", 0, None, True),
    ("exists", False, None, True),
    ("exists", [], None, True),
    ("exists", {}, None, True),
    ("exists", None, None, False),
    ("exists", MISSING, None, False),
    ("exists", "a", False, True),
    ("exists", MISSING, True, False),
]
OPPOSITES = {"equals": "not_equals", "contains": "not_contains", "in": "not_in", "exists": "not_exists"}

# value in the context, value of the rule, and how the one stands to the other
NUMBERS = [(1, 2, "<"), (2, 1, ">"), (1, 1, "="), (1, 1.0, "="), (-1.5, -1, "<"), (0.1, 0.2, "<")]
NUMBERS += [(10**400, 1.5, ">"), (2, 10, "<")]
NEVER_COMPARED = [
    *(("2", 1), (2, "1"), ("b", "a"), ("2", "1"), (True, 0), (1, False), (None, 0), (0, None)),
    *((MISSING, 0), ([2], 1), (2, [1]), ({}, 0), ("2024-01-02", "2024-01-01")),
]


def rule(operator: str, value: Any = MISSING, field: str = "x") -> dict[str, Any]:
    bare = {"field": field, "operator": operator}
    return bare if value is MISSING else {**bare, "value": value}


def group(operator: str, *conditions: Any) -> dict[str, Any]:
    return {"operator": operator, "conditions": list(conditions)}


def decide(operator: str, actual: Any, expected: Any) -> bool:
    """Say whether one rule holds for one value of the context."""
    context = {} if actual is MISSING else {"x": actual}
    return holds(group("AND", rule(operator, expected)), context)


def constant(*, value: bool) -> dict[str, Any]:
    """Return a rule that always, or never, holds."""
    return rule("not_exists" if value else "exists", field="nowhere")


YES, NO = constant(value=True), constant(value=False)


@pytest.mark.parametrize(("operator", "actual", "expected", "outcome"), TABLE, ids=repr)
def test_a_rule_holds_exactly_when_the_table_says(
    operator: str, actual: Any, expected: Any, *, outcome: bool
) -> None:
    assert decide(operator, actual, expected) is outcome
    assert decide(OPPOSITES[operator], actual, expected) is not outcome


@pytest.mark.parametrize(("actual", "expected", "stands"), NUMBERS, ids=repr)
def test_numbers_are_compared_as_numbers(actual: Any, expected: Any, stands: str) -> None:
    holding = [operator for operator in COMPARISONS if decide(operator, actual, expected)]
    assert (
        holding
        == {
            "<": ["less_than", "less_than_or_equal"],
            ">": ["greater_than", "greater_than_or_equal"],
            "=": ["greater_than_or_equal", "less_than_or_equal"],
        }[stands]
    )


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize(("actual", "expected"), NEVER_COMPARED, ids=repr)
def test_nothing_but_numbers_is_compared(operator: str, actual: Any, expected: Any) -> None:
    assert decide(operator, actual, expected) is False


@pytest.mark.parametrize("operator", ["in", "not_in"])
@pytest.mark.parametrize("expected", ["abc", {"a": 1}, None, 1, True, MISSING])
def test_membership_in_what_is_no_list_never_holds(operator: str, expected: Any) -> None:
    assert decide(operator, "a", expected) is False


def test_the_tables_speak_of_every_operator() -> None:
    assert {*OPPOSITES, *OPPOSITES.values(), *COMPARISONS} == set(OPERATORS)


@pytest.mark.parametrize(
    ("path", "exists"),
    [
        ("user", True),
        ("user.name", True),
        ("user.address.city", True),
        ("user.address.zip", False),
        ("user.name.first", False),
        ("user.nothing", False),
        ("user.nothing.more", False),
        ("nobody.name", False),
        ("", False),
        (".", False),
        ("user.", False),
        ("user.keys", False),
        ("user.__class__", False),
        ("user.name.__len__", False),
        ("__class__", False),
    ],
)
def test_a_path_leads_through_objects_and_nothing_else(path: str, *, exists: bool) -> None:
    context = {"user": {"name": "Ann", "nothing": None, "address": {"city": "Rome"}}}
    assert holds(group("AND", rule("exists", field=path)), context) is exists


@pytest.mark.parametrize("rules", [None, group("AND"), group("OR")])
def test_no_conditions_always_hold(rules: Any) -> None:
    assert holds(rules, {}) is True


@pytest.mark.parametrize("values", [*product([True, False], repeat=1), *product([True, False], repeat=3)])
def test_and_needs_all_of_its_conditions_and_or_one(values: tuple[bool, ...]) -> None:
    conditions = [constant(value=value) for value in values]
    assert holds(group("AND", *conditions), {}) is all(values)
    assert holds(group("OR", *conditions), {}) is any(values)


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [
        (group("AND", YES, group("OR", NO, YES)), True),
        (group("AND", YES, group("OR", NO, NO)), False),
        (group("OR", NO, group("AND", YES, YES)), True),
        (group("OR", NO, group("AND", YES, NO)), False),
        (group("OR", NO, group("AND", YES, group("OR", NO, YES))), True),
        (group("OR", NO, group("AND", YES, group("OR", NO, NO))), False),
        (group("AND", group("OR", YES, NO), group("AND", YES, YES)), True),
        (group("AND", YES, group("OR")), True),
        (group("OR", NO, group("AND")), True),
        (group("AND", NO, group("OR")), False),
    ],
)
def test_groups_nest(rules: dict[str, Any], *, outcome: bool) -> None:
    assert holds(rules, {}) is outcome


@given(rule_groups, json_objects)
@unhurried
def test_allowed_rules_are_decided_in_any_context(rules: Any, context: Any) -> None:
    assert holds(rules, context) in {True, False}
    both = [holds(group(operator, rules, rules), context) for operator in ("AND", "OR")]
    assert both == [holds(rules, context)] * 2


@given(json_values, json_values)
@unhurried
def test_equality_is_that_of_values_and_has_no_direction(left: Any, right: Any) -> None:
    assert same_value(left, left)
    assert same_value(left, right) is same_value(right, left)
    assert decide("in", left, [right]) is decide("equals", left, right) is decide("contains", [left], right)


GOLD = group("AND", rule("equals", "gold", field="tier"))
BETA = group("AND", rule("equals", value=True, field="beta"))


@pytest.mark.parametrize("value", [None, {}, {"a": 1}, {"value": {"a": 1}}])
def test_a_plain_value_is_itself(value: Any) -> None:
    assert choose(value, {"tier": "gold"}) == value


@pytest.mark.parametrize(
    ("context", "chosen"),
    [
        ({}, {"model": "small", "limits": {"words": 100}}),
        ({"tier": "gold"}, {"model": "large", "limits": {"pages": 5}}),
        ({"beta": True}, {"model": "small", "limits": {"words": 100}, "beta": True}),
        ({"tier": "gold", "beta": True}, {"model": "large", "limits": {"pages": 5}, "beta": True}),
        ({"tier": "silver", "beta": "true"}, {"model": "small", "limits": {"words": 100}}),
    ],
)
def test_matching_objects_merge_shallowly_in_order(context: dict[str, Any], chosen: dict[str, Any]) -> None:
    variants = [
        {"value": {"model": "small", "limits": {"words": 100}}},
        {"value": {"model": "large", "limits": {"pages": 5}}, "rules": GOLD},
        {"value": {"beta": True}, "rules": BETA},
    ]
    assert choose(variants, context) == chosen


def test_a_later_variant_can_set_a_member_to_null() -> None:
    assert choose([{"value": {"a": 1, "b": 2}}, {"value": {"a": None}}], {}) == {"a": None, "b": 2}


def test_matching_lists_are_concatenated_in_order() -> None:
    variants = [{"value": [1, 2]}, {"value": [2, 3], "rules": GOLD}, {"value": [4], "rules": BETA}]
    assert choose(variants, {"tier": "gold"}) == [1, 2, 2, 3]
    assert choose(variants, {}) == [1, 2]


@pytest.mark.parametrize("rules", [None, group("AND"), group("OR")])
def test_a_variant_without_rules_always_matches(rules: Any) -> None:
    assert choose([{"value": {"a": 1}, "rules": rules}], {}) == {"a": 1}


@pytest.mark.parametrize("variants", [[], [{"value": {"a": 1}, "rules": GOLD}]])
def test_where_no_variant_matches_there_is_nothing(variants: list[Any]) -> None:
    assert choose(variants, {}) is None


def test_choosing_leaves_the_configuration_as_it_was() -> None:
    variants = [{"value": {"a": 1}}, {"value": {"b": 2}}]
    choose(variants, {})
    assert variants == [{"value": {"a": 1}}, {"value": {"b": 2}}]
