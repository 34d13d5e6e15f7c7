"""The lines of a difference as HTML, built without templates, which take seconds for thousands of lines."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.diff.texts import Cell, DiffRow, Op, Section, Span, side_by_side
from versioning.domain.texts import code_point, invisible_runs

register = template.Library()

_ELEMENTS = {Op.REMOVED: "del", Op.ADDED: "ins"}
_NOTHING = '<td class="diff-no"></td><td class="diff-nothing"></td>'


@register.simple_tag
def lines(section: Section) -> SafeString:
    """Return a section as one text; removed and added text is also marked for screen readers."""
    if section.folded:
        return SafeString(_fold(section, 1))  # every piece of text is escaped below
    return SafeString("".join(map(_row, section.rows)))


@register.simple_tag
def sides(sections: Iterable[Section]) -> SafeString:
    """Return sections as rows of a table: the number and the text of each line before, then after."""
    rows = []
    for section in sections:
        if section.folded:
            rows.append(f'<tr><td class="diff-across" colspan="4">{_fold(section, 2)}</td></tr>')
        for pair in side_by_side(section.rows, section.before, section.after):
            before = _cell(pair.before, Op.REMOVED, pair.after)
            after = _cell(pair.after, Op.ADDED, pair.before)
            rows.append(f"<tr>{before}{after}</tr>")
    return SafeString("".join(rows))


def _row(row: DiffRow) -> str:
    mark = _break(row.ends) if row.shows_break and row.ends else ""
    number = "" if row.after is None else row.after
    return (
        f'<div class="diff-row diff-{row.op.value}">'
        f'<span class="diff-no" aria-hidden="true">{number}</span>'
        f'<span class="diff-text">{mark_spans(row.spans)}{mark}</span></div>'
    )


def _cell(cell: Cell | None, own: Op, other: Cell | None) -> str:
    if cell is None:
        return _NOTHING
    mark = _break(own) if cell.shows_break else ""
    tint = "same" if cell.op is Op.SAME and other is not None else own.value
    return (
        f'<td class="diff-no" aria-hidden="true">{cell.number}</td>'
        f'<td class="diff-text diff-{tint}">{mark_spans(cell.spans)}{mark}</td>'
    )


def _fold(section: Section, copies: int) -> str:
    """Return folded lines behind a count; side by side they occur twice, once for screen readers."""
    if not section.text:
        words = ngettext("%(count)s unchanged line", "%(count)s unchanged lines", section.folded)
        return f'<p class="diff-none">{words % {"count": section.folded}}</p>'
    show = ngettext("Show %(count)s unchanged line", "Show %(count)s unchanged lines", section.folded)
    hide = ngettext("Hide %(count)s unchanged line", "Hide %(count)s unchanged lines", section.folded)
    # A browser drops a line break at the beginning of a `pre`: this one, and none of the text.
    count, text = {"count": section.folded}, f"\n{escape_text(section.text)}"
    again = f'<pre aria-hidden="true" data-line="{section.after}">{text}</pre>' * (copies - 1)
    return (
        f'<details class="diff-fold"><summary><span class="when-closed">{show % count}</span>'
        f'<span class="when-open">{hide % count}</span></summary>'
        f'<div class="diff-folded"><pre data-line="{section.after}">{text}</pre>{again}</div></details>'
    )


def _break(op: Op) -> str:
    title = _("This line break is gone") if op is Op.REMOVED else _("This line break is new")
    element = _ELEMENTS[op]
    return f'<{element} title="{escape(title)}">↵</{element}>'


def mark_spans(spans: Iterable[Span]) -> SafeString:
    pieces = []
    for span in spans:
        element, text = _ELEMENTS.get(span.op), escape_text(span.text)
        pieces.append(f"<{element}>{text}</{element}>" if element else text)
    return SafeString("".join(pieces))


def escape_text(text: str) -> str:
    """Return a text as HTML, with a mark in place of each invisible character."""
    pieces, end = [], 0
    for run in invisible_runs(text):
        pieces.append(escape(text[end : run.position]))
        for character in run.text:
            title = escape(_("Invisible character"))
            pieces.append(f'<span class="invisible" title="{title}">{code_point(character)}</span>')
        end = run.position + len(run.text)
    return "".join([*pieces, escape(text[end:])])
