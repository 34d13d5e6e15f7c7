"""Filters and tags for the templates of the edit page and of the page for viewers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.forms.words import JOINED_BY, OPERATORS, ROWS, RowWords

register = template.Library()


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    """Return the member of a mapping under a key that only the page knows, or None."""
    return mapping.get(key)


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
