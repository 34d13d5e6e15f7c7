"""Time zones by their IANA names, such as `Europe/Berlin`."""

from __future__ import annotations

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from versioning.domain.errors import Invalid, Message

UTC: Final = "UTC"
_NOT_ZONES: Final = frozenset({"Factory", "localtime", "posixrules"})
"""Files among the machine's time zones that are none: its own setting, or the lack of one."""
MAX_NAME: Final = 64
"""The maximum length of a stored name."""


@cache
def known_zones() -> frozenset[str]:
    """Return the names of all time zones; finding them reads the files of the machine."""
    return frozenset(available_timezones()) - _NOT_ZONES


@cache
def offered_zones() -> tuple[str, ...]:
    """Return the names to choose from: UTC and places."""
    places = (zone for zone in known_zones() if "/" in zone and not zone.startswith(("Etc/", "SystemV/")))
    return UTC, *sorted(places)


def find_zone(name: str, *, field: str = "timeZone") -> ZoneInfo:
    """Return a time zone; raises `Invalid` for an unknown name, with the name of its field."""
    if name not in known_zones():
        raise Invalid.field(field, Message("{zone!r} is not a time zone; one is Europe/Berlin", zone=name))
    return ZoneInfo(name)
