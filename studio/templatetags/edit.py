"""Filters and tags for the templates of the edit page and of the page for viewers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from django import template
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.instructions import split

from studio.forms.words import JOINED_BY, OPERATORS, ROWS, RowWords

MAX_PIECES: Final = 4_000
"""How many placeholders, and texts between them, are told apart on a page."""

register = template.Library()


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    """Return the member of a mapping under a key that only the page knows, or None."""
    return mapping.get(key)


@register.filter
def with_placeholders(text: str) -> SafeString:
    """Return a text whose placeholders are marked, as far as a page can hold so many."""
    pieces = split(text)
    marked = [
        format_html('<span class="prompt-variable">{}</span>', piece) if is_placeholder else escape(piece)
        for piece, is_placeholder in islice(pieces, MAX_PIECES)
    ]
    rest = escape("".join(piece for piece, is_placeholder in pieces))
    return format_html_join("", "{}", ((piece,) for piece in (*marked, rest)))


@register.simple_tag
def row_words(what: str) -> RowWords:
    """Return what the buttons of a row are called; `what` is the sort of row."""
    return ROWS[what]


@register.simple_tag
def conditions(rules: Mapping[str, Any] | None) -> SafeString:
    """Return when something counts, in words: a sentence, or a list of conditions with a heading."""
    if not rules or not rules["conditions"]:
        return format_html("<p>{}</p>", _("Always"))
    found = [_condition(one) for one in rules["conditions"]]
    if len(found) == 1:
        return format_html("<div>{} {}</div>", _("When"), found[0])
    items = format_html_join("", "<li>{}</li>", ([one] for one in found))
    return format_html("<p>{}</p><ul>{}</ul>", JOINED_BY[rules["operator"]], items)


def _condition(condition: Mapping[str, Any]) -> SafeString:
    if "conditions" in condition:
        return conditions(condition)
    operator = OPERATORS[condition["operator"]]
    if "value" not in condition:
        return format_html("<code>{}</code> {}", condition["field"], operator)
    return format_html(
        "<code>{}</code> {} <strong>{}</strong>", condition["field"], operator, _value(condition["value"])
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return _("“%(text)s”") % {"text": value} if isinstance(value, str) else canonical.dump(value)
