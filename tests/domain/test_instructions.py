"""Templates and blocks: what the placeholders become, and how blocks make one text."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client.shared.instructions import (
    BlockText,
    Origin,
    Piece,
    as_one_text,
    assemble,
    render,
    traced,
)
from hypothesis import given

from tests.support.configurations import FOR_GOLD, json_objects, texts, unhurried
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
    "{{name}}": "Ann",
    "{{\n  name\t}}": "Ann",
    "Hi {{ name }}, {{ name }}!": "Hi Ann, Ann!",
    "{{ name }}{{ n1 }}": "Ann1",
    "{{ _private }}": "p",
    "{{ user.name }} in {{ user.home.city }}": "Bob in Rome",
    "{{ empty }}": "",
    "{{ yes }} {{ no }} {{ zero }} {{ price }}": "true false 0 1.5",
    "{{ tags }}": '["a","ü",{"a":null,"b":1}]',
    "{{ object }}": '{"a":[true],"z":1}',
    "{{ nobody }}": "{}",
    "{{ quote }}": 'say "hi"',
    '{{ missing || "text" }}': "text",
    "{{ missing || 'text' }}": "text",
    "{{missing||'text'}}": "text",
    "{{ missing\n||\n'text'\n}}": "text",
    '{{ missing || "it\'s" }}': "it's",
    "{{ missing || 'say \"hi\"' }}": 'say "hi"',
    '{{ missing || "" }}': "",
    "{{ missing || '' }}": "",
    "{{ missing || 'a || b' }}": "a || b",
    "{{ missing || 'a }} b' }}": "a }} b",
    "{{ missing || 'two\nlines' }}": "two\nlines",
    "{{ nothing || 'text' }}": "text",
    "{{ user.none || 'text' }}": "text",
    "{{ user.age || 'text' }}": "text",
    "{{ name.first || 'text' }}": "text",
    "{{ name || 'text' }}": "Ann",
    "{{ empty || 'text' }}": "",
    "{{ no || 'text' }}": "false",
    "{{ zero || 'text' }}": "0",
    "{{ nobody || 'text' }}": "{}",
    "{{ template }}": "{{ name }}",
    "{{ missing || '{{ name }}' }}": "{{ name }}",
    "{{{ name }}}": "{Ann}",
    "{{ {{ name }} }}": "{{ Ann }}",
    "漢 {{ name }} \U0001f600": "漢 Ann \U0001f600",
}

AS_WRITTEN = [
    "{{ missing }}",
    "{{missing}}",
    "{{ nothing }}",
    "{{ user.none }}",
    "{{ user.name.first }}",
    "{{ name. }}",
    "{{ .name }}",
    "{{ user..name }}",
    "{{ }}",
    "{{}}",
    "{ name }",
    "{{ name }",
    "{ name }}",
    "{{ name",
    "{{ 1name }}",
    "{{ na-me }}",
    "{{ na me }}",
    "{{ namé }}",
    "{{ name | upper }}",
    "{{ name || text }}",
    "{{ name || }}",
    "{{ name || n1 }}",
    "{{ missing || 'a' || 'b' }}",
    "{{ missing || 'open }}",
    "{{ missing || \"mixed' }}",
    "{{ missing || `text` }}",
    "{{ missing || 'a' 'b' }}",
    "{{ user['name'] }}",
    "{{ user[name] }}",
    "{{ name() }}",
    "{{ name.upper() }}",
    "{{ 1 + 1 }}",
    "{{ n1 + 1 }}",
    "{{ !name }}",
    "{{ name == 'Ann' }}",
    "{{ name ? 'a' : 'b' }}",
    "{{ 'name' }}",
    "{{ __class__ }}",
    "{{ name.__class__ }}",
    "{{ user.__class__.__mro__ }}",
    "{{ user.items }}",
    "{{ tags.append }}",
    "{{ tags.length }}",
    "{{ name.__len__ }}",
    "{% if name %}x{% endif %}",
    "{# name #}",
    "${name}",
    "$name %(name)s %s {name} {0} {name.__class__}",
    "<%= name %>",
    "\\1 \\g<path>",
]

# Enough that whatever reads it a quadratic number of times is still at it tomorrow.
SIZE = 1_000_000
HOSTILE = {
    "braces alone": "{" * SIZE,
    "openings alone": "{{ " * SIZE,
    "spaces after an opening": "{{" + " " * SIZE,
    "spaces after every path": "{{ a" + " " * SIZE + "{{ a" + " " * SIZE,
    "spaces between many openings": ("{{ a" + " " * 1000) * 1000,
    "spaces before a fallback": "{{ a" + " " * SIZE + "||",
    "spaces after the bars": "{{ a ||" + " " * SIZE,
    "spaces before the end": "{{ a || 'b'" + " " * SIZE + "}",
    "a path without an end": "{{ " + "a" * SIZE,
    "dots without an end": "{{ a" + "." * SIZE,
    "many paths without an end": "{{a" * SIZE,
    "many open fallbacks": "{{ a || '" * SIZE,
    "open fallbacks of both sorts": "{{ a || '{{ a || \"" * (SIZE // 2),
    "one open fallback": "{{ a || '" + "b" * SIZE,
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


@pytest.mark.parametrize(("template", "expected"), RENDERED.items())
def test_a_placeholder_is_filled_in(template: str, expected: str) -> None:
    assert render(template, CONTEXT) == expected


@pytest.mark.parametrize("template", [*RENDERED, *AS_WRITTEN])
def test_the_pieces_of_a_text_are_the_text(template: str) -> None:
    blocks = [{"type": "text", "content": template}, {"type": "prompt_block_ref", "id": "tone"}]
    found = {"tone": BlockText(version_id="v1", config={"content": template})}
    pieces, reports = traced(blocks, CONTEXT, found)
    assert ("".join(piece.text for piece in pieces), reports) == assemble(blocks, CONTEXT, found)


def test_each_piece_says_where_it_comes_from() -> None:
    blocks = [{"type": "text", "content": "Hi {{ name }}, {{ none || 'you' }} and {{ user.none }}!"}]
    pieces, _ = traced(blocks, CONTEXT, {})
    assert pieces == [
        Piece("Hi "),
        Piece("Ann", Origin.CONTEXT, "name"),
        Piece(", "),
        Piece("you", Origin.FALLBACK, "none"),
        Piece(" and "),
        Piece("{{ user.none }}", Origin.MISSING, "user.none"),
        Piece("!"),
    ]
    assert traced("{{ name }}", CONTEXT, {}) == ([Piece("{{ name }}")], [])


@pytest.mark.parametrize("template", AS_WRITTEN)
def test_whatever_is_no_placeholder_with_a_value_stays_as_written(template: str) -> None:
    assert render(template, CONTEXT) == template


@pytest.mark.parametrize("template", ["\\1", "\\g<path>", "\\n", "{{ name }}", "{{ name || 'x' }}", "$1"])
def test_what_is_filled_in_is_never_read_again(template: str) -> None:
    context = {"name": "Ann", "value": template, "list": [template]}
    assert render("{{ value }}", context) == template
    assert template.replace("\\", "\\\\") in render("{{ list }}", context)


@pytest.mark.parametrize("template", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_no_more_than_its_length(template: str) -> None:
    assert render(template, {"b": 1}) == template


@pytest.mark.parametrize("template", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_stays_whole_inside_a_value(template: str) -> None:
    assert render("{{ value }}!", {"value": template}) == template + "!"


@given(texts, json_objects)
@unhurried
def test_text_without_braces_stays_as_it_is(template: str, context: Any) -> None:
    plain = template.replace("{", "")
    assert render(plain, context) == plain


@given(json_objects)
@unhurried
def test_any_context_can_be_printed(context: Any) -> None:
    printed = render("{{ it }}", {"it": context})
    assert render("{{ outer.it || 'none' }}", {"outer": {"it": context}}) == printed != "none"


def test_instructions_that_are_a_text_are_no_template() -> None:
    assert assemble(" {{ name }} \n", CONTEXT, {}) == (" {{ name }} \n", [])


def test_blocks_are_rendered_and_joined_by_a_blank_line() -> None:
    blocks = [text("Hi {{ name }}."), inline("In {{ user.home.city }}.", None), reference("tone")]
    result, reports = assemble(blocks, CONTEXT, {"tone": stored("Be {{ mood || 'kind' }}.")})
    assert result == "Hi Ann.\n\nIn Rome.\n\nBe kind."
    assert [(report.type, report.id, report.shown, report.reason) for report in reports] == [
        ("text", None, True, None),
        ("prompt_block", None, True, None),
        ("prompt_block_ref", "tone", True, None),
    ]


def test_a_report_says_which_version_of_a_block_was_used() -> None:
    block = stored("Be kind.")
    _, reports = assemble([text("a"), reference("tone")], {}, {"tone": block})
    assert [report.version_id for report in reports] == [None, block.version_id]
    assert [report.position for report in reports] == [0, 1]


def test_what_blocks_hold_between_the_blank_lines_is_untouched() -> None:
    result, _ = assemble([text("  a\n\n\nb  "), text("\tc")], {}, {})
    assert result == "  a\n\n\nb  \n\n\tc"


@pytest.mark.parametrize("blank", ["", " ", "\n\t \r\n", "{{ empty }}", "{{ missing || ' ' }}", "\u3000"])
def test_a_block_that_is_blank_leaves_no_gap(blank: str) -> None:
    blocks = [text("a"), text(blank), inline(blank, None), reference("blank"), text("b")]
    result, reports = assemble(blocks, CONTEXT, {"blank": stored(blank)})
    assert result == "a\n\nb"
    assert [report.reason for report in reports] == [None, "blank", "blank", "blank", None]


def test_nothing_but_blank_blocks_make_an_empty_text() -> None:
    result, reports = assemble([text(" "), reference("gone")], {}, {})
    assert result == ""
    assert not any(report.shown for report in reports)


@pytest.mark.parametrize(("tier", "result"), [("gold", "a\n\nb\n\nc"), ("silver", "a"), (None, "a")])
def test_a_block_is_shown_when_its_rules_hold(tier: str | None, result: str) -> None:
    blocks = [text("a"), inline("b"), reference("c")]
    found = {"c": stored("c", rules=FOR_GOLD)}
    shown, reports = assemble(blocks, {"tier": tier}, found)
    assert shown == result
    assert {report.reason for report in reports[1:]} == ({None} if tier == "gold" else {"rules"})


@pytest.mark.parametrize("reason", ["missing", "unpublished"])
def test_a_block_that_was_not_found_is_left_out_with_the_reason(reason: str) -> None:
    result, reports = assemble([text("a"), reference("gone"), text("b")], {}, {"gone": reason})
    assert result == "a\n\nb"
    assert [(report.id, report.reason, report.shown) for report in reports][1] == ("gone", reason, False)


def test_a_block_that_nobody_looked_for_is_missing() -> None:
    _, reports = assemble([reference("gone")], {}, {"other": stored("x")})
    assert [report.reason for report in reports] == ["missing"]


def test_a_block_named_twice_is_used_twice() -> None:
    result, reports = assemble([reference("tone"), reference("tone")], {}, {"tone": stored("x")})
    assert (result, len(reports)) == ("x\n\nx", 2)


def test_a_block_does_not_bring_in_another() -> None:
    found = {"outer": stored('{"type": "prompt_block_ref", "id": "inner"}'), "inner": stored("secret")}
    result, _ = assemble([reference("outer")], {}, found)
    assert "secret" not in result


def test_a_small_template_cannot_fill_the_memory() -> None:
    with pytest.raises(Invalid) as refusal:
        render("{{ v }}" * 100_000, {"v": "x" * 100_000})
    assert refusal.value.code == "instructions_too_long"


def test_many_blocks_cannot_make_endless_instructions() -> None:
    block = {"type": "text", "content": "x" * 1_000_000}
    with pytest.raises(Invalid) as refusal:
        assemble([block] * 17, {}, {})
    assert refusal.value.code == "instructions_too_long"


def test_a_text_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert render("{{ v }}!", {"v": "1234"}, limit=5) == "1234!"
    with pytest.raises(Invalid):
        render("{{ v }}!", {"v": "12345"}, limit=5)


def test_blocks_are_one_text_but_for_those_that_are_left_out_or_depend_on_the_context() -> None:
    texts = [{"type": "text", "content": content} for content in ("a", " \n", "b")]
    assert as_one_text(texts) == "a\n\nb" == assemble(texts, {}, {})[0]
    with pytest.raises(Invalid):
        as_one_text([{"type": "prompt_block", "content": "a", "rules": FOR_GOLD}])
