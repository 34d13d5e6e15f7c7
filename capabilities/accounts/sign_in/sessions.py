"""The sessions of people: listing them with their last use, and ending them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_save
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from capabilities.accounts.models import OpenSession
from capabilities.accounts.sign_in.conf import idle, key_days
from capabilities.accounts.sign_in.events import record
from capabilities.accounts.sign_in.recency import CONFIRMED
from studio.accounts.forms import client_address
from studio.sign_in import METHOD
from versioning.capabilities import session_store
from versioning.models import ApiKey, Membership, storage
from versioning.models.accounts import account

if TYPE_CHECKING:
    from django.contrib.auth.models import User


DETAIL: Final = "sign_in_detail"
"""The attribute of a request with the log detail of its sign-in."""
PROVED_AT: Final = "sign_in_proved_at"
"""The attribute of a request with the time of the credentials, if that was before this request."""
_SEEN: Final = "company.seen_at"
_ROW: Final = "company.session"
_STEPS: Final = 100
"""A session is extended when a hundredth of its time has passed, so that few requests write."""


def confirm(request: HttpRequest) -> None:
    request.session[CONFIRMED] = time.time()


def list_sessions(user: User) -> list[OpenSession]:
    """Return the sessions in which a person is signed in, most recently used first."""
    store = session_store()()
    rows = OpenSession.objects.filter(user=user, seen_at__gte=timezone.now() - idle()).order_by(
        "-seen_at", "pk"
    )
    return [row for row in rows if store.exists(row.session_key)]


def end(sessions: list[OpenSession], *, of: User, by_themselves: bool = True) -> None:
    """End sessions of a person at once."""
    for session in sessions:
        session_store()(session.session_key).delete()
        session.delete()
    if sessions:
        record("session.ended", of, by_themselves=by_themselves, count=len(sessions))


def end_all(user: User, *, but: str | None = None) -> int:
    ended = [session for session in list_sessions(user) if session.session_key != but]
    end(ended, of=user)
    return len(ended)


def keep_open(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that extends the session of an active person, seldom enough to cost almost nothing."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        session: Any = getattr(request, "session", None)
        if session is not None and session.accessed and _ROW in session and request.user.is_authenticated:
            _keep_open(session)
        return response

    return middleware


def _keep_open(session: Any) -> None:
    now = time.time()
    if now - session[_SEEN] > idle().total_seconds() / _STEPS:
        with storage.optional() as write:
            OpenSession.objects.filter(pk=session[_ROW]).update(seen_at=timezone.now())
        if write.is_committed:
            session[_SEEN] = now
            session.set_expiry(int(idle().total_seconds()))
    if session.modified:  # a new password gives it another key
        rows = OpenSession.objects.filter(pk=session[_ROW]).exclude(session_key=session.session_key)
        rows.update(session_key=session.session_key)


def _note_sign_in(request: HttpRequest, user: User, **_signal: Any) -> None:
    now = time.time()
    request.session[_SEEN] = now
    # The provider may have used a session of many hours without asking for credentials.
    proved_at = getattr(request, PROVED_AT, None)
    request.session[CONFIRMED] = now if proved_at is None else proved_at
    request.session.set_expiry(int(idle().total_seconds()))
    if request.session.session_key is None:
        request.session.save()
    row, _is_new = OpenSession.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "user": user,
            "seen_at": timezone.now(),
            "browser": request.headers.get("User-Agent", "")[:200],
            "address": (client_address(request) or "")[:64],
        },
    )
    request.session[_ROW] = row.pk
    method = getattr(request, METHOD, None)
    if method is not None:  # other sign-ins, such as those of a project's own pages, have their own log
        record("signIn.succeeded", user, method=method, **getattr(request, DETAIL, {}))


def _note_sign_out(request: HttpRequest | None, **_signal: Any) -> None:
    if request is not None and request.session.session_key:
        OpenSession.objects.filter(session_key=request.session.session_key).delete()


def _note_failure(request: HttpRequest | None, credentials: dict[str, Any], **_signal: Any) -> None:
    """Record a wrong password for an account, but not for an unknown name, which may be a password."""
    user = account(str(credentials.get("username") or ""))
    if request is not None and user is not None:
        record("signIn.failed", user, by_themselves=False, method="password", reason="password")


def _note_account(instance: User, **_signal: Any) -> None:
    """End the sessions of a deactivated account, so that they do not return with a reactivation."""
    if not instance.is_active:
        end(list(OpenSession.objects.filter(user=instance)), of=instance, by_themselves=False)


def watch() -> None:
    post_save.connect(_note_account, sender=get_user_model(), dispatch_uid=__name__)
    user_logged_in.connect(_note_sign_in, dispatch_uid=__name__)
    user_logged_out.connect(_note_sign_out, dispatch_uid=__name__)
    user_login_failed.connect(_note_failure, dispatch_uid=__name__)


_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
"""The marks of browsers in order: each also claims to be those below it."""
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def in_words(user_agent: str) -> str:
    """Return the browser and its system, "Firefox on Windows"; the raw text if the browser is unknown."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or user_agent


def active_until(key: ApiKey) -> datetime.datetime | None:
    """Return when the owner of a key stops counting as active: some days after the last sign-in.

    Without a sign-in, the days count from the creation of the account. Service accounts are exempt, because
    they cannot sign in.
    """
    days, owner = key_days(), key.owner
    if days is None or Membership.objects.filter(user=owner, is_service=True).exists():
        return None
    since: datetime.datetime | None = owner.last_login or getattr(owner, "date_joined", None)
    return None if since is None else since + datetime.timedelta(days=days)
