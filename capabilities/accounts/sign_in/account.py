"""The pages about a person's own account: sessions, linked providers, confirming the password.

Also the sign-in form for superusers with passwords if everyone else uses a provider.
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from capabilities.accounts.models import Identity
from capabilities.accounts.sign_in import sessions, single_sign_on
from capabilities.accounts.sign_in.conf import takes_password_of, takes_passwords
from capabilities.accounts.sign_in.oidc import SignInRefused
from capabilities.accounts.sign_in.recency import MINUTES, is_recent
from capabilities.accounts.sign_in.sessions import in_words
from capabilities.accounts.sign_in.single_sign_on import refusal_page
from studio import additions
from studio.accounts.forms import sentence_about_waiting
from studio.accounts.views import LoginPage
from studio.error_pages import came_from, own_address, render_in_frame, wants_json
from studio.views import StudioPage
from versioning.domain.errors import NotFound
from versioning.domain.uuids import is_key
from versioning.models import SignInAttempts
from versioning.models.throttle import TooManyAttempts, subject

PASSWORD: Final = "confirm_password"  # noqa: S105  the name of a field
_NOT_SENT_AGAIN: Final = frozenset({PASSWORD, "csrfmiddlewaretoken"})


def ask_again(request: HttpRequest) -> HttpResponse | None:
    """Return the page that asks for the password; None if it was confirmed recently or in this form."""
    if is_recent(request):
        return None
    password = request.POST.get(PASSWORD)
    problem = "" if password is None else check_password(request, password)
    if password is not None and not problem:
        return None
    if wants_json(request):
        return JsonResponse(
            {"problems": [_("Confirm your password first: open “Your account”.")]}, status=403
        )
    return confirm_page(request, problem)


def check_password(request: HttpRequest, password: str) -> str:
    """Record in the session that the password is right; otherwise return the error as a sentence."""
    user: Any = request.user
    throttle_key = subject("password", str(user.pk))
    try:
        attempt = SignInAttempts.objects.begin([throttle_key])
    except TooManyAttempts as error:
        return sentence_about_waiting(error.seconds)
    if not takes_password_of(user) or not user.check_password(password):
        return _("Wrong password.")
    attempt.mark_succeeded(throttle_key)
    sessions.confirm(request)
    return ""


def confirm_page(request: HttpRequest, problem: str = "", *, next_url: str = "") -> TemplateResponse:
    """Return the page that asks for the password, with the fields of the form that it interrupts."""
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in _NOT_SENT_AGAIN
        for value in values
    ]
    user: Any = request.user
    return render_in_frame(
        request,
        "company/confirm.html",
        title=_("Confirm your password") if takes_password_of(user) else _("Confirm that it is you"),
        status=400 if problem else 200,
        fields=fields,
        problem=problem,
        minutes=MINUTES,
        takes_password=takes_password_of(user),
        ways=single_sign_on.ways_to_confirm(user, next_url or came_from(request)),
    )


def local_login(request: HttpRequest) -> HttpResponseBase:
    """Show the form for superusers; if everyone can use passwords, redirect to the usual page."""
    if takes_passwords():
        return HttpResponseRedirect(reverse("studio:login"))
    return LoginPage.respond(request, title=_("Sign in as a superuser"), for_superusers=True)


class AccountPage(StudioPage):
    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.page(
            "company/account.html",
            title=_("Your account"),
            has_providers=bool(single_sign_on.list_providers()),
            more=additions.collect(lambda addition: addition.account_links()),
            takes_password=takes_password_of(request.user),
            session_count=len(sessions.list_sessions(request.user)),  # type: ignore[arg-type]  # signed in
        )


class ConfirmPage(StudioPage):
    """Asks for the password, for sessions that administer through the API."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return confirm_page(request, next_url=self._next)

    def post(self, request: HttpRequest) -> HttpResponse:
        problem = check_password(request, request.POST.get(PASSWORD, ""))
        if problem:
            return confirm_page(request, problem, next_url=self._next)
        return self.go(
            self._next,
            _("Confirmed. You won’t be asked again for %(minutes)s minutes.") % {"minutes": MINUTES},
        )

    @property
    def _next(self) -> str:
        return own_address(self.request.GET.get("next", ""), reverse("studio:account"))


class SessionsPage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        user: Any = request.user
        here = request.session.session_key
        open_sessions = sessions.list_sessions(user)
        rows = [(row, in_words(row.browser), row.session_key == here) for row in open_sessions]
        return self.page("company/sessions.html", title=pgettext("signed in", "Sessions"), rows=rows)

    def post(self, request: HttpRequest) -> HttpResponse:
        user: Any = request.user
        here = request.session.session_key
        if "all" in request.POST:
            count = sessions.end_all(user, but=here)
        else:
            number = request.POST.get("session", "")
            ended = [row for row in sessions.list_sessions(user) if str(row.pk) == number]
            if not ended:
                raise NotFound
            sessions.end(ended, of=user)
            count = 1
        message = ngettext("%(count)s session is signed out.", "%(count)s sessions are signed out.", count)
        return self.go(request.path, message % {"count": count})


class LinksPage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show()

    def post(self, request: HttpRequest) -> HttpResponse:
        again = ask_again(request)
        if again is not None:
            return again
        if "remove" in request.POST:
            return self._remove(request.POST["remove"])
        provider = single_sign_on.list_providers().get(request.POST.get("provider", ""))
        if provider is None:
            raise NotFound
        try:
            address = single_sign_on.begin(request, provider, single_sign_on.LINK, request.path)
        except SignInRefused as error:
            return refusal_page(request, error.code, provider.name)
        # Not a redirect: the policy of the pages lets no form lead to another host.
        return self.page(
            "company/leaving.html",
            title=_("Link %(provider)s") % {"provider": provider.name},
            address=address,
            provider=provider,
        )

    def _remove(self, number: str) -> HttpResponse:
        user: Any = self.request.user
        identities = Identity.objects.filter(user=user)
        identity = identities.filter(pk=number).first() if is_key(number) else None
        if identity is None:
            raise NotFound
        if identities.count() == 1 and not takes_password_of(user):
            return self._show(_("Without this link you could not sign in any more."), status=409)
        identity.delete()
        return self.go(self.request.path, _("Link removed."))

    def _show(self, problem: str = "", *, status: int = 200) -> HttpResponse:
        configured = single_sign_on.list_providers()
        user: Any = self.request.user
        linked = list(Identity.objects.filter(user=user).order_by("created_at"))
        issuers = {identity.issuer for identity in linked}
        names = {provider.issuer: provider.name for provider in configured.values()}
        return self.page(
            "company/links.html",
            title=_("Linked sign-ins"),
            status=status,
            problem=problem,
            linked=[(identity, names.get(identity.issuer, identity.issuer)) for identity in linked],
            others=[provider for provider in configured.values() if provider.issuer not in issuers],
        )
