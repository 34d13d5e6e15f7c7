"""Filters for the templates of the edit page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def member(mapping: Mapping[str, Any], key: str) -> Any:
    """Return the member of a mapping under a key that only the page knows, or None."""
    return mapping.get(key)
