"""Times that are often chosen: tomorrow morning, and Monday morning."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from studio.dates import day_in_words

MORNING: Final = datetime.time(9)
DAY: Final = datetime.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A local time with its name."""

    name: str
    local_time: str
    """As the browser's control for a day and a time has it: `2026-12-24T09:00`."""
    day: str
    """Its day in words."""


def presets(today: datetime.date) -> list[Preset]:
    """Return tomorrow morning, and the morning of the next Monday unless that is tomorrow."""
    tomorrow, monday = today + DAY, today + DAY * (7 - today.weekday())
    named = {tomorrow: _("Tomorrow 9:00"), monday: _("Monday 9:00")}
    return [
        Preset(
            name=name,
            local_time=datetime.datetime.combine(day, MORNING).isoformat(timespec="minutes"),
            day=day_in_words(day),
        )
        for day, name in named.items()
    ]
