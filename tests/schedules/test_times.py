"""The time of a schedule: whole minutes ahead, in UTC or as local times, over both nights of every year."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capabilities.schedules.times import When, in_utc, in_zone, instant
from versioning.domain.errors import Invalid

NOW = datetime.datetime(2026, 1, 1, 12, 0, 30, tzinfo=datetime.UTC)
CHANGED_LATELY = {
    "Africa/Cairo": "2026-07-01T09:00",  # summer time again since 2023
    "America/Chihuahua": "2026-07-01T09:00",  # without since 2022
    "America/Nuuk": "2026-07-01T09:00",  # another offset since 2023
    "America/Sao_Paulo": "2026-07-01T09:00",
    "Asia/Almaty": "2026-07-01T09:00",  # another offset since 2024
    "Asia/Amman": "2026-12-01T09:00",  # the whole year since 2022
    "Asia/Gaza": "2026-07-01T09:00",
    "Asia/Tehran": "2026-07-01T09:00",  # without since 2022
    "Europe/Berlin": "2026-07-01T09:00",
    "Pacific/Fiji": "2026-12-01T09:00",
}
IN_UTC = {
    "Africa/Cairo": "06:00",
    "America/Chihuahua": "15:00",
    "America/Nuuk": "10:00",
    "America/Sao_Paulo": "12:00",
    "Asia/Almaty": "04:00",
    "Asia/Amman": "06:00",
    "Asia/Gaza": "06:00",
    "Asia/Tehran": "05:30",
    "Europe/Berlin": "07:00",
    "Pacific/Fiji": "21:00",
}


def berlin(text: str) -> When:
    return in_zone(text, "Europe/Berlin", field="localTime", now=NOW)


def test_the_current_rules_of_a_zone_apply() -> None:
    for zone, text in CHANGED_LATELY.items():
        found = in_zone(text, zone, field="localTime", now=NOW)
        assert (f"{found.run_at:%H:%M}", found.is_ambiguous) == (IN_UTC[zone], False)


def test_a_skipped_local_time_is_refused() -> None:
    assert f"{berlin('2026-03-29T01:59').run_at:%H:%M}" == "00:59"
    for text in ("2026-03-29T02:00", "2026-03-29T02:59"):
        with pytest.raises(Invalid, match="does not exist in Europe/Berlin"):
            berlin(text)
    assert f"{berlin('2026-03-29T03:00').run_at:%H:%M}" == "01:00"


def test_an_ambiguous_time_is_the_first_of_the_two() -> None:
    found = berlin("2026-10-25T02:30")
    assert (f"{found.run_at:%H:%M}", found.is_ambiguous) == ("00:30", True)
    before, after = berlin("2026-10-25T01:59"), berlin("2026-10-25T03:00")
    assert [f"{one.run_at:%H:%M}" for one in (before, after)] == ["23:59", "02:00"]
    assert not before.is_ambiguous and not after.is_ambiguous


@given(st.integers(1, 4 * 365 * 24 * 60), st.sampled_from(sorted(CHANGED_LATELY)))
def test_every_accepted_local_time_converts_back_to_itself(minutes: int, zone: str) -> None:
    local = datetime.datetime.fromisoformat("2026-01-03T00:00") + datetime.timedelta(minutes=minutes)
    text = local.isoformat(timespec="minutes")
    back = local.replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC).astimezone(ZoneInfo(zone))
    if back.replace(tzinfo=None) != local:
        with pytest.raises(Invalid) as refused:
            in_zone(text, zone, field="localTime", now=NOW)
        assert "does not exist" in refused.value.issues[0].message
    else:
        found = in_zone(text, zone, field="localTime", now=NOW)
        there = found.run_at.astimezone(ZoneInfo(zone))
        assert there.isoformat(timespec="minutes")[:16] == text
        assert found.is_ambiguous == (there.replace(fold=1).utcoffset() != there.utcoffset())
        assert instant(found.local_time, zone) == found.run_at


def test_an_invalid_time_is_refused() -> None:
    for text, problem in [
        ("2026-01-01T12:00:00Z", "in the future"),
        ("2026-01-02T12:00:30Z", "whole minute"),
        ("2031-01-06T12:00:00Z", "five years"),
        ("2026-01-02T12:00:00", "ISO 8601"),
        ("tomorrow", "ISO 8601"),
        ("0001-01-01T00:00:00+23:59", "ISO 8601"),
        ("9999-12-31T23:59:00-12:00", "ISO 8601"),
        ("", "ISO 8601"),
    ]:
        with pytest.raises(Invalid) as refused:
            in_utc(text, field="runAt", now=NOW)
        [issue] = refused.value.issues
        assert (issue.field, problem in issue.message) == ("runAt", True)


def test_an_invalid_local_time_or_zone_is_refused() -> None:
    for text, zone, field in [
        ("2026-07-01T09:00", "Europe/Atlantis", "timeZone"),
        ("2026-07-01T09:00", "../etc/passwd", "timeZone"),
        ("2026-07-01T09:00", "", "timeZone"),
        ("2026-07-01T09:00Z", "Europe/Berlin", "localTime"),
        ("2026-07-01", "Europe/Berlin", "localTime"),
        ("2026-13-01T09:00", "Europe/Berlin", "localTime"),
        ("2026-07-01T09:00:30", "Europe/Berlin", "localTime"),
        ("0001-01-01T00:00", "Asia/Tokyo", "localTime"),
    ]:
        with pytest.raises(Invalid) as refused:
            in_zone(text, zone, field="localTime", now=NOW)
        assert [issue.field for issue in refused.value.issues] == [field]
