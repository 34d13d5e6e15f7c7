"""Display rules in words."""

from __future__ import annotations

from typing import Any

from django.utils import translation

from studio.diff.fields import readable
from studio.forms.rules import in_words, is_rules


def rule(field: str, operator: str, *value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, **({"value": value[0]} if value else {})}


def either(*conditions: Any) -> dict[str, Any]:
    return {"operator": "OR", "conditions": list(conditions)}


def every(*conditions: Any) -> dict[str, Any]:
    return {"operator": "AND", "conditions": list(conditions)}


BILLING, DELIVERY = (rule("topic", "equals", topic) for topic in ("billing", "delivery"))
GOLD = rule("tier", "equals", "gold")


def test_short_rules_are_one_line() -> None:
    for rules, words in [
        (None, ""),
        (every(), ""),
        (either(), ""),
        (every(BILLING), "topic is billing"),
        (either(BILLING, DELIVERY), "topic is billing or delivery"),
        (every(rule("topic", "in", ["billing", "delivery"])), "topic is billing or delivery"),
        (every(rule("topic", "in", [])), "topic is one of []"),
        (every(BILLING, GOLD), "topic is billing and tier is gold"),
        (either(BILLING, DELIVERY, GOLD), "topic is billing or delivery or tier is gold"),
        (every(GOLD, either(BILLING, DELIVERY)), "tier is gold and (topic is billing or delivery)"),
        (either(GOLD, every()), "tier is gold or always"),
        (every(rule("customer", "exists")), "customer is present"),
        (every(rule("count", "greater_than", 5)), "count is greater than 5"),
        (every(rule("tags", "not_contains", "new")), "tags does not contain new"),
        (every(rule("tier", "not_in", ["a", "b"])), "tier is none of a or b"),
        # A text is distinguished from similar values.
        (every(rule("code", "equals", "1")), 'code is "1"'),
        (every(rule("code", "equals", 1)), "code is 1"),
        (every(rule("flag", "equals", "true")), 'flag is "true"'),
        (every(rule("flag", "equals", *[True])), "flag is true"),
        (every(rule("name", "equals", "")), 'name is ""'),
        (every(rule("name", "equals", "a, b")), 'name is "a, b"'),
        (every(rule("language", "equals", "हिन्दी")), "language is हिन्दी"),
        (every(rule("name", "equals", "प्रिया")), "name is प्रिया"),
        (every(rule("name", "equals", "Ju\u0308rgen")), "name is Ju\u0308rgen"),
        (every(rule("name", "equals", "_x")), 'name is "_x"'),
    ]:
        with translation.override("en"):
            assert in_words(rules) == words


def test_german_sentences_place_the_verb_correctly() -> None:
    for rules, words in [
        (every(GOLD), "tier gold ist"),
        (every(rule("tier", "not_equals", "gold")), "tier nicht gold ist"),
        (
            every(rule("count", "less_than", 5), rule("name", "exists")),
            "count kleiner als 5 ist und name vorhanden ist",
        ),
    ]:
        with translation.override("de"):
            assert in_words(rules) == words


def test_long_rules_have_a_line_for_each_condition() -> None:
    many = either(*(rule("topic", "contains", f"subject {number}") for number in range(20)))
    with translation.override("en"):
        lines = readable("rules", every(GOLD, many)).split("\n")
    assert lines[:3] == ["Shown when all of these:", "  tier is gold", "  any of these:"]
    assert lines[3] == '    topic contains "subject 0"'
    assert len(lines) == 23


def test_values_of_another_shape_are_not_rules() -> None:
    for value in [
        None,
        [],
        {},
        "AND",
        {"operator": "AND"},
        every({"field": 1, "operator": "equals"}),
        every("x"),
    ]:
        assert not is_rules(value)
