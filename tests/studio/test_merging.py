"""Taking two edits together: every change that only one side made is in the result."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client.shared import canonical
from hypothesis import given
from hypothesis import strategies as st

from studio.diff.merging import Merge, merge
from studio.limits import PageBudget

LINES = st.lists(st.sampled_from(["Be kind.", "Be brief.", "", "Say why.", "Ask."]), max_size=8)
ORDERS = st.lists(st.sampled_from("abcdef"), unique=True)
TEXTS = LINES.map("\n".join)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "content": TEXTS}),
    st.fixed_dictionaries({"type": st.just("prompt_block_ref"), "id": st.sampled_from("abc")}),
)
VALUES = st.one_of(TEXTS, st.lists(BLOCKS, max_size=5), st.integers(0, 2), st.none())
CONFIGS = st.dictionaries(st.sampled_from(["name", "instructions", "tools", "model"]), VALUES)

TEXT = "First line.\n\nSecond line.\n\nThird line."


def merged(base: Any, ours: Any, theirs: Any) -> Merge:
    return merge(base, ours, theirs, PageBudget())


def text(base: str, ours: str, theirs: str) -> str | None:
    """Return the merged text; None if the edits overlap."""
    found = merged({"content": base}, {"content": ours}, {"content": theirs})
    assert found.overlaps in ([], ["content"])
    return None if found.overlaps else found.config["content"]


@given(CONFIGS, CONFIGS)
def test_without_a_change_of_one_side_the_result_is_the_other(base: Any, other: Any) -> None:
    for found in (merged(base, base, other), merged(base, other, base), merged(base, other, other)):
        assert canonical.same(found.config, other)
        assert found.overlaps == []


@given(CONFIGS, CONFIGS, CONFIGS)
def test_it_makes_no_difference_who_was_first(base: Any, one: Any, other: Any) -> None:
    there, back = merged(base, one, other), merged(base, other, one)
    assert sorted(there.overlaps) == sorted(back.overlaps)
    for name in {*there.config, *back.config} - {*there.overlaps}:
        assert canonical.same(there.config.get(name, "-"), back.config.get(name, "-"))


@given(CONFIGS, CONFIGS, CONFIGS)
def test_a_field_that_both_changed_in_the_same_place_keeps_something_of_ours(
    base: Any, ours: Any, theirs: Any
) -> None:
    found = merged(base, ours, theirs)
    for name in found.overlaps:
        both = (ours.get(name, "-"), theirs.get(name, "-"))
        assert not canonical.same(*both)
        assert all(not canonical.same(side, base.get(name, "-")) for side in both)


@given(ORDERS, ORDERS, ORDERS)
def test_no_line_comes_from_nowhere_is_lost_or_repeated(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    found = text(*("\n".join(side) for side in (base, ours, theirs)))
    if found is not None:
        lines = found.split("\n")
        assert {*lines} <= {*ours, *theirs, ""}
        assert {*base} & {*ours} & {*theirs} <= {*lines}
        assert len(lines) == len({*lines})


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ("First LINE.\n\nSecond line.\n\nThird line.", f"{TEXT}\nFourth.", None),
        (f"Zeroth.\n{TEXT}", f"{TEXT}\nFourth.", f"Zeroth.\n{TEXT}\nFourth."),
        (TEXT.replace("Second line.\n\n", ""), f"{TEXT}\nFourth.", "First line.\n\nThird line.\nFourth."),
        (TEXT.replace("Second", "2nd"), TEXT.replace("Second", "Zwoter"), "overlap"),
        (TEXT.replace("Second", "2nd"), TEXT.replace("Second line.\n\n", ""), "overlap"),
        (f"{TEXT}\nMine.", f"{TEXT}\nTheirs.", "overlap"),
        (f"{TEXT}\nThe same.", f"{TEXT}\nThe same.", f"{TEXT}\nThe same."),
    ],
)
def test_texts_are_merged_by_lines(ours: str, theirs: str, both: str | None) -> None:
    if both is None:
        both = "First LINE.\n\nSecond line.\n\nThird line.\nFourth."
    assert text(TEXT, ours, theirs) == (None if both == "overlap" else both)


LINE = "You help customers. Answer within 30 days, and be kind. Never promise refunds."


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        # One line, as most prompts are: different words, also of one sentence.
        (("help", "assist"), ("Never", "Do not"), LINE.replace("help", "assist").replace("Never", "Do not")),
        (
            ("Answer", "Reply"),
            ("kind", "very kind"),
            LINE.replace("Answer", "Reply").replace("kind", "very kind"),
        ),
        (("You", "Please, you"), ("refunds.", "refunds. Thank them."), f"Please, you{LINE[3:]} Thank them."),
        ((LINE[20:56], ""), ("help", "assist"), "You assist customers. Never promise refunds."),
        # Neighbours are one place: nobody wrote "14 weeks".
        (("30", "14"), ("days", "weeks"), None),
        (("kind", "brief"), ("kind", "very kind"), None),
        ((LINE[20:56], ""), ("30", "14"), None),
        (("customers", "guests"), ("You help customers. ", "You help people.\n"), None),
    ],
)
def test_lines_that_both_changed_are_merged_by_word(
    ours: tuple[str, str], theirs: tuple[str, str], both: str | None
) -> None:
    assert text(LINE, LINE.replace(*ours), LINE.replace(*theirs)) == both
    assert text(LINE, LINE.replace(*theirs), LINE.replace(*ours)) == both


def test_where_words_clash_the_sentence_is_ours_and_the_rest_of_both() -> None:
    ours = LINE.replace("30", "14").replace("help", "assist")
    theirs = LINE.replace("30", "60").replace("kind", "brief").replace("Never", "Do not")
    found = merged({"content": LINE}, {"content": ours}, {"content": theirs})
    assert found.overlaps == ["content"]
    expected = ours.replace("Never", "Do not")
    assert found.config["content"] == expected
    [clash] = found.clashes
    assert clash.ours == "Answer within 14 days, and be kind."
    assert clash.theirs == "Answer within 60 days, and be brief."


def test_a_paragraph_and_a_word_of_the_only_line_are_both_taken() -> None:
    longer = f"{LINE}\n\nThank them."
    assert text(LINE, longer, LINE.replace("kind", "brief")) == longer.replace("kind", "brief")


def test_blocks_are_merged_by_entry_and_their_texts_by_line() -> None:
    first, second, third = ({"type": "text", "content": f"Block {name}."} for name in "abc")
    shared = {"type": "prompt_block_ref", "id": "manners"}
    second = {**second, "content": TEXT}
    ours = [first, {**second, "content": TEXT.replace("First", "1st")}, third]
    theirs = [shared, first, {**second, "content": TEXT.replace("Third", "3rd")}, third, shared]
    found = merged(
        *({"instructions": side} for side in ([first, second, third], ours, theirs)),
    )
    text = TEXT.replace("First", "1st").replace("Third", "3rd")
    assert found.config["instructions"] == [shared, first, {**second, "content": text}, third, shared]
    assert found.overlaps == []


def test_entries_with_ids_are_the_same_entries_whatever_else_they_hold() -> None:
    base = [{"id": "a", "n": 1, "m": 1}, {"id": "b", "n": 1}]
    ours = [{"id": "a", "n": 2, "m": 1}, {"id": "b", "n": 1}, {"id": "c"}]
    theirs = [{"id": "z"}, {"id": "a", "n": 1, "m": 2}, {"id": "b", "n": 1}]
    found = merged(*({"memory": side} for side in (base, ours, theirs)))
    both = [{"id": "z"}, {"id": "a", "n": 2, "m": 2}, {"id": "b", "n": 1}, {"id": "c"}]
    assert (found.config, found.overlaps) == ({"memory": both}, [])


def test_tools_are_merged_by_name_and_conditions_and_models_are_not_divided() -> None:
    base = {"tools": {"search": {}}, "model": {"provider": "a", "name": "x"}}
    ours = {"tools": {"search": {"description": "Mine"}, "add": {}}, "model": {"provider": "b", "name": "x"}}
    theirs = {"tools": {"mail": {}, "search": {}}, "model": {"provider": "a", "name": "y"}}
    found = merged(base, ours, theirs)
    assert found.config["tools"] == {"search": {"description": "Mine"}, "add": {}, "mail": {}}
    assert (found.config["model"], found.overlaps) == (ours["model"], ["model"])
    for_gold = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}
    rules = [{**for_gold, "operator": "OR"}, {**for_gold, "conditions": []}]
    found = merged(*({"rules": one} for one in (for_gold, *rules)))
    assert found.overlaps == ["rules"]


def test_an_entry_that_both_moved_is_not_there_twice() -> None:
    entries = [{"type": "text", "content": name} for name in "abcde"]
    first, *rest = entries
    ours, theirs = [*rest, first], [*rest[:2], first, *rest[2:]]
    found = merged(*({"instructions": side} for side in (entries, ours, theirs)))
    assert (found.config["instructions"], found.overlaps) == (ours, ["instructions"])


def test_what_takes_too_long_to_align_counts_as_an_overlap() -> None:
    base = [f"{place}" for place in range(1000)]
    ours, theirs = ["x", *base[1:500], "y", *base[501:]], [*base[:250], "z", *base[251:]]
    sides = [{"content": "\n".join(side)} for side in (base, ours, theirs)]
    assert merge(*sides, PageBudget()).overlaps == []
    assert merge(*sides, PageBudget(steps=10)).overlaps == ["content"]
