"""The preferences of the signed-in person, with the time zone of pages, and what the person opened last.

They are read once per request.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone

from studio.models import Preferences
from versioning.domain.zones import UTC, known_zones
from versioning.models import storage


def preferences_of(request: HttpRequest) -> Preferences:
    """Return the preferences of the signed-in person; the defaults without one."""
    preferences: Preferences | None = getattr(request, "studio_preferences", None)
    if preferences is None:
        user = request.user
        preferences = Preferences.objects.of(user.pk) if user.is_authenticated else Preferences()
        request.studio_preferences = preferences  # type: ignore[attr-defined]
    return preferences


COOKIE: Final = "studio-zone"
"""The cookie in which `zone.js` sends the time zone of the browser."""


def zone_of_browser(request: HttpRequest) -> str:
    """Return the name of the time zone that the browser sent; empty if there is none, or it is unknown."""
    sent = request.COOKIES.get(COOKIE, "")
    return sent if sent in known_zones() else ""


def zone_of_pages(request: HttpRequest) -> ZoneInfo:
    """Return the time zone in which pages show times to the person of the request."""
    chosen = preferences_of(request).time_zone
    return ZoneInfo(chosen if chosen in known_zones() else zone_of_browser(request) or UTC)


MAX_REMEMBERED: Final = 20
"""The maximum number of resources in the list."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A resource that a person opened, and when they last did."""

    kind: str
    """The slug of its kind."""
    id: str
    at: datetime.datetime


def recently_opened(request: HttpRequest) -> list[Opened]:
    """Return the resources opened last, the latest first; they may have been deleted since."""
    return [
        Opened(kind=kind, id=resource_id, at=datetime.datetime.fromisoformat(at))
        for kind, resource_id, at in preferences_of(request).recent
    ]


def note_opened(request: HttpRequest, kind: str, resource_id: str) -> None:
    """Record that a resource was opened; writes nothing if it already was the last one."""
    preferences = preferences_of(request)
    before: list[list[str]] = preferences.recent
    if before and before[0][:2] == [kind, resource_id]:
        return
    others = [one for one in before if one[:2] != [kind, resource_id]]
    preferences.recent = [[kind, resource_id, timezone.now().isoformat()], *others][:MAX_REMEMBERED]
    with storage.optional():
        if not Preferences.objects.filter(pk=preferences.pk).update(recent=preferences.recent):
            Preferences.objects.change(preferences.pk, recent=preferences.recent)
