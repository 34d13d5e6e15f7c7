"""Signing in through a provider: the two addresses that a browser visits."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import View
from django.views.decorators.cache import never_cache

from capabilities.accounts.sign_in import accounts, oidc, sessions
from capabilities.accounts.sign_in.accounts import follow_groups
from capabilities.accounts.sign_in.conf import takes_providers
from capabilities.accounts.sign_in.events import record
from capabilities.accounts.sign_in.oidc import SignInRefused
from capabilities.accounts.sign_in.providers import Provider, providers
from studio import sign_in, site
from studio.accounts.forms import client_address, is_invited
from studio.error_pages import own_address
from studio.navigation import Link
from studio.permissions import may_enter
from versioning.models import SignInAttempts, caller_for
from versioning.models.throttle import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User


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
    context = {
        **site.each_context(request),
        "title": _("You are not signed in"),
        "sentence": str(SENTENCES[code]) % {"provider": provider, "code": code},
        "has_session": request.user.is_authenticated,
    }
    status = _STATUS.get(code, 403)
    return TemplateResponse(request, "company/refused.html", context, status=status).render()


logger = logging.getLogger("capabilities.accounts.sign_in")
SIGN_IN: Final = "sign in"
LINK: Final = "link"
CONFIRM: Final = "confirm"
_BEGUN: Final = "company.begun"
"""The session key for pending sign-ins, by their state."""
_MOST: Final = 5
_PATIENCE: Final = 600.0
"""The seconds that a person has to sign in at the provider."""


@dataclass(frozen=True, kw_only=True)
class Begun:
    provider: str
    purpose: str
    next: str
    user: str
    """The primary key of the signed-in person; empty without one."""
    at: float
    nonce: str
    verifier: str


def list_providers() -> Mapping[str, Provider]:
    """Return the providers through which people sign in."""
    return providers() if takes_providers() else {}


def ways(next_url: str) -> list[Link]:
    return [
        Link(
            title=_("Sign in with %(provider)s") % {"provider": provider.name},
            address=_address(provider.id, next_url),
        )
        for provider in list_providers().values()
    ]


def ways_to_confirm(user: Any, next_url: str) -> list[Link]:
    """Return the links through which a person confirms their identity at a provider."""
    linked = set(accounts.list_issuers(user))
    return [
        Link(
            title=_("Sign in again with %(provider)s") % {"provider": provider.name},
            address=_address(provider.id, next_url, again="1"),
        )
        for provider in list_providers().values()
        if provider.issuer in linked
    ]


def _address(provider_id: str, next_url: str, **more: str) -> str:
    return f"{reverse('studio:sso', args=[provider_id])}?{urlencode({'next': next_url, **more})}"


def begin(request: HttpRequest, provider: Provider, purpose: str, next_url: str) -> str:
    """Record in the session that a sign-in begins, and return the address at the provider."""
    address, oidc_request = oidc.begin(provider, _callback(request, provider), again=purpose == CONFIRM)
    begun: dict[str, Any] = request.session.get(_BEGUN, {})
    newest = sorted(begun.items(), key=lambda item: item[1]["at"])[-_MOST + 1 :]
    pending = Begun(
        provider=provider.id,
        purpose=purpose,
        next=own_address(next_url, reverse("studio:index")),
        user=str(request.user.pk or ""),
        at=time.time(),
        nonce=oidc_request.nonce,
        verifier=oidc_request.verifier,
    )
    if request.session.is_empty():  # anyone can begin: unfinished sign-ins leave little data
        request.session.set_expiry(int(_PATIENCE))
    request.session[_BEGUN] = {**dict(newest), oidc_request.state: asdict(pending)}
    return address


def _callback(request: HttpRequest, provider: Provider) -> str:
    return request.build_absolute_uri(reverse("studio:sso_callback", args=[provider.id]))


@method_decorator(never_cache, name="dispatch")
class SingleSignOnView(View):
    """The base of both addresses: the provider, and the page about a refused sign-in."""

    http_method_names = ["get"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        provider = list_providers().get(kwargs["provider"])
        if provider is None:
            raise Http404
        self.provider = provider
        self.known: User | None = None
        try:
            return super().dispatch(request, *args, **kwargs)
        except SignInRefused as error:
            return self.refuse(error.code)

    def refuse(self, code: str) -> HttpResponse:
        about: dict[str, Any] = {"provider": self.provider.id, "reason": code}
        logger.warning("a sign-in was refused", extra={**about, "address": client_address(self.request)})
        if code not in {
            "state",
            "too_many",
        }:  # senders can cause these at no cost, so they could fill the log
            record("signIn.failed", self.known, by_themselves=False, method="sso", **about)
        return refusal_page(self.request, code, self.provider.name)


class BeginView(SingleSignOnView):
    """`/studio/sso/:id/`: leads to the provider."""

    def get(self, request: HttpRequest, provider: str) -> HttpResponse:
        """Redirect to the provider; with `again`, a signed-in person confirms their identity."""
        purpose = CONFIRM if "again" in request.GET and request.user.is_authenticated else SIGN_IN
        return HttpResponseRedirect(begin(request, self.provider, purpose, request.GET.get("next", "")))


class CallbackView(SingleSignOnView):
    """`/studio/sso/:id/callback/`: the address to which the provider returns people."""

    def get(self, request: HttpRequest, provider: str) -> HttpResponse:
        address = client_address(request)
        try:
            attempt = SignInAttempts.objects.begin([subject("address", address)] if address else [])
        except TooManyAttempts:
            raise SignInRefused("too_many") from None
        begun = self._take_begun()
        claims = self._claims(begun)
        if begun.purpose == SIGN_IN:
            answer = self._sign_in(begun, claims)
        elif begun.user != str(request.user.pk or ""):
            raise SignInRefused("state")
        elif begun.purpose == LINK:
            accounts.link(self.provider, claims, request.user)  # type: ignore[arg-type]  # signed in
            answer = HttpResponseRedirect(begun.next)
        else:
            answer = self._confirm(begun, claims)
        attempt.mark_succeeded()
        return answer

    def _take_begun(self) -> Begun:
        """Return the pending sign-in for this answer, once."""
        sign_ins: dict[str, Any] = self.request.session.get(_BEGUN, {})
        pending = sign_ins.pop(self.request.GET.get("state", ""), None)
        if (
            pending is None
            or pending["provider"] != self.provider.id
            or time.time() > pending["at"] + _PATIENCE
        ):
            raise SignInRefused("state")
        self.request.session[_BEGUN] = sign_ins
        return Begun(**pending)

    def _claims(self, begun: Begun) -> dict[str, Any]:
        answer = self.request.GET
        if answer.get("iss", self.provider.issuer) != self.provider.issuer:  # RFC 9207
            raise SignInRefused("issuer")
        if "error" in answer or "code" not in answer:
            raise SignInRefused("cancelled" if answer.get("error") == "access_denied" else "provider_refused")
        oidc_request = oidc.Request(state="", nonce=begun.nonce, verifier=begun.verifier)
        return oidc.finish(
            self.provider, oidc_request, answer["code"], _callback(self.request, self.provider)
        )

    def _sign_in(self, begun: Begun, claims: dict[str, Any]) -> HttpResponse:
        identity = accounts.identity_of(self.provider, claims)
        self.known = identity.user if identity else None
        self.known = user = accounts.find_person(self.provider, claims)
        changes = follow_groups(user, self.provider, claims)
        if not may_enter(caller_for(user)) and not is_invited(self.request, user):
            raise SignInRefused("no_membership")
        setattr(self.request, sessions.DETAIL, {"provider": self.provider.id, **changes})
        setattr(self.request, sessions.PROVED_AT, oidc.proved_at(claims))
        return sign_in.open_session(self.request, user, begun.next, method="sso")

    def _confirm(self, begun: Begun, claims: dict[str, Any]) -> HttpResponse:
        identity = accounts.identity_of(self.provider, claims)
        self.known = self.request.user  # type: ignore[assignment]  # signed in
        if identity is None or identity.user_id != self.request.user.pk:
            raise SignInRefused("other_person")
        proved_at = oidc.proved_at(claims)
        if proved_at is None or proved_at < begun.at - oidc.LEEWAY:
            raise SignInRefused("not_again")
        sessions.confirm(self.request)
        return HttpResponseRedirect(begun.next)
