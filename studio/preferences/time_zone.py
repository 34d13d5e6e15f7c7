"""The time zone of the pages: the person's choice, or else that of their browser; UTC if it is unknown."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from studio.preferences.stored import preferences_of
from versioning.domain.zones import UTC, known_zones

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
