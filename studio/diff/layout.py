"""The layout of differences: one text, or side by side. The browser remembers the last choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

INLINE: Final = "inline"
SIDE_BY_SIDE: Final = "side-by-side"
LAYOUTS: Final = (INLINE, SIDE_BY_SIDE)
PARAMETER: Final = "layout"
COOKIE: Final = "editor_comparison"
_YEAR: Final = 365 * 24 * 60 * 60


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A link of the switch."""

    title: str
    address: str
    is_current: bool


def layout_of(request: HttpRequest) -> str:
    """Return the layout named by the address, or the last one of this browser; inline by default."""
    remembered = request.COOKIES.get(COOKIE, "")
    return requested_layout(request) or (remembered if remembered in LAYOUTS else INLINE)


def requested_layout(request: HttpRequest) -> str:
    """Return the layout named by the address, or empty."""
    requested = request.GET.get(PARAMETER, "")
    return requested if requested in LAYOUTS else ""


def switch(request: HttpRequest, parameters: Mapping[str, str]) -> list[Choice]:
    """Return links to the same page in each layout; `parameters` reproduce the page, also after a form."""
    titles = {INLINE: _("Inline"), SIDE_BY_SIDE: _("Side by side")}
    current = layout_of(request)
    found = []
    for layout, title in titles.items():
        query = request.GET.copy()
        for name, value in {**parameters, PARAMETER: layout}.items():
            query[name] = value
        found.append(Choice(title=title, address=f"?{query.urlencode()}", is_current=layout == current))
    return found


def remember(request: HttpRequest, response: HttpResponse) -> None:
    """Store the layout named by the address, if any, in a cookie of this browser."""
    requested = requested_layout(request)
    if requested and request.COOKIES.get(COOKIE) != requested:
        response.set_cookie(
            COOKIE,
            requested,
            max_age=_YEAR,
            path=reverse("studio:index"),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
