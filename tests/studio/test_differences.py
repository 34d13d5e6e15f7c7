"""The comparison of two versions, without a page around it."""

from __future__ import annotations

import json
from typing import Any

from editor_client.shared import canonical
from hypothesis import given
from hypothesis import strategies as st

from studio.diff.fields import JsonChange, json_changes
from studio.diff.texts import (
    Cell,
    DiffRow,
    Op,
    Pair,
    Section,
    common_runs,
    rows,
    sections,
    side_by_side,
    spans,
)
from studio.limits import PageBudget
from studio.templatetags.diff import mark_spans
from tests.support.configurations import texts

few_words = st.lists(st.sampled_from(["be", "kind", " ", "\n", ".", "你", "ß"]), max_size=40).map("".join)
prose = few_words | texts


def put_together(before: str, after: str) -> tuple[str, str]:
    """Return both versions, reassembled from the spans of their comparison."""
    pieces = spans(before, after, PageBudget())
    return (
        "".join(piece.text for piece in pieces if piece.op is not Op.ADDED),
        "".join(piece.text for piece in pieces if piece.op is not Op.REMOVED),
    )


def as_text(before: str, after: str) -> str:
    """Return the comparison as text: [-removed-] and {+added+}."""
    marks = {Op.SAME: "{}", Op.REMOVED: "[-{}-]", Op.ADDED: "{{+{}+}}"}
    return "".join(marks[piece.op].format(piece.text) for piece in spans(before, after, PageBudget()))


def lines_of(before: str, after: str) -> list[DiffRow]:
    return list(rows(spans(before, after, PageBudget())))


def written(row: DiffRow) -> str:
    return "".join(piece.text for piece in row.spans)


def rows_in(found: list[Section]) -> list[DiffRow]:
    return [row for section in found for row in section.rows]


# Text


def test_invisible_characters_have_a_mark_with_their_number() -> None:
    html = mark_spans(spans("Be kind.", "Be kind.\u200b\U000e0052 ❤️<b>", PageBudget()))
    assert html.count('<span class="invisible"') == 2
    assert ">U+200B<" in html and ">U+E0052<" in html and "❤️&lt;b&gt;" in html
    assert "\u200b" not in html


@given(prose, prose)
def test_a_comparison_holds_both_texts_completely(before: str, after: str) -> None:
    assert put_together(before, after) == (before, after)


@given(prose, prose)
def test_the_lines_hold_every_piece_and_number_both_versions(before: str, after: str) -> None:
    found = lines_of(before, after)
    pieces = [piece for row in found for piece in row.spans]
    assert "".join(p.text for p in pieces if p.op is not Op.ADDED) == before.replace("\n", "")
    assert "".join(p.text for p in pieces if p.op is not Op.REMOVED) == after.replace("\n", "")
    assert sum(row.ends in {Op.SAME, Op.REMOVED} for row in found) == before.count("\n")
    assert sum(row.ends in {Op.SAME, Op.ADDED} for row in found) == after.count("\n")


@given(prose, prose)
def test_sections_hold_every_line_once_and_fold_only_unchanged_lines(before: str, after: str) -> None:
    lines = lines_of(before, after)
    place = 0
    for section in sections(spans(before, after, PageBudget()), PageBudget(), context=1):
        if section.folded:
            folded = lines[place : place + section.folded]
            assert {row.op for row in folded} == {Op.SAME}
            assert section.text.removesuffix("\n").split("\n") == [written(row) for row in folded]
        else:
            assert section.rows == tuple(lines[place : place + len(section.rows)])
        place += section.folded or len(section.rows)
    assert place == len(lines)


@given(prose, prose, st.integers(1, 40))
def test_lines_that_do_not_fit_on_a_page_are_counted(before: str, after: str, characters: int) -> None:
    pieces = spans(before, after, PageBudget())
    budget, whole = PageBudget(characters=characters), sections(pieces, PageBudget())
    shown = sections(pieces, budget)
    assert budget.left_out or rows_in(shown) == rows_in(whole)
    assert sum(len(written(row)) for row in rows_in(shown)) <= characters


def pairs_of(before: str, after: str) -> list[Pair]:
    return list(side_by_side(lines_of(before, after)))


def text_of(cells: list[Cell | None]) -> str:
    return "\n".join("".join(span.text for span in cell.spans) for cell in cells if cell is not None)


@given(prose, prose)
def test_side_by_side_each_side_is_its_text_line_by_line(before: str, after: str) -> None:
    pairs = pairs_of(before, after)
    sides = ([pair.before for pair in pairs], [pair.after for pair in pairs])
    for text, cells, other in zip((before, after), sides, (Op.ADDED, Op.REMOVED), strict=True):
        assert text_of(cells) == text.removesuffix("\n")
        lines = [cell for cell in cells if cell is not None]
        assert [cell.number for cell in lines] == list(range(1, len(lines) + 1))
        assert other not in {span.op for cell in lines for span in cell.spans}
    assert all(pair.before or pair.after for pair in pairs)


def test_side_by_side_a_line_that_was_split_is_changed_on_both_sides() -> None:
    *_, last = pairs_of(".be", ".\nbe")
    assert (text_of([last.before]), text_of([last.after])) == (".be", "be")
    assert last.before and last.after and last.before.op is last.after.op is Op.CHANGED


def test_side_by_side_a_changed_line_is_next_to_its_new_text() -> None:
    found = [
        (text_of([pair.before]), text_of([pair.after]))
        for pair in pairs_of(
            "Hello.\nBe brief.\nGone.\nBe kind.\nEnd", "Hello.\nBe brief.\nBe very kind.\nNew\nEnd"
        )
    ]
    assert found == [
        ("Hello.", "Hello."),
        ("Be brief.", "Be brief."),
        ("Gone.", ""),
        ("Be kind.", "Be very kind."),
        ("", "New"),
        ("End", "End"),
    ]


def test_text_is_compared_by_word() -> None:
    for before, after, expected in [
        ("Write coldly.", "Write warmly.", "Write [-coldly-]{+warmly+}."),
        ("the cat sat", "a dog sat", "[-the cat-]{+a dog+} sat"),
        ("0.5 of 1,000", "0.7 of 1,000", "[-0.5-]{+0.7+} of 1,000"),
        ("one two three", "one three", "one [-two -]three"),
        ("a\nb\nc\n", "a\nc\n", "a\n[-b\n-]c\n"),
        ("", "new", "{+new+}"),
        ("Nothing alike here", "Completely other words", "[-Nothing alike here-]{+Completely other words+}"),
        ("你好世界", "你们世界", "你[-好-]{+们+}世界"),
        ("<b>x y z", "<i>x y z", "<[-b-]{+i+}>x y z"),
    ]:
        assert as_text(before, after) == expected


def test_two_joined_lines_show_the_removed_break() -> None:
    first, second = lines_of("be kind\nand brief", "be kind and brief")
    assert first.shows_break and not second.shows_break


def test_only_lines_near_a_change_are_unfolded() -> None:
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "line fifty", *old[51:]]
    folded = sections(spans("\n".join(old), "\n".join(new), PageBudget()), PageBudget(), context=2)
    assert [(section.folded, len(section.rows)) for section in folded] == [(48, 0), (0, 5), (47, 0)]
    assert folded[0].text.startswith("line 0\nline 1\n")


def test_too_much_to_compare_by_word_is_replaced_as_a_whole() -> None:
    before, after = ("x " * 300_000, "y " * 300_000)
    assert [piece.op for piece in spans(before, after, PageBudget())] == [Op.REMOVED, Op.ADDED]


# Alignment


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_runs_are_equal_in_both_and_in_order(before: list[str], after: list[str]) -> None:
    i = j = 0
    for run in common_runs(before, after, PageBudget()):
        assert run.length > 0 and run.before >= i and run.after >= j
        i, j = run.before + run.length, run.after + run.length
        assert before[run.before : i] == after[run.after : j]
    assert i <= len(before) and j <= len(after)


# JSON


def patched(value: Any, found: list[JsonChange]) -> Any:
    """Return the value with changes of members applied to it."""
    patched_value = json.loads(json.dumps(value))
    for change in found:
        if not change.path:
            return change.after
        holder = patched_value
        for key in change.path[:-1]:
            holder = holder[key]
        if change.op is Op.REMOVED:
            del holder[change.path[-1]]
        else:
            holder[change.path[-1]] = change.after
    return patched_value


members = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(members, members)
def test_applying_the_changes_to_one_object_gives_the_other(before: Any, after: Any) -> None:
    assert canonical.same(patched(before, json_changes(before, after, PageBudget())), after)


def test_json_is_compared_by_member_and_item() -> None:
    for before, after, expected in [
        ({"a": 1}, {"a": True}, [(("a",), "changed", 1, True)]),
        ({"a": 1}, {}, [(("a",), "removed", 1, None)]),
        ({}, {"a": {"b": 1}}, [(("a",), "added", None, {"b": 1})]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [(("a", "c"), "changed", 2, 3)]),
        ([1, 2, 3], [1, 3], [(("2",), "removed", 2, None)]),
        (["a"], ["b", "a"], [(("1",), "added", None, "b")]),
        ([{"x": 1}, {"y": 2}], [{"y": 2}, {"x": 1}], [(("2",), "moved", 1, {"x": 1})]),
        (
            [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}],
            [{"type": "text", "content": "a"}, {"type": "text", "content": "c"}],
            [(("2", "content"), "changed", "b", "c")],
        ),
        (
            [{"type": "text", "content": "a"}],
            [{"type": "prompt_block_ref", "id": "a"}],
            [
                (("1",), "removed", {"type": "text", "content": "a"}, None),
                (("1",), "added", None, {"type": "prompt_block_ref", "id": "a"}),
            ],
        ),
        ("text", ["text"], [((), "changed", "text", ["text"])]),
    ]:
        found = json_changes(before, after, PageBudget())
        assert [(change.path, change.op.value, change.before, change.after) for change in found] == expected
