"""The settings of schedules."""

from __future__ import annotations

from typing import Final

from versioning.conf import DAY, DAYS, Setting, at_most

SETTINGS: Final = (
    Setting(
        "EDITOR_SCHEDULE_GRACE",
        86400,
        "how many seconds late a [schedule](releases-and-schedules.md#schedules) still runs",
        check=at_most(DAYS * DAY),
    ),
)
