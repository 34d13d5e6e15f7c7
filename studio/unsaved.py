"""Copies of unsaved text: the browser stores them, and the server marks obsolete ones.

A page with a form gives its copy an id and sends the id with the form. After a save, a cookie names the copy,
and the next studio page deletes it. Restoring posts the copy as a form that is shown again but not saved; the
text reaches the server in no other way.
"""

from __future__ import annotations

import re
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

COOKIE: Final = "studio_saved"
RESTORE: Final = "restore"
"""The value of `then` to show a form again with its typed values."""

_ID: Final = re.compile(r"[a-z0-9]{1,40}")
_MAX_COPIES: Final = 20
_MAX_DAYS: Final = 14


def posted_copy(request: HttpRequest) -> str:
    """Return the id of the copy of the form that was sent; empty if there is none.

    A page that answers the form continues with this copy, because it shows the typed text.
    """
    copy: str = request.POST.get("copy", "")
    return copy if _ID.fullmatch(copy) else ""


def mark_copy_obsolete(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the answer to a saved form, with a cookie that marks its copy as obsolete."""
    if copy := posted_copy(request):
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
