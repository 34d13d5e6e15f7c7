"""Copies of unsaved text: the browser stores them, and the server only says which of them are obsolete.

A page with a form gives its copy an id and sends the id along with the form. After a save, a cookie names
the copy, and the next page of the studio deletes it. Restoring posts the copy as a form that is shown again
and not saved; the text reaches the server in no other way.
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
_MAX_COPIES: Final = 20
_MAX_DAYS: Final = 14


def saved(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the answer to a form that was saved, with a cookie that says that its copy can be deleted."""
    copy = request.POST.get("copy", "")
    if _ID.fullmatch(copy):
        before = _ID.findall(request.COOKIES.get(COOKIE, ""))
        response.set_cookie(
            COOKIE,
            ".".join([*before[1 - _MAX_COPIES :], copy]),
            max_age=_MAX_DAYS * 24 * 60 * 60,
            path=reverse("studio:index"),
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
        )
    return response
