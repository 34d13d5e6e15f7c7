"""One-time secrets, shown on the page after a form: a key, a link, a secret.

The answer to a form is a redirect, so that reloading the page does not send the form again. The secret is in
the session until the next page, encrypted under a key that only the browser has, so it cannot be read from
the database or a copy of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

COOKIE: Final = "editor_once"
_WAITING: Final = "studio.shown_once"
_SECONDS: Final = 600


def show_next(request: HttpRequest, response: HttpResponse, name: str, value: Any) -> None:
    """Store a JSON value under a name for `shown_now` on the next page, and set its cookie."""
    # Not at the top, here and below: cryptography takes 7 MiB, and few processes have a secret to show.
    from cryptography.fernet import Fernet  # noqa: PLC0415

    box = _box(request)
    if box is None:
        key = Fernet.generate_key()
        # A second form in another window uses the same key, so that neither loses its secret.
        request.COOKIES[COOKIE] = key.decode()
        box = Fernet(key)
    sealed = box.encrypt(json.dumps(value).encode()).decode()
    request.session[_WAITING] = {**request.session.get(_WAITING, {}), name: sealed}
    response.set_cookie(
        COOKIE,
        request.COOKIES[COOKIE],
        max_age=_SECONDS,
        path=reverse("studio:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def shown_now(request: HttpRequest, name: str) -> Any:
    """Return and remove the value under a name; None if there is none, or it is too old.

    It is removed only once the page was shown.
    """
    waiting = dict(request.session.get(_WAITING, {}))
    if name not in waiting or "X-Live" in request.headers or request.method == "HEAD":
        return None
    from cryptography.fernet import InvalidToken  # noqa: PLC0415

    sealed = waiting.pop(name)
    request.session[_WAITING] = waiting
    box = _box(request)
    try:
        return None if box is None else json.loads(box.decrypt(sealed, ttl=_SECONDS))
    except InvalidToken:
        return None


def _box(request: HttpRequest) -> Fernet | None:
    from cryptography.fernet import Fernet  # noqa: PLC0415

    try:
        return Fernet(request.COOKIES.get(COOKIE, ""))
    except ValueError:
        return None
