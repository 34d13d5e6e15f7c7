"""Texts and JSON values from models and tools, made storable and sendable."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from editor_client.shared import canonical
from hypothesis import given
from hypothesis import strategies as st

from versioning.domain.texts import StorablePieces, storable_json, storable_text

# Often the halves of pairs, which random characters seldom are.
ODD_TEXTS = st.text(st.sampled_from("\ud83d\ude00\udcaf\x00a<") | st.characters(), max_size=8)
ODD_VALUES = st.recursive(
    ODD_TEXTS | st.floats() | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXTS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Zoë 🙂", "Zoë 🙂"),
        ("\ud83d\ude00!", "😀!"),
        ("a\ud83d", "a\ufffd"),
        ("\udcafb", "\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("Hi \x00!", "Hi \ufffd!"),
    ],
)
def test_pairs_are_put_together_and_the_rest_is_replaced(text: str, stored: str) -> None:
    assert storable_text(text) == stored


def test_numbers_that_are_no_json_become_null() -> None:
    value = {"a": [math.nan, math.inf, 1.5, 10**5000, True], "\ud83d": None}
    assert storable_json(value) == {"a": [None, None, 1.5, None, True], "\ufffd": None}


@given(ODD_VALUES)
def test_every_value_can_be_stored_and_read_again(value: Any) -> None:
    stored = storable_json(value)
    assert canonical.parse(canonical.dump(stored)) == stored
    assert storable_json(stored) == stored


@given(st.lists(ODD_TEXTS, max_size=5))
def test_pieces_of_a_text_are_what_the_whole_is(texts: list[str]) -> None:
    pieces = StorablePieces()
    parts = [*map(pieces.add, texts), pieces.end()]
    assert "".join(parts) == storable_text("".join(texts))
    json.dumps(parts, ensure_ascii=False).encode()
