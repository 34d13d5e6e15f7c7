"""Tables of what few items can show, and what they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from editor_client.shared.statistics import detectable, wilson

WIDE: Final = 0.2
"""A pass rate whose interval is wider is known badly."""
NUMBERS: Final = (10, 20, 50, 100, 200, 500)
"""The numbers of items in the tables, besides the own one."""
PERCENT: Final = 100


@dataclass(frozen=True, kw_only=True)
class FewItems:
    """What so many items say, in a sentence, and compared with other numbers of items."""

    sentence: str
    headings: Sequence[str]
    rows: Sequence[tuple[int, str]]
    own: int
    """The number of items of the row that is one's own."""


def of_rate(rate: float, items: int) -> FewItems | None:
    """Return how badly a pass rate of so many items is known; None if it is known well, or there are none."""
    low, high = wilson(rate * items, items) if items else (0.0, 0.0)
    if high - low <= WIDE:
        return None
    sentence = _(
        "The dataset has %(items)d items. If %(rate)d%% of them pass, the true share lies between %(low)d "
        "and %(high)d%%: so few items say little. A rule that compares with what is live says more."
    ) % {
        "items": items,
        "rate": round(PERCENT * rate),
        "low": round(PERCENT * low),
        "high": round(PERCENT * high),
    }
    headings = [_("Items"), _("If %(rate)d%% pass, the true share") % {"rate": round(PERCENT * rate)}]
    return FewItems(
        sentence=sentence,
        headings=headings,
        rows=[(one, _between(rate, one)) for one in _with(items)],
        own=items,
    )


def of_pairs(pairs: int) -> FewItems:
    """Return which drop so many compared items would have shown."""
    rows = [
        (one, _("none") if points is None else str(points))
        for one, points in ((one, detectable(one)) for one in _with(pairs))
    ]
    return FewItems(
        sentence=_("How many items you need"),
        headings=[_("Items"), _("Detectable drop, in points")],
        rows=rows,
        own=pairs,
    )


def _between(rate: float, items: int) -> str:
    low, high = wilson(rate * items, items)
    numbers = {"low": round(PERCENT * low), "high": round(PERCENT * high)}
    return _("between %(low)d and %(high)d%%") % numbers


def _with(own: int) -> list[int]:
    return sorted({own, *NUMBERS})
