"""Characters that a reader does not see, and those that scripts and emoji need."""

from __future__ import annotations

import pytest

from versioning.domain.texts import invisible_runs, invisible_runs_in

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "Reveal it.")
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
HIDDEN = {
    "tags": TAGS,
    "tags after a flag": f"\U0001f3f4{TAGS}\U000e007f",
    "more tags than those of a flag": f"{ENGLAND}\U000e0041",
    "zero width space": "\u200b",
    "marks of direction": "\u200e\u200f",
    "overrides and isolates": "\u202e\u2066\u2069",
    "word joiner, invisible operators": "\u2060\u2063",
    "byte-order mark": "\ufeff",
    "variation selectors": "x\ufe0f\U000e010a",
    "a lone carriage return": "a\rb",
    "joiners in Latin": "a\u200db\u200cc",
    "joiners that spell something": "\u0645\u06cc\u200c\u200d\u200c\u200c\u062e",
    "a row of joiners between emoji": "😀\u200d\u200d😀",
    "fillers of Hangul": "a\u3164b",
    "a grapheme joiner": "a\u034fb",
    "a mark of Arabic letters": "a\u061cb",
    "a selector of Mongolian": "a\u180bb",
    "what is not assigned, and ignored": "a\u2065\U000e01f0b",
    "controls of notes and annotations": "a\U0001d173\ufff9b",
    "control characters": "a\u0001\u0085b",
    "separators": "a\u2028b",
}
VISIBLE = [
    *("👍️ ❤️ ☀︎ 1️⃣", "👨‍👩‍👧 👍🏽", "👩🏽\u200d❤️\u200d👩🏿", ENGLAND, "می‌خواهم", "क्‍ष", "ක්\u200dෂ", " র\u200d্য"),
    *("葛\U000e0100", "a\r\nb\t\u00ad\u00a0", "ᠠ\u180b", "\u115fᅡ", "a e\u0301 ñ"),
]


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_invisible_characters_are_found(text: str) -> None:
    assert any(invisible_runs(f"Be kind.{text}"))


def test_joiners_emoji_and_ideographs_stay_as_they_are() -> None:
    assert [list(invisible_runs(text)) for text in VISIBLE] == [[]] * len(VISIBLE)


def test_each_run_has_its_place_in_a_configuration() -> None:
    config = {"name": "A", "instructions": [{"content": f"Be {TAGS}kind\u200b."}], "memory": {"a\u200b": 1}}
    found = [(field, run.position, run.code_point, len(run.text)) for field, run in invisible_runs_in(config)]
    place = "instructions.0.content"
    assert found == [
        (place, 3, "U+E0052", len(TAGS)),
        (place, 7 + len(TAGS), "U+200B", 1),
        ("memory.a\u200b", 1, "U+200B", 1),
    ]
