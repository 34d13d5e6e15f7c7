"""Estimated costs in words, in one form on every page."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django.utils.formats import number_format
from django.utils.translation import gettext as _

_CENT: Final = Decimal("0.01")
_LEAST: Final = Decimal("0.000001")


def in_dollars(cost: Decimal | None) -> str:
    """Return an estimated cost as `$0.12`; below a cent with its first two digits, and empty for None."""
    if cost is None:
        return ""
    if 0 < cost < _LEAST:
        return _("under $%(amount)s") % {"amount": number_format(_LEAST)}
    digits = 2 if cost >= _CENT or not cost else 1 - cost.adjusted()
    amount = number_format(round(cost, digits), decimal_pos=digits, force_grouping=True)
    # Translators: a cost in US dollars
    return _("$%(amount)s") % {"amount": amount}
