"""Values as people read and write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from versioning.domain.texts import format_value, parse_value

TEXTS = [
    *("a", "true", "truth", "null", "nullable", "false", "NaN", "Infinity", "-Infinity"),
    *("1", "-1", "1.5", "1.", "1e5", "1e", "01", "-0", "0x1", "12-3", "1e999", "9f0", "0f8c"),
    *("{", "{}", "[]", "[1", '"x"', '"', "2026-11-28T00:31:05Z", "'x"),
    *("", " ", " 1", "1 ", " true", "true ", "\n{}", "1 2", "\ufeff1", "1\xa0", "1\u2028"),
]


@pytest.mark.parametrize("value", [*TEXTS, None, True, 1, 1.5, {"a": [1]}, []], ids=repr)
def test_what_is_shown_reads_as_the_same_value(value: Any) -> None:
    assert json.dumps(parse_value(format_value(value))) == json.dumps(value)


@pytest.mark.parametrize("text", ["1", "1 ", "", "{}"])
def test_a_text_that_reads_as_json_stands_in_quotation_marks(text: str) -> None:
    assert (format_value(text), format_value(f"0{text}x")) == (json.dumps(text), f"0{text}x")
