"""The lines of a difference as HTML. By hand: a template takes seconds for thousands of lines."""

from __future__ import annotations

from html import escape

from django import template
from django.utils.safestring import SafeString

from studio.diff.lines import Row, Section
from studio.diff.spans import Op, Span

register = template.Library()

_ELEMENTS = {Op.REMOVED: "del", Op.ADDED: "ins"}
_BREAKS = {
    Op.REMOVED: '<del title="This line break is gone">↵</del>',
    Op.ADDED: '<ins title="This line break is new">↵</ins>',
}


@register.simple_tag
def lines(section: Section) -> SafeString:
    """Return the rows of a section; what was removed and added is marked for screen readers too."""
    return SafeString("".join(map(_row, section.rows)))  # every piece of text is escaped below


def _row(row: Row) -> str:
    pieces = "".join(map(_piece, row.spans))
    mark = _BREAKS[row.ends] if row.shows_break and row.ends else ""
    number = "" if row.after is None else row.after
    return (
        f'<div class="diff-row diff-{row.op.value}">'
        f'<span class="diff-no" aria-hidden="true">{number}</span>'
        f'<span class="diff-text">{pieces}{mark}</span></div>'
    )


def _piece(span: Span) -> str:
    element = _ELEMENTS.get(span.op)
    text = escape(span.text)
    return f"<{element}>{text}</{element}>" if element else text
