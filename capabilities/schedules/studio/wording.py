"""Schedules as sentences. They can contain links, so they are HTML."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from capabilities.schedules.models import Action, Schedule, State
from capabilities.schedules.studio.links import of_version
from studio.dates import current_zone, day_in_words, day_of, local, time_element, time_in_words
from studio.named import Place, person
from studio.translation import translated
from versioning.domain.snapshots import reference_to_id
from versioning.domain.zones import UTC, known_zones


def when(schedule: Schedule) -> str:
    """Return when a schedule runs, in the zone of the page, which it names, and as it was given.

    For example `Fri 24 December at 09:00 Europe/Berlin (17:00 Asia/Tokyo)`.
    """
    at, given = schedule.run_at, as_given(schedule)
    words = _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(day_of(at)),
        "time": time_in_words(at),
        "zone": current_zone(),
    }
    return f"{words} ({given})" if given else words


def when_element(schedule: Schedule) -> SafeString:
    """Return `when` as HTML, with the time in UTC in the title."""
    return time_element(schedule.run_at, when(schedule))


def as_given(schedule: Schedule) -> str:
    """Return the local time that a schedule was made for; empty if it is that of the zone of the page.

    It has its day if that is another one on the page: `Sat 25 December at 02:00 Asia/Tokyo`.
    """
    if schedule.time_zone in {"", current_zone()}:
        return ""
    given = datetime.datetime.fromisoformat(schedule.local_time)
    if given.date() == local(schedule.run_at).date():
        return f"{given:%H:%M} {schedule.time_zone}"
    return _("%(day)s at %(time)s %(zone)s") % {
        "day": day_in_words(given.date()),
        "time": f"{given:%H:%M}",
        "zone": schedule.time_zone,
    }


def zone_to_change(schedule: Schedule) -> ZoneInfo:
    """Return the zone in which a schedule's time was given; UTC if there is none, or it no longer exists."""
    return ZoneInfo(schedule.time_zone if schedule.time_zone in known_zones() else UTC)


def twice(schedule: Schedule) -> str:
    """Return which of two times it is if the local time exists twice; otherwise empty."""
    if not schedule.is_ambiguous:
        return ""
    message = _("%(time)s exists twice that night, because the clocks are put back; this is the first.")
    return message % {"time": schedule.local_time[-5:]}


STATES: Final[Mapping[str, tuple[str | Promise, str]]] = {
    State.SCHEDULED: (pgettext_lazy("a schedule", "Scheduled"), "chip-changed"),
    State.DONE: (pgettext_lazy("a schedule", "Done"), "chip-published"),
    State.FAILED: (pgettext_lazy("a schedule", "Failed"), "chip-danger"),
    State.MISSED: (pgettext_lazy("a schedule", "Missed"), "chip-danger"),
    State.CANCELLED: (pgettext_lazy("a schedule", "Cancelled"), ""),
}
"""The name of a state, and the class of its chip."""


WILL_FAIL: Final = (pgettext_lazy("a schedule", "Will fail"), "chip-danger")
"""The chip of a waiting schedule that would currently fail."""


def chip_of(schedule: Schedule) -> tuple[str | Promise, str]:
    """Return the name of a schedule's state, and the class of its chip; waiting ones must be judged."""
    return WILL_FAIL if schedule.problems else STATES[schedule.state]


def version_name(schedule: Schedule) -> str:
    """Return the name of a schedule's version where it stands alone: `Version 12`."""
    if schedule.version_number is not None:
        return _("Version %(number)s") % {"number": schedule.version_number}
    return translated(reference_to_id(schedule.version_id))


def version_within(schedule: Schedule) -> str:
    """Return the name of a schedule's version within a sentence: `version 12`."""
    if schedule.version_number is not None:
        return _("version {number}").format(number=schedule.version_number)
    return translated(reference_to_id(schedule.version_id))


def version_link(schedule: Schedule) -> SafeString:
    """Return the name of the version of a schedule, as a link to it."""
    return format_html('<a class="link" href="{}">{}</a>', of_version(schedule), version_name(schedule))


def will_happen(schedule: Schedule, title: str = "") -> SafeString:
    """Return what a waiting schedule will do, on a page about its resource or its release.

    `title` is that of the release, on a page about one of the resources in it.
    """
    values = {"when": when_element(schedule), "who": person(schedule.author_name, Place.WITHIN)}
    if schedule.release_id is not None and not title:
        return format_html(_("Scheduled for {when}, by {who}."), **values)
    if schedule.release_id is not None:
        return format_html(
            _("It is part of the release “{title}”, which goes live on {when}, by {who}."),
            title=title,
            **values,
        )
    if schedule.action == Action.UNPUBLISH:
        return format_html(_("It is unpublished on {when}, by {who}."), **values)
    return format_html(
        _("{version} goes live on {when}, by {who}."), version=version_link(schedule), **values
    )


def did_not_happen(schedule: Schedule) -> SafeString:
    """Return what a failed or missed schedule should have done, on the page of its resource or release."""
    if schedule.release_id is not None:
        return format_html(_("It did not go live on {when}."), when=when_element(schedule))
    if schedule.action == Action.UNPUBLISH:
        return format_html(_("It was not unpublished on {when}."), when=when_element(schedule))
    return format_html(
        _("{version} did not go live on {when}."), version=version_link(schedule), when=when_element(schedule)
    )


def in_short(schedule: Schedule) -> str:
    """Return what a schedule does, next to the name of its subject: `version 12 goes live`."""
    if schedule.release_id is None and schedule.action == Action.UNPUBLISH:
        return _("is unpublished") if schedule.state == State.SCHEDULED else _("was to be unpublished")
    if schedule.release_id is not None:
        return _("goes live together") if schedule.state == State.SCHEDULED else _("was to go live together")
    message = (
        _("%(version)s goes live") if schedule.state == State.SCHEDULED else _("%(version)s was to go live")
    )
    return message % {"version": version_within(schedule)}


def why(schedule: Schedule) -> str:
    """Return why a schedule failed, as a sentence; empty if it did not."""
    return translated(schedule.problem)
