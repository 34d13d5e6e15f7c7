"""The events of signing in, in the log and in sentences. The person concerned sees them, and superusers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.fragments import Fragment, Sentence, people_in
from studio.people import Place
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.models import caller_for, events

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from studio.activity.names import Names
    from versioning.models import Event


def record(
    event_type: str,
    user: User | None,
    *,
    by: Caller | None = None,
    by_themselves: bool = True,
    **detail: Any,
) -> None:
    """Record an event about the sign-in of a person; None if it is not known whose it was.

    It was done by the person, unless `by` says otherwise; `by_themselves` is False while it is not certain
    that the person acted. `detail` never holds a token.
    """
    by = by or (caller_for(user) if user is not None and by_themselves else APPLICATION)
    if user is not None:
        detail["username"] = user.get_username()
    with events.transaction():
        events.record(event_type, by=by, workspace_id=None, **detail)


_WORDS: Final = {
    "password": gettext_lazy("password"),
    "sso": gettext_lazy("single sign-on"),
    "second_factor": gettext_lazy("second factor"),
    "totp": gettext_lazy("App for one-time codes"),
    "webauthn": gettext_lazy("Security key"),
}
"""The codes in these events in words; the names of providers, and what they refuse for, are as they are."""


def _words(code: Any) -> str:
    return str(_WORDS.get(code, code or ""))


def _sign_in(event: Event, names: Names) -> Sentence:
    detail = event.detail
    way: dict[str, Fragment | str] = {"way": _words(detail.get("provider") or detail.get("method"))}
    if event.type == "signIn.succeeded":
        return Sentence(_("{who} signed in ({way})"), way)
    why: dict[str, Fragment | str] = {**way, "why": _words(detail.get("reason"))}
    if detail.get("username"):
        name = people_in([str(detail["username"])], Place.NAMED)
        return Sentence(_("A sign-in as {name} was refused ({way}: {why})"), {**why, "name": name})
    return Sentence(_("A sign-in was refused ({way}: {why})"), why)


def _session(event: Event, names: Names) -> Sentence:
    count = str(event.detail.get("count") or 1)
    if event.actor == event.detail.get("username"):
        return Sentence(_("{who} ended {count} sessions"), {"count": count})
    name = people_in([str(event.detail.get("username"))], Place.NAMED)
    return Sentence(
        _("{count} sessions of {name} ended, because the account was switched off"),
        {"count": count, "name": name},
    )


SIGN_IN: Final = EventSubject(
    name="signIn",
    audience=Audience.ADMINS,
    is_personal=True,
    changes_rights=False,
    noun=gettext_lazy("sign-in"),
    title=gettext_lazy("Sign-ins"),
    anything=gettext_lazy("Anything about sign-ins"),
    types=[
        EventType(name="succeeded", title=pgettext_lazy("event", "succeeded"), sentence=_sign_in),
        EventType(name="failed", title=pgettext_lazy("event", "refused"), sentence=_sign_in),
    ],
)


def _second_factor(event: Event, names: Names) -> Sentence:
    kind: dict[str, Fragment | str] = {"kind": _words(event.detail.get("kind"))}
    if event.type == "secondFactor.added":
        return Sentence(_("{who} set up a second factor ({kind})"), kind)
    if event.actor == event.detail.get("username"):
        return Sentence(_("{who} removed a second factor ({kind})"), kind)
    name = people_in([str(event.detail.get("username"))], Place.NAMED)
    return Sentence(_("{who} removed the second factors of {name}"), {"name": name})


SECOND_FACTOR: Final = EventSubject(
    name="secondFactor",
    audience=Audience.ADMINS,
    is_personal=True,
    changes_rights=False,
    noun=gettext_lazy("second factor"),
    title=gettext_lazy("Second factors"),
    anything=gettext_lazy("Anything about second factors"),
    types=[
        EventType(name="added", title=pgettext_lazy("event", "set up"), sentence=_second_factor),
        EventType(name="removed", title=pgettext_lazy("event", "removed"), sentence=_second_factor),
    ],
)
SESSION: Final = EventSubject(
    name="session",
    audience=Audience.ADMINS,
    is_personal=True,
    noun=gettext_lazy("session"),
    title=pgettext_lazy("signed in", "Sessions"),
    anything=gettext_lazy("Anything about sessions"),
    types=[EventType(name="ended", title=pgettext_lazy("event", "ended"), sentence=_session)],
)
EVENTS: Final = (SIGN_IN, SECOND_FACTOR, SESSION)
