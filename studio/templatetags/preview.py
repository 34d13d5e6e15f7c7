"""Assembled instructions and answers as HTML. By hand: a template takes seconds for thousands of pieces."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from django import template
from django.utils.safestring import SafeString
from editor_client.shared.instructions import Origin, Piece

from studio.diff.spans import Span
from studio.templatetags.diff import marked

register = template.Library()


@register.simple_tag
def pieces(found: Iterable[Piece]) -> SafeString:
    """Return the pieces of a text; those that stand for placeholders are marked, with the name as a title."""
    return SafeString("".join(map(_piece, found)))  # every piece of text is escaped below


@register.simple_tag
def answer(found: Iterable[Span]) -> SafeString:
    """Return one of two answers; what only this one has is marked, for screen readers too."""
    return marked(found)


def _piece(piece: Piece) -> str:
    text = escape(piece.text)
    if piece.origin is Origin.TEXT:
        return text
    return f'<span class="from-{piece.origin.value}" title="{escape(piece.path)}">{text}</span>'
