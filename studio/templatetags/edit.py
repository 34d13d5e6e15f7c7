"""Filters and tags for the templates of the edit page and of the page for viewers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from django import template
from django.template.loader import render_to_string
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from editor_client.shared.instructions import split

from studio.field_words import ROWS
from studio.forms.fields import control_of_text
from studio.forms.inputs import Input
from studio.forms.rules import in_words, sentence
from studio.panels import Panel
from versioning.domain.texts import script_pattern

MAX_PIECES: Final = 4_000
"""The maximum number of placeholders and texts between them that are marked on a page."""

register = template.Library()


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    """Return the member of a mapping under a key that only the page knows, or None."""
    return mapping.get(key)


@register.filter
def child(control: Input, name: str) -> Input:
    """Return the control below another under a name that only the page knows."""
    return control.child(name)


@register.filter
def with_placeholders(text: str) -> SafeString:
    pieces = split(text)
    marked = [
        format_html('<bdi class="prompt-variable" dir="ltr">{}</bdi>', piece)
        if is_placeholder
        else escape(piece)
        for piece, is_placeholder in islice(pieces, MAX_PIECES)
    ]
    rest = escape("".join(piece for piece, is_placeholder in pieces))
    return format_html_join("", "{}", ((piece,) for piece in (*marked, rest)))


@register.inclusion_tag("studio/editing/marked.html", takes_context=True)
def marked_words(context: template.Context, field: str) -> dict[str, Any]:
    """Return the words in a field to which other applications' panels refer, each with its control."""
    offered: Iterable[Panel] = context.get("panels") or ()
    marks = [mark for panel in offered if panel.field == field for mark in panel.marks]
    return {"name": field, "marks": [(control_of_text(mark.path), mark) for mark in marks]}


@register.simple_tag
def row_buttons(row_type: str, *, moves: bool) -> str:
    """Return the buttons of a row of this type, which are the same in each."""
    return _row_buttons(row_type, moves, get_language())


@lru_cache(maxsize=256)
def _row_buttons(row_type: str, moves: bool, _language: str | None) -> str:  # noqa: FBT001  a cache key
    context = {"what": row_type, "words": ROWS[row_type], "moves": moves}
    return render_to_string("studio/editing/row_buttons.html", context)


@register.simple_tag
def conditions(rules: dict[str, Any] | None, effect: str = "shown") -> str:
    """Return the sentence when something is `shown`, `used` or `offered`; empty if always."""
    return sentence(rules, effect) if in_words(rules) else ""


@register.simple_tag
def invisible_pattern() -> str:
    """Return the invisible characters, for the script that finds them in pasted text."""
    return script_pattern()
