"""Rules and variants: when a condition holds, and how a conditional field is resolved."""

from __future__ import annotations

from enum import Enum
from itertools import product
from typing import Any

from editor_client.shared.conditions import OPERATORS, choose, holds, same_value
from hypothesis import given

from tests.support.configurations import json_objects, json_values, rule_groups


class Absence(Enum):
    """Stands for a missing value."""

    MISSING = "missing"


MISSING = Absence.MISSING
COMPARISONS = ("greater_than", "less_than", "greater_than_or_equal", "less_than_or_equal")

# operator, value in the context, value of the rule, whether it holds
TABLE: list[tuple[str, Any, Any, bool]] = [
    ("equals", "a", "a", True),
    ("equals", "a", "A", False),
    ("equals", 1, 1, True),
    ("equals", 1, 1.0, True),  # JSON knows one type of number
    ("equals", 1, "1", False),
    ("equals", 1, True, False),
    ("equals", True, 1, False),
    ("equals", 0, False, False),
    ("equals", True, True, True),
    ("equals", "true", True, False),
    ("equals", 0, None, False),
    ("equals", None, None, True),
    ("equals", MISSING, "a", False),
    ("equals", [1, "a"], [1, "a"], True),
    ("equals", [1, 2], [2, 1], False),
    ("equals", [1, 2], [1], False),
    ("equals", [1], [True], False),
    ("equals", [], {}, False),
    ("equals", {"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ("equals", {"a": 1}, {"a": True}, False),
    ("equals", {"a": None}, {}, False),
    ("contains", "gold member", "gold", True),
    ("contains", "gold member", "Gold", False),
    ("contains", "gold", "", True),
    ("contains", "None", None, False),
    ("contains", ["a", "b"], "a", True),
    ("contains", [1, 2], 1, True),
    ("contains", [1, 2], "1", False),
    ("contains", [1], True, False),
    ("contains", [None], None, True),
    ("contains", [1.0], 1, True),
    ("contains", [[1]], [1.0], True),
    ("contains", [{"a": 1}], {"a": 1}, True),
    ("contains", {"a": 1}, "a", False),
    ("contains", None, "a", False),
    ("contains", MISSING, "a", False),
    ("in", "a", ["a", "b"], True),
    ("in", "c", ["a", "b"], False),
    ("in", 1, [True, "1"], False),
    ("in", None, [None], True),
    ("in", [1], [[1], 2], True),
    ("in", MISSING, ["a", None], False),
    ("exists", "a", None, True),
    ("exists", "", None, True),
    ("exists", 0, None, True),
    ("exists", False, None, True),
    ("exists", None, None, False),
    ("exists", MISSING, None, False),
    ("exists", MISSING, True, False),
]
OPPOSITES = {"equals": "not_equals", "contains": "not_contains", "in": "not_in", "exists": "not_exists"}

# value in the context, value of the rule, and how they compare
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
    """Return whether one rule holds for one value of the context."""
    context = {} if actual is MISSING else {"x": actual}
    return holds(group("AND", rule(operator, expected)), context)


def constant(*, value: bool) -> dict[str, Any]:
    """Return a rule that always, or never, holds."""
    return rule("not_exists" if value else "exists", field="nowhere")


YES, NO = constant(value=True), constant(value=False)


def test_a_rule_holds_exactly_when_the_table_says() -> None:
    for operator, actual, expected, outcome in TABLE:
        assert decide(operator, actual, expected) is outcome
        assert decide(OPPOSITES[operator], actual, expected) is not outcome


def test_numbers_are_compared_as_numbers() -> None:
    for actual, expected, stands in NUMBERS:
        holding = [operator for operator in COMPARISONS if decide(operator, actual, expected)]
        assert (
            holding
            == {
                "<": ["less_than", "less_than_or_equal"],
                ">": ["greater_than", "greater_than_or_equal"],
                "=": ["greater_than_or_equal", "less_than_or_equal"],
            }[stands]
        )


def test_only_numbers_are_compared() -> None:
    for operator in COMPARISONS:
        for actual, expected in NEVER_COMPARED:
            assert decide(operator, actual, expected) is False


def test_membership_in_a_value_that_is_not_a_list_never_holds() -> None:
    for operator in ("in", "not_in"):
        for expected in ("abc", {"a": 1}, None, 1, True, MISSING):
            assert decide(operator, "a", expected) is False


def test_the_tables_cover_every_operator() -> None:
    assert {*OPPOSITES, *OPPOSITES.values(), *COMPARISONS} == set(OPERATORS)


def test_a_path_leads_through_objects_and_nothing_else() -> None:
    context = {"user": {"name": "Ann", "nothing": None, "address": {"city": "Rome"}}}
    for path in ("user", "user.name", "user.address.city"):
        assert holds(group("AND", rule("exists", field=path)), context), path
    wrong = ["user.address.zip", "user.name.first", "user.nothing", "user.nothing.more", "nobody.name"]
    wrong += ["", ".", "user.", "user.keys", "user.__class__", "user.name.__len__", "__class__"]
    for path in wrong:
        assert not holds(group("AND", rule("exists", field=path)), context), path


def test_and_needs_all_of_its_conditions_and_or_one() -> None:
    for values in (*product([True, False], repeat=1), *product([True, False], repeat=3)):
        conditions = [constant(value=value) for value in values]
        assert holds(group("AND", *conditions), {}) is all(values)
        assert holds(group("OR", *conditions), {}) is any(values)


def test_groups_nest() -> None:
    for rules, outcome in (
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
    ):
        assert holds(rules, {}) is outcome


@given(rule_groups, json_objects)
def test_allowed_rules_are_decided_in_any_context(rules: Any, context: Any) -> None:
    assert holds(rules, context) in {True, False}
    both = [holds(group(operator, rules, rules), context) for operator in ("AND", "OR")]
    assert both == [holds(rules, context)] * 2


@given(json_values, json_values)
def test_equality_is_symmetric_and_by_value(left: Any, right: Any) -> None:
    assert same_value(left, left)
    assert same_value(left, right) is same_value(right, left)
    assert decide("in", left, [right]) is decide("equals", left, right) is decide("contains", [left], right)


GOLD = group("AND", rule("equals", "gold", field="tier"))
BETA = group("AND", rule("equals", value=True, field="beta"))


def test_matching_objects_merge_shallowly_in_order() -> None:
    for context, chosen in (
        ({}, {"model": "small", "limits": {"words": 100}}),
        ({"tier": "gold"}, {"model": "large", "limits": {"pages": 5}}),
        ({"beta": True}, {"model": "small", "limits": {"words": 100}, "beta": True}),
        ({"tier": "gold", "beta": True}, {"model": "large", "limits": {"pages": 5}, "beta": True}),
        ({"tier": "silver", "beta": "true"}, {"model": "small", "limits": {"words": 100}}),
    ):
        variants = [
            {"value": {"model": "small", "limits": {"words": 100}}},
            {"value": {"model": "large", "limits": {"pages": 5}}, "rules": GOLD},
            {"value": {"beta": True}, "rules": BETA},
        ]
        assert choose(variants, context) == chosen


def test_matching_lists_are_concatenated_in_order() -> None:
    assert choose({"value": {"a": 1}}, {}) == {"value": {"a": 1}}  # no list
    assert choose([{"value": {"a": 1, "b": 2}}, {"value": {"a": None}}], {}) == {"a": None, "b": 2}
    for rules in (None, group("AND"), group("OR")):
        assert holds(rules, {}) is True
        assert choose([{"value": {"a": 1}, "rules": rules}], {}) == {"a": 1}
    assert choose([], {}) is choose([{"value": {"a": 1}, "rules": GOLD}], {}) is None
    variants = [{"value": [1, 2]}, {"value": [2, 3], "rules": GOLD}, {"value": [4], "rules": BETA}]
    assert choose(variants, {"tier": "gold"}) == [1, 2, 2, 3]
    assert choose(variants, {}) == [1, 2]
