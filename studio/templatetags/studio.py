"""Tags and filters for every template of the studio."""

from __future__ import annotations

import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from studio.dates import moment_in_words
from studio.versions import message_of, reference_to, said_of, title_of
from versioning.domain.snapshots import subject_of

register = template.Library()
register.filter(title_of)
register.filter(reference_to)
register.filter(subject_of)
register.filter(message_of)
register.filter(said_of)

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


@register.simple_tag
def when(moment: datetime.datetime) -> SafeString:
    """Return how long ago a moment is, with the exact time in the title."""
    exact = moment.astimezone(datetime.UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(timespec="seconds"),
        f"{exact:%-d %B %Y, %H:%M} UTC",
        spoken(moment, timezone.now()),
    )


@register.simple_tag
def moment(at: datetime.datetime) -> SafeString:
    """Return the day and the time of a moment, with how long ago it is in the title."""
    exact = at.astimezone(datetime.UTC).isoformat(timespec="seconds")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', exact, spoken(at, timezone.now()), moment_in_words(at)
    )


def spoken(moment: datetime.datetime, now: datetime.datetime) -> str:
    """Return how long ago a moment is, and the date when that is a week or more."""
    seconds = (now - moment).total_seconds()
    if seconds < MINUTE:
        return "just now"
    for unit, length, limit in (("minute", MINUTE, HOUR), ("hour", HOUR, DAY), ("day", DAY, 7 * DAY)):
        if seconds < limit:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return f"{moment:%-d %b %Y}"
