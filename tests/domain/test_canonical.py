"""The canonical JSON text: what is accepted, what is refused, and when two values are equal."""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from editor_client.shared import canonical
from hypothesis import given
from hypothesis import strategies as st

from tests.support.configurations import json_values, reordered
from versioning.domain.errors import Invalid

NOT_JSON = {
    "nothing": b"",
    "half an object": b'{"a": 1',
    "two values": b"1 2",
    "a trailing comma": b"[1,]",
    "NaN": b"[NaN]",
    "-Infinity": b"[-Infinity]",
    "1e999": b"[1e999]",
    "an integer of thousands of digits": b"1" * 5000,
    "broken UTF-8": b'["\xff"]',
    "a surrogate in UTF-8": b'["\xed\xa0\x80"]',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "a lone high surrogate": rb'["\ud800"]',
    "a lone surrogate in a key": rb'{"\ud800": 1}',
    "an escaped NUL": rb'["\u0000"]',
    "an escaped NUL in a key": rb'{"a\u0000": 1}',
    "a raw line break in text": b'["a\nb"]',
    "a key twice": b'{"a": 1, "a": 1}',
    "a key twice, once escaped": rb'{"a": 1, "\u0061": 2}',
    "a key twice, deep inside": b'[{"b": {"a": 1, "a": 2}}]',
}

# Each pair is different, although Python or a hasty eye calls the two equal.
DIFFERENT = [
    (1, True),
    (1.0, True),
    (2**53 + 1, float(2**53)),
    (10**23, 1e23),
    (0.1, 0.10000000000000002),
    ("1", "1.0"),
    (None, False),
    ("1", 1),
    ([1, 2], [2, 1]),
    ({"a": None}, {}),
    ({"a": {"b": 1}}, {"a": {"b": True}}),
    ([["1.0", 1]], [["1", 1]]),
    ("\u00fc", "u\u0308"),
    ("a", "a "),
]

# Each pair is the same number, however it is written.
SAME = [
    (1, 1.0),
    (0, -0.0),
    (2**53, float(2**53)),
    (10**21 - 2**17, float(10**21 - 2**17)),
    (10**21, 1e21),
    (-(2**70), -float(2**70)),
    ([[1]], [[1.0]]),
    ({"a": {"b": 3}}, {"a": {"b": 3.0}}),
]


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_text_that_is_not_strict_json_is_refused_and_the_field_named() -> None:
    for text in NOT_JSON.values():
        with pytest.raises(Invalid) as refusal:
            canonical.parse(text)
        assert [issue.field for issue in refusal.value.issues] == ["body"]


def test_strict_json_is_parsed_exactly() -> None:
    for text, value in (
        (b'{"a": [1, 1.5, true, null, "x"]}', {"a": [1, 1.5, True, None, "x"]}),
        (b" 1 ", 1),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        ('"\U0001f600"'.encode(), "\U0001f600"),
        (rb'"\u2028\t"', "\u2028\t"),
        (b"1" * 400, int("1" * 400)),
        (b'{"": {"__proto__": 1}}', {"": {"__proto__": 1}}),
    ):
        assert canonical.parse(text) == value
        assert canonical.parse(text.decode()) == value


def test_numbers_keep_their_type() -> None:
    for text, kind in (
        ("1", int),
        ("1.0", float),
        ("1e2", float),
        ("true", bool),
        ("-0.0", float),
    ):
        assert type(canonical.parse(text)) is kind


def test_sixty_four_levels_are_accepted_and_one_more_is_refused() -> None:
    assert canonical.dump(canonical.parse(nested(64))) == nested(64)
    for levels in (65, 100_000):
        with pytest.raises(Invalid):
            canonical.parse(nested(levels))
        with pytest.raises(Invalid) as refusal:
            canonical.parse('{"a":' * levels, field="requestContext")
        assert [issue.field for issue in refusal.value.issues] == ["requestContext"]


def test_python_values_that_json_cannot_hold_are_refused() -> None:
    for value in (
        math.nan,
        [math.inf],
        {"a": -math.inf},
        {1: 2},
        {None: 1},
        {"a": {2}},
        b"bytes",
        1j,
        "\ud800",
        "\0",
    ):
        with pytest.raises(ValueError, match=r"holds |contains "):
            canonical.check(value)


def test_keys_are_sorted_by_code_point_at_every_level() -> None:
    value = {"b": {"\U0001f600": 1, "\uffff": 2}, "a": [{"é": 1, "z": 2, "Z": 3, "10": 4, "9": 5}]}
    expected = '{"a":[{"10":4,"9":5,"Z":3,"z":2,"é":1}],"b":{"\uffff":2,"\U0001f600":1}}'
    assert canonical.dump(value) == expected


def test_text_is_not_escaped_unnecessarily() -> None:
    assert canonical.dump('ü 漢 \u2028 / < " \\ \n') == '"ü 漢 \u2028 / < \\" \\\\ \\n"'


def test_indented_text_has_two_spaces_and_no_space_at_the_end_of_a_line() -> None:
    text = canonical.dump({"b": [1, {}], "a": {"c": []}}, indent=2)
    assert text == '{\n  "a": {\n    "c": []\n  },\n  "b": [\n    1,\n    {}\n  ]\n}'


def test_numbers_are_written_as_they_were_read() -> None:
    text = "[1,1.0,0.1,-7,12345678901234567890123,1.5e-07,-0.0]"
    assert canonical.dump(canonical.parse(text)) == text
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical.dump([math.nan])


def test_the_digest_is_the_sha_256_of_the_canonical_text() -> None:
    assert canonical.digest({"b": "ü", "a": 1}) == hashlib.sha256('{"a":1,"b":"ü"}'.encode()).hexdigest()


def test_similar_values_are_not_equal() -> None:
    for left, right in DIFFERENT:
        assert not canonical.same(left, right)
        assert canonical.digest(left) != canonical.digest(right)


def test_numbers_are_compared_by_value_and_keep_their_notation() -> None:
    for left, right in SAME:
        assert canonical.same(left, right)
        assert canonical.digest(left) == canonical.digest(right)
        assert canonical.dump(left) != canonical.dump(right)


whole = st.integers(min_value=-(10**40), max_value=10**40) | st.floats(allow_nan=False, allow_infinity=False)
near = st.integers(min_value=14, max_value=308).flatmap(
    lambda power: st.integers(-3, 3).map(lambda by: int(float(f"1e{power}")) + by)
)
numbers = whole | near | near.map(float) | st.floats(min_value=1e15, max_value=1e25).map(round).map(float)
"""Whole numbers around what floats can hold, and other floats."""


@given(numbers, numbers)
def test_two_numbers_have_the_same_text_exactly_when_they_are_equal(left: float, right: float) -> None:
    for one, other in ((left, right), (left, int(left)), (left, float(left))):
        is_equal = Fraction(one) == Fraction(other)
        assert (canonical.comparable([one]) == canonical.comparable([other])) is is_equal
        assert (canonical.digest([one]) == canonical.digest([other])) is is_equal
    assert len(canonical.comparable(float(left))) < 30
    assert json.loads(canonical.comparable(left)) == left


@given(numbers)
def test_the_digest_of_a_number_is_unchanged_since_the_first_release(number: float) -> None:
    """Digests are in the database, in locks and in the ids of files."""
    as_int = int(number) if number == int(number) else number
    text = json.dumps({"1e+30": ["\\", '\\"1e+30', as_int]}, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert canonical.digest({"1e+30": ["\\", '\\"1e+30', number]}) == digest


@given(json_values)
def test_every_value_survives_being_written_and_read(value: Any) -> None:
    text = canonical.dump(value)
    back = canonical.parse(text.encode())
    assert back == value
    assert canonical.dump(back) == text


@given(json_values, st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(value: Any, random: Random) -> None:
    other = reordered(value, random)
    assert canonical.same(value, other)
    assert canonical.digest(value) == canonical.digest(other)


@given(json_values, json_values)
def test_two_values_are_the_same_exactly_when_their_digests_are(left: Any, right: Any) -> None:
    assert canonical.same(left, right) is (canonical.digest(left) == canonical.digest(right))
    assert left == right or not canonical.same(left, right)


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with suppress(Invalid):
        canonical.check(canonical.parse(text))


def test_the_place_of_what_is_refused_is_named() -> None:
    deep: Any = "x"
    for _ in range(canonical.MAX_DEPTH + 2):
        deep = [deep]
    for value, place, reason in (
        ({"a": [1, {"b": "x\0"}]}, "a.1.b", "NUL"),
        ({"a": {"b\0": 1}}, "a", "NUL"),
        ({"a": "ok", "b": ["\ud800"]}, "b.0", "surrogate"),
        ({"a": 1, "b": math.nan}, "b", "finite"),
        ("\0", "", "NUL"),
        ({"a": deep}, None, "levels"),
    ):
        found = canonical.fault(value)
        assert found is not None and reason in str(found[1])
        assert place is None or found[0] == place
    assert canonical.fault({"a": ["\U0001f600", None, 1.5]}) is None
