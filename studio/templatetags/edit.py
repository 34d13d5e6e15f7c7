"""Filters and tags for the templates of the edit page and of the page for viewers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import template
from django.utils.translation import gettext_lazy

from studio.forms.conditions import in_words
from studio.forms.words import ROWS, RowWords

register = template.Library()


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    """Return the member of a mapping under a key that only the page knows, or None."""
    return mapping.get(key)


@register.simple_tag
def row_words(what: str) -> RowWords:
    """Return what the buttons of a row are called; `what` is the sort of row."""
    return ROWS[what]


_WHEN: Final = {
    "shown": gettext_lazy("Shown when %(conditions)s."),
    "used": gettext_lazy("Used when %(conditions)s."),
    "offered": gettext_lazy("Offered when %(conditions)s."),
}


@register.simple_tag
def conditions(rules: dict[str, Any] | None, what: str = "shown") -> str:
    """Return when something is `shown`, `used` or `offered`, as a sentence; nothing where it always is."""
    words = in_words(rules)
    return _WHEN[what] % {"conditions": words} if words else ""
