"""Tags and filters for every template of the studio."""

from __future__ import annotations

import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.domain_messages.translated import translated
from versioning.domain import snapshots
from versioning.domain.snapshots import Snapshot

register = template.Library()
register.filter(snapshots.subject_of)
register.filter(translated)

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


@register.filter
def title_of(version: Snapshot) -> str:
    """Return what a version is called where its name stands alone, such as "Version 3"."""
    return translated(snapshots.title_of(version))


@register.filter
def reference_to(version: Snapshot) -> str:
    """Return what a version is called within a sentence, such as "version 3"."""
    return translated(snapshots.reference_to(version))


@register.simple_tag
def when(moment: datetime.datetime) -> SafeString:
    """Return how long ago a moment is, with the exact time in the title."""
    exact = moment.astimezone(datetime.UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        exact.isoformat(timespec="seconds"),
        # Translators: the exact time of something, as PHP's date() formats it
        date_format(exact, _("j F Y, H:i")) + " UTC",
        spoken(moment, timezone.now()),
    )


def spoken(moment: datetime.datetime, now: datetime.datetime) -> str:
    """Return how long ago a moment is, and the date when that is a week or more."""
    seconds = int((now - moment).total_seconds())
    if seconds < MINUTE:
        return _("just now")
    if seconds < HOUR:
        number = seconds // MINUTE
        return ngettext("%(number)d minute ago", "%(number)d minutes ago", number) % {"number": number}
    if seconds < DAY:
        number = seconds // HOUR
        return ngettext("%(number)d hour ago", "%(number)d hours ago", number) % {"number": number}
    if seconds < 7 * DAY:
        number = seconds // DAY
        return ngettext("%(number)d day ago", "%(number)d days ago", number) % {"number": number}
    # Translators: a date, as PHP's date() formats it
    return date_format(moment, _("j M Y"))
