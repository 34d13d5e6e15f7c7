"""Tags and filters for every template of the studio."""

from __future__ import annotations

import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from versioning.domain.snapshots import Snapshot, reference_to, subject_of, title_of
from versioning.models.versioned import EDIT_MESSAGE

register = template.Library()
register.filter(title_of)
register.filter(reference_to)

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


@register.filter("subject_of")
def subject(message: str) -> str:
    """Return the first paragraph of a message; nothing for the one that programs leave by saying none."""
    return "" if message == EDIT_MESSAGE else subject_of(message)


@register.simple_tag(takes_context=True)
def version_link(context: template.Context, version: Snapshot) -> SafeString:
    """Return the name of a version of the resource that the page is about, as a link to it."""
    address = context["kind"].address("version", context["summary"].resource_id, version.version_id)
    return format_html('<a class="link" href="{}">{}</a>', address, title_of(version))


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
