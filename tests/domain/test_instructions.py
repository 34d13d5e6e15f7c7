"""Templates and blocks: how placeholders are filled in, and how blocks form one text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from editor_client.shared.instructions import (
    BlockText,
    Origin,
    Piece,
    as_one_text,
    assemble,
    render,
    trace,
)
from hypothesis import given
from hypothesis.strategies import floats

from tests.support.configurations import FOR_GOLD, json_objects, texts
from versioning.domain.errors import Invalid

CONTEXT = {
    "name": "Ann",
    "_private": "p",
    "n1": 1,
    "empty": "",
    "nothing": None,
    "yes": True,
    "no": False,
    "zero": 0,
    "price": 1.50,
    "user": {"name": "Bob", "home": {"city": "Rome"}, "none": None},
    "tags": ["a", "ü", {"b": 1, "a": None}],
    "object": {"z": 1, "a": [True]},
    "nobody": {},
    "template": "{{ name }}",
    "quote": 'say "hi"',
}

RENDERED = {
    "plain": "plain",
    "": "",
    "{{ name }}": "Ann",
    "{{\n  name\t}}": "Ann",
    "Hi {{ name }}, {{ name }}!": "Hi Ann, Ann!",
    "{{ user.name }} in {{ user.home.city }}": "Bob in Rome",
    "{{ yes }} {{ no }} {{ zero }} {{ price }}": "true false 0 1.5",
    "{{ tags }}": '["a","ü",{"a":null,"b":1}]',
    "{{ object }}": '{"a":[true],"z":1}',
    '{{ missing || "text" }}': "text",
    "{{ missing || 'text' }}": "text",
    "{{ missing\n||\n'text'\n}}": "text",
    '{{ missing || "it\'s" }}': "it's",
    "{{ missing || 'say \"hi\"' }}": 'say "hi"',
    "{{ missing || '' }}": "",
    "{{ missing || 'a || b' }}": "a || b",
    "{{ missing || 'a }} b' }}": "a }} b",
    "{{ nothing || 'text' }}": "text",
    "{{ name.first || 'text' }}": "text",
    "{{ name || 'text' }}": "Ann",
    "{{ empty || 'text' }}": "",
    "{{ no || 'text' }}": "false",
    "{{ template }}": "{{ name }}",
    "{{ missing || '{{ name }}' }}": "{{ name }}",
    "{{{ name }}}": "{Ann}",
    "{{ {{ name }} }}": "{{ Ann }}",
    "漢 {{ name }} \U0001f600": "漢 Ann \U0001f600",
}

AS_WRITTEN = [
    "{{ missing }}",
    "{{ user.none }}",
    "{{ user.name.first }}",
    "{{ name. }}",
    "{{ user..name }}",
    "{{ }}",
    "{ name }",
    "{{ name }",
    "{{ name",
    "{{ 1name }}",
    "{{ na-me }}",
    "{{ namé }}",
    "{{ name | upper }}",
    "{{ name || text }}",
    "{{ missing || 'a' || 'b' }}",
    "{{ missing || 'open }}",
    "{{ missing || \"mixed' }}",
    "{{ missing || 'a' 'b' }}",
    "{{ user['name'] }}",
    "{{ name() }}",
    "{{ 1 + 1 }}",
    "{{ !name }}",
    "{{ name == 'Ann' }}",
    "{{ 'name' }}",
    "{{ __class__ }}",
    "{{ user.__class__.__mro__ }}",
    "{{ tags.append }}",
    "{% if name %}x{% endif %}",
    "$name %(name)s %s {name} {0} {name.__class__}",
    "\\1 \\g<path>",
]

# So long that an algorithm in quadratic time would take until tomorrow.
SIZE = 1_000_000
HOSTILE = {
    "braces alone": "{" * SIZE,
    "openings alone": "{{ " * SIZE,
    "spaces after an opening": "{{" + " " * SIZE,
    "spaces between many openings": ("{{ a" + " " * 1000) * 1000,
    "spaces before a fallback": "{{ a" + " " * SIZE + "||",
    "spaces before the end": "{{ a || 'b'" + " " * SIZE + "}",
    "dots without an end": "{{ a" + "." * SIZE,
    "many open fallbacks": "{{ a || '" * SIZE,
    "open fallbacks of both sorts": "{{ a || '{{ a || \"" * (SIZE // 2),
    "fallbacks without closing braces": "{{ a || 'b' " * SIZE,
    "a long missing path": "{{ " + "a." * SIZE + "a }}",
}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def inline(content: str, rules: Any = FOR_GOLD) -> dict[str, Any]:
    return {"type": "prompt_block", "content": content, "rules": rules}


def reference(block_id: str) -> dict[str, Any]:
    return {"type": "prompt_block_ref", "id": block_id}


def stored(content: str, **more: Any) -> BlockText:
    return BlockText(version_id=f"version of {content!r}", config={"name": "x", "content": content, **more})


# What JavaScript prints for a number of a JSON document.
PRINTED = {
    "1.0": "1",
    "-0.0": "0",
    "1E2": "100",
    "1e16": "10000000000000000",
    "0.000001": "0.000001",
    "-0.00001234": "-0.00001234",
    "1e-7": "1e-7",
    "1.5e-10": "1.5e-10",
    "1e-100": "1e-100",
    "999999999999999900000": "999999999999999900000",
    "1e21": "1e+21",
    "-1.2345e300": "-1.2345e+300",
    "0.1": "0.1",
    "9007199254740993": "9007199254740992",
    "12345678901234567890": "12345678901234567000",
    "5e-324": "5e-324",
    "true": "true",
    "7": "7",
}


def test_numbers_are_printed_as_in_javascript() -> None:
    for written, printed in PRINTED.items():
        value = json.loads(written)
        assert render("{{ v }}", {"v": value}) == printed, written
        nested = {"a 1.0": [value, {"b": value}], "c": "1.0 \\" + '"' + "1e-07"}
        expected = f'{{"a 1.0":[{printed},{{"b":{printed}}}],"c":"1.0 \\\\\\"1e-07"}}'
        assert render("{{ v }}", {"v": nested}) == expected
    too_large = 10**400
    assert render("{{ v }}", {"v": too_large}) == str(too_large)


@given(floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_is_the_same_number(number: float) -> None:
    assert float(render("{{ v }}", {"v": number})) == number


def test_a_placeholder_is_filled_in_and_other_text_stays_as_written() -> None:
    for template, expected in {**RENDERED, **dict(zip(AS_WRITTEN, AS_WRITTEN, strict=True))}.items():
        assert render(template, CONTEXT) == expected, template
        blocks = [{"type": "text", "content": template}, {"type": "prompt_block_ref", "id": "tone"}]
        found = {"tone": BlockText(version_id="v1", config={"content": template})}
        pieces, reports = trace(blocks, CONTEXT, found)
        assert ("".join(piece.text for piece in pieces), reports) == assemble(blocks, CONTEXT, found)


def test_each_piece_names_its_origin() -> None:
    blocks = [{"type": "text", "content": "Hi {{ name }}, {{ none || 'you' }} and {{ user.none }}!"}]
    pieces, _ = trace(blocks, CONTEXT, {})
    assert pieces == [
        Piece("Hi "),
        Piece("Ann", Origin.CONTEXT, "name"),
        Piece(", "),
        Piece("you", Origin.FALLBACK, "none"),
        Piece(" and "),
        Piece("{{ user.none }}", Origin.MISSING, "user.none"),
        Piece("!"),
    ]
    assert trace("{{ name }}", CONTEXT, {}) == ([Piece("{{ name }}")], [])


def test_inserted_values_are_not_treated_as_templates() -> None:
    for template in ("\\1", "\\g<path>", "\\n", "{{ name }}", "{{ name || 'x' }}", "$1"):
        context = {"name": "Ann", "value": template, "list": [template]}
        assert render("{{ value }}", context) == template
        assert template.replace("\\", "\\\\") in render("{{ list }}", context)


def test_a_hostile_text_is_rendered_in_linear_time() -> None:
    for template in HOSTILE.values():
        assert render(template, {"b": 1}) == template
        assert render("{{ value }}!", {"value": template}) == template + "!"


@given(texts, json_objects)
def test_text_without_braces_is_unchanged(template: str, context: Any) -> None:
    plain = template.replace("{", "")
    assert render(plain, context) == plain


@given(json_objects)
def test_any_context_can_be_printed(context: Any) -> None:
    printed = render("{{ it }}", {"it": context})
    assert render("{{ outer.it || 'none' }}", {"outer": {"it": context}}) == printed != "none"


def test_blocks_are_rendered_and_joined_by_a_blank_line() -> None:
    blocks = [text("Hi {{ name }}."), inline("In {{ user.home.city }}.", None), reference("tone")]
    result, reports = assemble(blocks, CONTEXT, {"tone": stored("Be {{ mood || 'kind' }}.")})
    assert result == "Hi Ann.\n\nIn Rome.\n\nBe kind."
    assert [(report.type, report.id, report.shown, report.reason) for report in reports] == [
        ("text", None, True, None),
        ("prompt_block", None, True, None),
        ("prompt_block_ref", "tone", True, None),
    ]


def test_a_report_names_the_used_version_of_a_block() -> None:
    block = stored("Be kind.")
    _, reports = assemble([text("a"), reference("tone")], {}, {"tone": block})
    assert [report.version_id for report in reports] == [None, block.version_id]
    assert [report.position for report in reports] == [0, 1]


def test_a_blank_block_leaves_no_gap() -> None:
    for blank in ("", " ", "\n\t \r\n", "{{ empty }}", "{{ missing || ' ' }}", "\u3000"):
        blocks = [text("a"), text(blank), inline(blank, None), reference("blank"), text("b")]
        result, reports = assemble(blocks, CONTEXT, {"blank": stored(blank)})
        assert result == "a\n\nb"
        assert [report.reason for report in reports] == [None, "blank", "blank", "blank", None]


def test_a_block_is_shown_when_its_rules_hold() -> None:
    for tier, result in (
        ("gold", "a\n\nb\n\nc"),
        ("silver", "a"),
        (None, "a"),
    ):
        blocks = [text("a"), inline("b"), reference("c")]
        found = {"c": stored("c", rules=FOR_GOLD)}
        shown, reports = assemble(blocks, {"tier": tier}, found)
        assert shown == result
        assert {report.reason for report in reports[1:]} == ({None} if tier == "gold" else {"rules"})


def test_a_block_that_was_not_found_is_left_out_with_the_reason() -> None:
    for reason in ("missing", "unpublished"):
        result, reports = assemble([text("a"), reference("gone"), text("b")], {}, {"gone": reason})
        assert result == "a\n\nb"
        assert [(report.id, report.reason, report.shown) for report in reports][1] == ("gone", reason, False)


def test_white_space_is_cut_at_both_ends_of_the_result_only() -> None:
    assert assemble(" {{ name }} \n", CONTEXT, {}) == ("{{ name }}", [])
    blocks = [text("  a\n\n\nb  "), text("\tc\n")]
    assert assemble(blocks, {}, {})[0] == "a\n\n\nb  \n\n\tc"
    for untrimmed in (blocks, [text("\n {{ blank }}{{ name }} {{ blank }}")]):
        context = {**CONTEXT, "blank": " \n"}
        pieces, _ = trace(untrimmed, context, {})
        assert "".join(piece.text for piece in pieces) == assemble(untrimmed, context, {})[0]


def test_blocks_are_used_as_often_as_they_are_referenced_and_are_not_nested() -> None:
    assert assemble("{{ name }}", CONTEXT, {}) == ("{{ name }}", [])  # no blocks, no template
    result, reports = assemble([reference("tone"), reference("tone")], {}, {"tone": stored("x")})
    assert (result, len(reports)) == ("x\n\nx", 2)
    _, reports = assemble([reference("gone")], {}, {"other": stored("x")})
    assert [report.reason for report in reports] == ["missing"]
    found = {"outer": stored('{"type": "prompt_block_ref", "id": "inner"}'), "inner": stored("secret")}
    result, _ = assemble([reference("outer")], {}, found)
    assert "secret" not in result


def test_many_blocks_cannot_make_endless_instructions() -> None:
    block = {"type": "text", "content": "x" * 1_000_000}
    with pytest.raises(Invalid) as refusal:
        assemble([block] * 17, {}, {})
    assert refusal.value.code == "instructions_too_long"


def test_the_length_of_a_text_is_limited() -> None:
    assert render("{{ v }}!", {"v": "1234"}, limit=5) == "1234!"
    with pytest.raises(Invalid):
        render("{{ v }}!", {"v": "12345"}, limit=5)
    with pytest.raises(Invalid) as refusal:
        render("{{ v }}" * 100_000, {"v": "x" * 100_000})
    assert refusal.value.code == "instructions_too_long"


def test_only_unconditional_blocks_can_be_converted_to_one_text() -> None:
    texts = [{"type": "text", "content": content} for content in ("a", " \n", "b")]
    assert as_one_text(texts) == "a\n\nb" == assemble(texts, {}, {})[0]
    with pytest.raises(Invalid):
        as_one_text([{"type": "prompt_block", "content": "a", "rules": FOR_GOLD}])
