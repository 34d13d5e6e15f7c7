"""The events of signing in, in the log and in sentences. The person concerned sees them, and superusers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.sentences import Fragment, Sentence, people_in
from studio.named import Place
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.models import caller_for, events

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from studio.activity.sentences import Names
    from versioning.models import Event


def record(
    event_type: str,
    user: User | None,
    *,
    by: Caller | None = None,
    by_themselves: bool = True,
    **detail: Any,
) -> None:
    """Record an event about the sign-in of a person; None if the person is unknown.

    The actor is the person unless `by` is given; `by_themselves` is False if the person may not have acted.
    `detail` never contains a token.
    """
    by = by or (caller_for(user) if user is not None and by_themselves else APPLICATION)
    if user is not None:
        detail["username"] = user.get_username()
    with events.transaction():
        events.record(event_type, by=by, workspace_id=None, **detail)


_KINDS: Final = {
    "totp": gettext_lazy("App for one-time codes"),
    "webauthn": gettext_lazy("Security key"),
}
"""The kinds of second factors in words."""
_SIGNED_IN: Final = {
    "password": gettext_lazy("{who} signed in with a password"),
    "sso": gettext_lazy("{who} signed in with single sign-on"),
}
_REASONS: Final = {
    "password": gettext_lazy("wrong password"),
    "second_factor": gettext_lazy("wrong code of the second factor"),
    "cancelled": gettext_lazy("the sign-in was cancelled"),
    "expired": gettext_lazy("the provider’s answer was too old"),
    "inactive": gettext_lazy("the account is deactivated"),
    "linked_already": gettext_lazy("the account is linked to another identity"),
    "no_account": gettext_lazy("there is no such account"),
    "no_membership": gettext_lazy("the account is in no workspace"),
    "no_name": gettext_lazy("the provider sent no usable user name"),
    "not_again": gettext_lazy("the provider did not ask for credentials again"),
    "other_person": gettext_lazy("another person signed in at the provider"),
    "provider_refused": gettext_lazy("the provider refused it"),
    "provider_unavailable": gettext_lazy("the provider could not be reached"),
    "taken": gettext_lazy("the identity belongs to another account"),
}
"""Why a sign-in failed. The other codes are about invalid answers of a provider."""


def _sign_in(event: Event, names: Names) -> Sentence:
    detail = event.detail
    provider, method = str(detail.get("provider") or ""), str(detail.get("method") or "")
    if event.type == "signIn.succeeded":
        if provider:
            return Sentence(_("{who} signed in with {provider}"), {"provider": provider})
        if method.startswith("password+"):
            return Sentence(_("{who} signed in with a password and a second factor"), {})
        return Sentence(str(_SIGNED_IN.get(method, _("{who} signed in"))), {})
    code = str(detail.get("reason") or "")
    not_valid = _("the provider’s answer was not valid (%(code)s)") % {"code": code}
    why: dict[str, Fragment | str] = {"why": str(_REASONS.get(code, not_valid)), "provider": provider}
    if not detail.get("username"):
        return Sentence(_("Someone failed to sign in with {provider}: {why}"), why)
    why["name"] = people_in([str(detail["username"])], Place.NAMED)
    if provider:
        return Sentence(_("Someone failed to sign in as {name} with {provider}: {why}"), why)
    return Sentence(_("Someone failed to sign in as {name}: {why}"), why)


def _session(event: Event, names: Names) -> Sentence:
    count = str(event.detail.get("count") or 1)
    if event.actor == event.detail.get("username"):
        return Sentence(_("{who} ended {count} sessions"), {"count": count})
    name = people_in([str(event.detail.get("username"))], Place.NAMED)
    return Sentence(
        _("{count} sessions of {name} ended, because the account was deactivated"),
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
    code = event.detail.get("kind")
    kind: dict[str, Fragment | str] = {"kind": str(_KINDS.get(code, code or ""))}
    if event.type == "secondFactor.added":
        return Sentence(_("{who} set up a second factor: {kind}"), kind)
    if event.actor == event.detail.get("username"):
        return Sentence(_("{who} removed a second factor: {kind}"), kind)
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
