"""Copies of unsaved text, which the browser keeps: what the server says and is told about them.

A page that is typed into gives its copy an id, and sends it along with the form. When that was
saved, a cookie names the copy, and the next page of the studio throws it away. A copy comes back as
a form that is shown again and not saved. The text itself never gets here in any other way.
"""

from __future__ import annotations

import re
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

COOKIE: Final = "studio_saved"
RESTORE: Final = "restore"
"""What `then` says when a form is to be shown again with what was typed into it."""

_ID: Final = re.compile(r"[a-z0-9]{1,40}")
_MOST: Final = 20
_DAYS: Final = 14


def saved(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the answer to a form that was saved, with the word that its copy can go."""
    copy = request.POST.get("copy", "")
    if _ID.fullmatch(copy):
        before = _ID.findall(request.COOKIES.get(COOKIE, ""))
        response.set_cookie(
            COOKIE,
            ".".join([*before[1 - _MOST :], copy]),
            max_age=_DAYS * 24 * 60 * 60,
            path=reverse("admin:index"),
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
        )
    return response
