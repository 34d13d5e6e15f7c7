"""Why a sign-in was refused, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio import site

_INVALID: Final = gettext_lazy(
    "The answer of %(provider)s could not be verified (%(code)s), so no one was signed in. Try again; if it "
    "stays like this, tell the administrator of this installation."
)
SENTENCES: Final[Mapping[str, str | Promise]] = {
    "algorithm": _INVALID,
    "audience": _INVALID,
    "claim_missing": _INVALID,
    "code_refused": _INVALID,
    "issuer": _INVALID,
    "nonce": _INVALID,
    "not_yet_valid": _INVALID,
    "signature": _INVALID,
    "subject": _INVALID,
    "token_malformed": _INVALID,
    "token_missing": _INVALID,
    "expired": gettext_lazy("The answer of %(provider)s is too old. Try again."),
    "key_unknown": gettext_lazy(
        "%(provider)s signed its answer with a key that it does not publish. It may be replacing its keys: "
        "try again in a minute."
    ),
    "state": gettext_lazy(
        "This sign-in did not begin in this browser, or it took too long. Begin again on the page for "
        "signing in."
    ),
    "too_many": gettext_lazy("There were too many attempts to sign in. Wait some minutes, then try again."),
    "cancelled": gettext_lazy("The sign-in was cancelled at %(provider)s."),
    "provider_refused": gettext_lazy("%(provider)s refused the sign-in."),
    "provider_unavailable": gettext_lazy(
        "%(provider)s cannot be reached at the moment. Try again in a minute."
    ),
    "no_account": gettext_lazy(
        "You have no account here yet, and signing in does not create one. Ask an administrator."
    ),
    "no_name": gettext_lazy("No user name could be made of what %(provider)s says about you."),
    "inactive": gettext_lazy("Your account is deactivated. Ask an administrator."),
    "no_membership": gettext_lazy(
        "You are a member of no workspace yet. Ask an admin of a workspace to invite you."
    ),
    "taken": gettext_lazy("This identity at %(provider)s belongs to another account already."),
    "linked_already": gettext_lazy("Your account is linked to another identity at %(provider)s already."),
    "other_person": gettext_lazy("You signed in at %(provider)s as someone else."),
    "not_again": gettext_lazy(
        "%(provider)s did not ask for your credentials again, so it is not certain that it is you."
    ),
}
_STATUS: Final = {"provider_unavailable": 502, "too_many": 429, "state": 400}


def refusal_page(request: HttpRequest, code: str, provider: str) -> HttpResponse:
    """Return the page that says why nobody was signed in."""
    context = {
        **site.each_context(request),
        "title": _("You are not signed in"),
        "sentence": str(SENTENCES[code]) % {"provider": provider, "code": code},
        "has_session": request.user.is_authenticated,
    }
    status = _STATUS.get(code, 403)
    return TemplateResponse(request, "company/refused.html", context, status=status).render()
