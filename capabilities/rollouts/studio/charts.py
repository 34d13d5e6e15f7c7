"""Small charts of runs per day, which templates draw as SVG."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 120
HEIGHT: Final = 24
MAX_DAYS: Final = 31
DAYS: Final = datetime.timedelta(days=MAX_DAYS - 1)
"""The number of days before today on a chart."""
MIN_DAYS: Final = 14
"""The minimum number of days on a chart, so that a single day is not a huge bar."""


@dataclass(kw_only=True)
class Chart:
    """Runs per day, without gaps, oldest first."""

    first: datetime.date
    last: datetime.date
    runs: Sequence[int]
    highest: int = 0
    """The value at the top of the chart; charts to be compared share it."""

    @classmethod
    def of(cls, days: Mapping[datetime.date, int]) -> Chart | None:
        """Return the chart of the last days, up to the last one with runs; None without runs."""
        if not days:
            return None
        last = max(days)
        first = max(min(days), last - datetime.timedelta(days=MAX_DAYS - 1))
        all_days = [first + datetime.timedelta(days=number) for number in range((last - first).days + 1)]
        runs = [days.get(day, 0) for day in all_days]
        return cls(first=first, last=last, runs=runs, highest=max(runs))

    @property
    def total(self) -> int:
        """The number of runs."""
        return sum(self.runs)

    @property
    def peak(self) -> int:
        """The most runs of a day."""
        return max(self.runs)

    @property
    def peak_day(self) -> datetime.date:
        """The first day with the most runs."""
        return self.first + datetime.timedelta(days=self.runs.index(self.peak))

    @property
    def end(self) -> datetime.date:
        """The day at the end of the axis, which has room for `MIN_DAYS`."""
        return self.first + datetime.timedelta(days=max(len(self.runs), MIN_DAYS) - 1)

    @property
    def days(self) -> list[tuple[datetime.date, int]]:
        """Each day with runs and their number, newest first."""
        dated = [(self.first + datetime.timedelta(days=n), runs) for n, runs in enumerate(self.runs)]
        return [(day, runs) for day, runs in reversed(dated) if runs]

    @property
    def bars(self) -> list[tuple[float, float, float, float]]:
        """The bars: x, y, width and height, in a box of `WIDTH` by `HEIGHT`."""
        step = WIDTH / max(len(self.runs), MIN_DAYS)
        heights = [HEIGHT * runs / (self.highest or 1) for runs in self.runs]
        return [
            (round(number * step, 2), round(HEIGHT - height, 2), round(max(step - 1, 1), 2), round(height, 2))
            for number, height in enumerate(heights)
        ]

    @property
    def box(self) -> str:
        """The box that contains the bars."""
        return f"0 0 {WIDTH} {HEIGHT}"
