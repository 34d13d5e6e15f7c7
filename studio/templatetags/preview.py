"""Assembled instructions and answers as HTML, without templates, which would take seconds."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString
from editor_client.shared.instructions import Origin, Piece

from studio.diff.texts import Span
from studio.templatetags.diff import escape_text, mark_spans

register = template.Library()


@register.simple_tag
def pieces(text_pieces: Iterable[Piece]) -> SafeString:
    """Return the pieces of a text; filled-in placeholders are marked, with their name as the title."""
    html = []
    for piece in text_pieces:
        text = escape_text(piece.text)
        if piece.origin is not Origin.TEXT:
            text = f'<bdi class="from-{piece.origin.value}" title="{escape(piece.path)}">{text}</bdi>'
        html.append(text)
    return SafeString("".join(html))


@register.simple_tag
def answer(spans: Iterable[Span]) -> SafeString:
    """Return one of two answers; text only in this one is marked, also for screen readers."""
    return mark_spans(spans)
