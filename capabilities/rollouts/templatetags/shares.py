"""Template filters for shares."""

from __future__ import annotations

from django import template
from django.utils.formats import number_format

register = template.Library()


@register.filter
def in_percent(share: float) -> str:
    """Return a share from 0 to 1 in percent, with one decimal place, without the sign."""
    return number_format(round(share * 100, 1), decimal_pos=1)
