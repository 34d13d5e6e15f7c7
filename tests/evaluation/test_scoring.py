"""What each type of scorer says of an answer, tried over the API."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capabilities.evaluation.scoring.scoring import ScoreOutcome, first_number, whole_number
from tests.support.api import Api
from tests.support.scorers import make_scorer, scored, tried
from versioning.conf import get_framework
from versioning.runtime import Framework

SCORES: list[tuple[str, dict[str, Any], Any, dict[str, Any], float]] = [
    ("equals", {}, " Yes\n", {"groundTruth": "Yes"}, 1),
    ("equals", {"trim": False}, " Yes\n", {"groundTruth": "Yes"}, 0),
    ("equals", {"ignoreCase": True}, "STRASSE", {"groundTruth": "straße"}, 1),
    ("equals", {}, '{"a": 1.0}', {"groundTruth": {"a": 1}}, 1),
    ("equals", {}, '{"a": true}', {"groundTruth": {"a": 1}}, 0),
    ("equals", {}, "not json", {"groundTruth": 7}, 0),
    ("equals", {"value": "{{ metadata.best }}"}, [1], {"metadata": {"best": [1]}}, 1),
    ("equals", {"value": "{{input}}!"}, "Hi!", {}, 1),
    ("equals", {"value": "{{groundTruth || 'none'}}"}, "none", {}, 1),
    ("contains", {"values": ["a", "{{groundTruth}}"]}, "a b", {"groundTruth": "b"}, 1),
    ("contains", {"values": ["a", "c"]}, "a b", {}, 0),
    ("contains", {"values": ["a", "c"], "mode": "any"}, "a b", {}, 1),
    ("contains", {"values": ["A"], "ignoreCase": True}, "a b", {}, 1),
    ("contains", {"values": ["n={{groundTruth}} km"]}, "n=1 km", {"groundTruth": 1.0}, 1),
    ("contains", {"values": ["{{groundTruth}}"]}, "n=1e-7", {"groundTruth": 1e-7}, 1),
    ("startsWith", {"value": "Dear {{input}}"}, "Dear Hi, …", {}, 1),
    ("startsWith", {"value": "Dear"}, "My Dear", {}, 0),
    ("endsWith", {"value": "DEAR", "ignoreCase": True}, "My dear", {}, 1),
    ("regex", {"pattern": r"\d{3}"}, "no 123 yes", {}, 1),
    ("regex", {"pattern": r"^\d{3}$"}, "no 123 yes", {}, 0),
    ("regex", {"pattern": "NO", "ignoreCase": True}, "no", {}, 1),
    ("regex", {"pattern": "(a*)*b"}, "a" * 50_000, {}, 0),
    ("jsonSchema", {"schema": {"type": "object", "required": ["a"]}}, '{"a": 1}', {}, 1),
    ("jsonSchema", {"schema": {"type": "object", "required": ["a"]}}, {"b": 1}, {}, 0),
    ("jsonSchema", {"schema": {}}, "no json", {}, 0),
    ("jsonEquals", {"path": "a.1.b"}, '{"a": [0, {"b": "x"}]}', {"groundTruth": "x"}, 1),
    ("jsonEquals", {"path": "a.2"}, '{"a": [0]}', {"groundTruth": "x"}, 0),
    ("jsonEquals", {"value": 1, "tolerance": 0.1}, "1.1", {}, 1),
    ("jsonEquals", {"value": 1}, "1.1", {}, 0),
    ("jsonEquals", {}, '{"b": 2, "a": 1}', {"groundTruth": '{"a": 1, "b": 2}'}, 1),
    ("jsonEquals", {}, "prose", {"groundTruth": "prose"}, 0),
    ("numeric", {"tolerance": 0.1}, "about 10.3 km", {"groundTruth": 10.2}, 1),
    ("numeric", {}, "1e3", {"groundTruth": " 1000 "}, 1),
    ("numeric", {}, "The answer is $1,234.", {"groundTruth": 1234}, 1),
    ("numeric", {}, "1,234,567.89", {"groundTruth": "1234567.89"}, 1),
    ("numeric", {}, "\u22125 °C", {"groundTruth": -5}, 1),
    ("numeric", {}, "GPT-4 says 5", {"groundTruth": 4}, 1),
    ("numeric", {}, "-$.50", {"groundTruth": "-0.5"}, 1),
    ("numeric", {}, "12\u202f345 km", {"groundTruth": "12,345"}, 1),
    ("numeric", {}, "1\u00a0234", {"groundTruth": 1234}, 1),
    ("numeric", {}, "١٢٣", {"groundTruth": 123}, 1),
    ("numeric", {}, "1, 2 and 3", {"groundTruth": 1}, 1),
    ("numeric", {"decimal": ","}, "1.234.567,5 €", {"groundTruth": "1.234.567,5"}, 1),
    ("numeric", {"decimal": ","}, "1,234", {"groundTruth": 1.234}, 1),
    ("numeric", {"decimal": "."}, "1,234", {"groundTruth": 1.234}, 0),
    ("equals", {"ignoreCase": True}, "STRASSE", {"groundTruth": "Straße"}, 1),
    ("equals", {"ignoreCase": True}, "cafe\u0301", {"groundTruth": "CAF\u00c9"}, 1),
    ("jsonSchema", {"schema": {"multipleOf": 0.01}}, "19.99", {}, 1),
    ("jsonSchema", {"schema": {"multipleOf": 0.01}}, "19.999", {}, 0),
    ("jsonSchema", {"schema": {"multipleOf": 1e-308}}, "1e308", {}, 1),
    ("jsonSchema", {"schema": {"multipleOf": 2}}, "7", {}, 0),
    ("numeric", {}, "-5 or 5", {"groundTruth": 5}, 0),
    ("numeric", {}, "none", {"groundTruth": 5}, 0),
    ("numeric", {}, "1e999999999999999999999", {"groundTruth": 5}, 0),
    ("similarity", {}, "kitten", {"groundTruth": "sitting"}, 1 - 3 / 7),
    ("similarity", {}, "", {"groundTruth": ""}, 1),
    ("similarity", {"algorithm": "tokens"}, "a B b", {"groundTruth": "b b  c d"}, 4 / 7),
    ("similarity", {"algorithm": "tokens"}, " ", {"groundTruth": ""}, 1),
    ("calledTool", {"name": "find"}, "", {"toolCalls": [{"toolName": "find", "args": {}}]}, 1),
    ("calledTool", {"name": "find", "not": True}, "", {"toolCalls": []}, 1),
    (
        "calledTool",
        {"name": "find", "args": {"n": 1}},
        "",
        {"toolCalls": [{"toolName": "find", "args": {"n": 1.0, "m": 2}}]},
        1,
    ),
    (
        "calledTool",
        {"name": "find", "args": {"n": 1}},
        "",
        {"toolCalls": [{"toolName": "find", "args": {"n": "1"}}]},
        0,
    ),
    ("maxTokens", {"value": 10}, "", {"usage": {"inputTokens": 4, "outputTokens": 6}}, 1),
    ("maxTokens", {"value": 9}, "", {"usage": {"inputTokens": 4, "outputTokens": 6}}, 0),
    ("maxMilliseconds", {"value": 100}, "", {"milliseconds": 100.5}, 0),
]


@pytest.mark.parametrize(("kind", "config", "output", "attempt", "score"), SCORES)
def test_the_score_of(
    kind: str, config: dict[str, Any], output: Any, attempt: dict[str, Any], score: float
) -> None:
    found = scored({"type": kind, "config": config}, output, **attempt)
    assert found == ScoreOutcome(score=pytest.approx(score, abs=1e-9), passed=score >= 0.5)


@pytest.mark.parametrize(
    ("kind", "config", "attempt"),
    [
        ("equals", {}, {}),
        ("equals", {}, {"groundTruth": None}),
        ("equals", {"value": "no {{metadata.a}}"}, {"metadata": {"b": 1}}),
        ("contains", {"values": ["a", "{{groundTruth.name}}"]}, {"groundTruth": {"id": 1}}),
        ("numeric", {}, {"groundTruth": "five"}),
        ("numeric", {}, {"groundTruth": True}),
        ("similarity", {}, {}),
        ("calledTool", {"name": "find"}, {}),
        ("maxTokens", {"value": 1}, {}),
        ("maxMilliseconds", {"value": 1}, {}),
        ("external", {}, {}),
    ],
)
def test_what_lacks_a_reference_is_not_scorable_rather_than_wrong(
    kind: str, config: dict[str, Any], attempt: dict[str, Any]
) -> None:
    found = scored({"type": kind, "config": config}, "5", **attempt)
    assert found == ScoreOutcome(not_scorable=found.not_scorable) and found.not_scorable


@pytest.mark.parametrize("output", ["12,34", "1.2.3", "It was on 1.2.2026.", "1,2345"])
def test_digits_that_are_no_clear_number_are_not_scorable(output: str) -> None:
    found = scored({"type": "numeric", "config": {}}, output, groundTruth=12)
    assert found == ScoreOutcome(not_scorable=found.not_scorable) and "not clear" in str(found.not_scorable)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**12), max_value=10**12))
def test_a_number_is_read_as_it_is_written(number: Decimal) -> None:
    for written in (f"{number}", f"{number:,}", f"about {number:,} €", f"{number:,}".replace(",", "\u202f")):
        assert first_number(written, comma=False) == number
    swapped = f"{number:,}".translate(str.maketrans(",.", ".,"))
    assert first_number(swapped, comma=True) == whole_number(swapped, comma=True) == number


def test_a_scorer_that_is_tried_says_all_of_it(alice: Api) -> None:
    make_scorer(alice)
    nothing = dict.fromkeys(("score", "passed", "label", "reason", "error", "notScorable"))
    assert tried(alice, "exact", "a", groundTruth="a") == {**nothing, "score": 1, "passed": True}
    reason = {"reason": "There is no groundTruth."}
    assert tried(alice, "exact", "a") == {**nothing, "notScorable": reason}


def test_a_scorer_applies_to_the_items_that_its_conditions_name() -> None:
    rules = {"operator": "AND", "conditions": [{"field": "topic", "operator": "equals", "value": "billing"}]}
    scorer = {"type": "equals", "config": {"value": "yes"}, "appliesIf": rules}
    assert scored(scorer, "yes", metadata={"topic": "billing"}).passed
    assert scored(scorer, "yes", metadata={"topic": "delivery"}).not_scorable
    assert scored(scorer, "yes").not_scorable


@pytest.mark.parametrize(
    ("limits", "passed"),
    [
        ({}, True),
        ({"passIf": {"min": 0.6}}, False),
        ({"passIf": {"max": 0.5}}, True),
        ({"passIf": {"min": 0.4, "max": 0.45}}, False),
        ({"scoreRange": {"min": 0.2}}, False),
    ],
)
def test_a_graded_score_passes_within_its_limits(limits: dict[str, Any], passed: object) -> None:
    found = scored({"type": "similarity", **limits}, "abcd1234", groundTruth="abcdefgh")
    assert (found.score, found.passed) == (0.5, passed)


def test_long_texts_are_not_compared() -> None:
    near, began = {"type": "similarity"}, time.thread_time()
    assert scored(near, "a" * 20_000, groundTruth="b" * 20_000).score == 0
    assert time.thread_time() - began < 1
    error = scored(near, "a" * 20_001, groundTruth="").error
    assert error is not None and error.code == "too_long"


def test_types_of_other_runtimes_are_not_run() -> None:
    found = scored({"type": "toxicity"}, "Hello")
    assert found.error is not None and found.error.code == "unsupported_type"
    assert found.passed is None


def test_the_latest_draft_is_tried_or_the_version_that_is_named(alice: Api) -> None:
    made = make_scorer(alice, config={"value": "old"}, autoPublish=True)
    alice.patch("/stored/scorers/exact", {"config": {"value": "new"}})
    assert tried(alice, "exact", "new")["score"] == 1
    assert tried(alice, "exact", "old", versionId=made["resolvedVersionId"])["score"] == 1
    missing = alice.post("/stored/scorers/exact/try", {"input": 1, "output": 2, "versionId": "none"})
    assert missing.status == 404
    incomplete = alice.post("/stored/scorers/exact/try", {"usage": {"inputTokens": -1}, "more": 1})
    assert incomplete.status == 400
    assert incomplete.fields == ["input", "more", "output", "usage.inputTokens", "usage.outputTokens"]


def short(*, input: Any, output: Any, groundTruth: Any, metadata: Any) -> float:  # noqa: N803
    """Measure how short an answer is, or do as the input says."""
    match input:
        case "raise":
            raise KeyError(metadata)
        case "sleep":
            time.sleep(0.5)
        case "text":
            return "much"  # type: ignore[return-value]
        case "nan":
            return float("nan")
        case "huge":
            return 10**400
        case "exit":
            raise SystemExit
    return 1 / len(output) if groundTruth is None else groundTruth


@pytest.fixture
def with_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register `short`."""
    monkeypatch.setattr(get_framework(), "scorers", Framework(scorers=[short]).scorers)


@pytest.mark.usefixtures("with_functions")
def test_a_function_of_the_application_scores(alice: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    make_scorer(alice, "short", "code", config={"name": "short"})
    make_scorer(alice, "gone", "code", config={"name": "gone"})
    assert tried(alice, "short", "1234")["score"] == 0.25
    assert tried(alice, "short", "1234", groundTruth=True)["passed"] is True
    monkeypatch.setattr("capabilities.evaluation.scoring.scoring.CODE_SECONDS", 0.1)
    failures = {"raise": "function_failed", "exit": "function_failed", "sleep": "timed_out"}
    for item, code in (failures | dict.fromkeys(("text", "nan", "huge"), "no_number")).items():
        found = tried(alice, "short", "1234", input=item)
        assert (found["error"]["code"], found["score"], found["passed"]) == (code, None, None)
    assert tried(alice, "gone", "1")["error"]["code"] == "unknown_function"


def test_functions_that_cannot_score_are_refused_when_they_are_registered() -> None:
    async def later() -> float:
        return 1

    for wrong in ([short, short], [later], [lambda: 1]):
        with pytest.raises(ValueError, match="scorer"):
            Framework(scorers=wrong)
