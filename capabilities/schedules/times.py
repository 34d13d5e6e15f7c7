"""Points in time, given in UTC or as a local time in a time zone. Pure.

A schedule is for a whole minute, in the future, and at most five years away. A local time that does not
exist, because clocks are put forward over it, is refused; one that exists twice is the first of the two.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from versioning.domain.errors import Invalid, Message
from versioning.domain.times import parse_moment
from versioning.domain.zones import find_zone, known_zones

LONGEST_AHEAD: Final = datetime.timedelta(days=5 * 366)
_LOCAL: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


@dataclass(frozen=True, kw_only=True)
class When:
    """A point in time, as it was given."""

    run_at: datetime.datetime
    """In UTC."""
    local_time: str = ""
    """The given local time, such as `2026-12-24T09:00`; empty if it was given in UTC."""
    time_zone: str = ""
    """The IANA name of its time zone; empty if it was given in UTC."""
    is_ambiguous: bool = False
    """Whether the local time exists twice; this is the first of the two."""


def in_utc(text: str, *, field: str, now: datetime.datetime) -> When:
    """Return the point in time of an ISO 8601 text with an offset; raises `Invalid`."""
    run_at = parse_moment(text)
    if run_at is None:
        raise Invalid.field(field, "must be a time in ISO 8601 with its offset, such as 2026-12-24T08:00:00Z")
    return When(run_at=_check_time(run_at, field, now))


def in_zone(local_time: str, time_zone: str, *, field: str, now: datetime.datetime) -> When:
    """Return the point in time of a local time in a time zone; raises `Invalid`.

    `field` is the name of the local time in the problem.
    """
    zone = find_zone(time_zone)
    try:
        local = datetime.datetime.fromisoformat(local_time) if _LOCAL.fullmatch(local_time) else None
    except ValueError:
        local = None
    if local is None:
        raise Invalid.field(field, "must be a local time without an offset, such as 2026-12-24T09:00")
    first, second = (_utc(local, zone, fold) for fold in (0, 1))
    if first is None or second is None:
        raise Invalid.field(field, "is out of range")
    if first > second:
        raise Invalid.field(
            field, Message("does not exist in {zone}: the clocks are put forward past it", zone=time_zone)
        )
    return When(
        run_at=_check_time(first, field, now),
        local_time=local.isoformat(timespec="minutes"),
        time_zone=time_zone,
        is_ambiguous=first != second,
    )


def instant(local_time: str, time_zone: str) -> datetime.datetime | None:
    """Return the UTC time of a stored local time, by the current rules for time zones.

    None if the time or its time zone no longer exists.
    """
    if time_zone not in known_zones():
        return None
    local, zone = datetime.datetime.fromisoformat(local_time), ZoneInfo(time_zone)
    first, second = (_utc(local, zone, fold) for fold in (0, 1))
    return first if first is not None and second is not None and first <= second else None


def _utc(local: datetime.datetime, zone: ZoneInfo, fold: int) -> datetime.datetime | None:
    """Return a local time in UTC; `fold` chooses if it exists twice.

    For a time that does not exist, fold 0 uses the later offset, so that it comes after fold 1.
    """
    try:
        return local.replace(fold=fold, tzinfo=zone).astimezone(datetime.UTC)
    except OverflowError:
        return None


def _check_time(run_at: datetime.datetime, field: str, now: datetime.datetime) -> datetime.datetime:
    """Return the point in time; raises `Invalid` unless it is valid for a schedule."""
    if run_at.second or run_at.microsecond:
        raise Invalid.field(field, "must be a whole minute")
    if run_at <= now:
        raise Invalid.field(field, "must be in the future")
    if run_at > now + LONGEST_AHEAD:
        raise Invalid.field(field, "must not be more than five years away")
    return run_at


def is_local(text: str) -> bool:
    """Return whether a text is a local time, without an offset."""
    return _LOCAL.fullmatch(text) is not None
