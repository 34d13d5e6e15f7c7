"""Forgotten passwords: a link by mail, with which the person sets a new one.

The page answers the same, in the same time, whether the account exists: it stores what was typed, and a
worker looks for the account later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from editor_client.shared.text_keys import caseless

from capabilities.mail import conf
from capabilities.mail.models import Mail, MailKind
from capabilities.mail.recipients import address_field
from studio import sign_in, site
from studio.accounts.forms import PasswordAlone, client_address, sentence_about_waiting
from studio.error_pages import framed
from versioning.models import Membership, SignInAttempts
from versioning.models.accounts import account, accounts
from versioning.models.text_keys import equals_caseless
from versioning.models.throttle import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_ASKED: Final = 254
"""The longest user name or mail address that is looked for."""
MAX_ACCOUNTS: Final = 10
"""How many accounts with one address are written to."""


class LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens, after a prefix by which `versioning.api.request_log` removes them from log lines."""

    prefix = "ep_"

    def make_token(self, user: Any) -> str:
        """Return a token, which counts until the password changes or somebody signs in."""
        return self.prefix + super().make_token(user)

    def check_token(self, user: Any, token: str | None) -> bool:
        """Return whether a token is right."""
        is_ours = token is not None and token.startswith(self.prefix)
        return is_ours and super().check_token(user, (token or "").removeprefix(self.prefix))


tokens: Final = LinkTokens()


def page_address() -> str:
    """Return the address of the page for people who have forgotten their password; empty without mail."""
    return reverse("studio:forgotten_password") if conf.is_on() else ""


def new_password_address(user: User) -> str:
    """Return the address at which a person sets a new password, once."""
    number = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("studio:new_password", args=[number, tokens.make_token(user)])


def may_set_password(user: User | None) -> bool:
    """Return whether an account is active, of a person, and signs in with a password."""
    if user is None or not user.is_active or not sign_in.takes_password_of(user):
        return False
    return not Membership.objects.filter(user=user, is_service=True).exists()


def accounts_of(asked: str) -> Iterator[User]:
    """Yield the accounts with a user name or a mail address that may set a new password."""
    field, named = address_field(), account(asked)
    alike = accounts().filter(equals_caseless(field, asked)) if field else accounts().none()
    found = {one.pk: one for one in (named, *alike.order_by("pk")[:MAX_ACCOUNTS]) if one is not None}
    yield from filter(may_set_password, found.values())


@method_decorator(never_cache, name="dispatch")
class ForgottenPasswordPage(View):
    """Asks for the user name or the mail address, and lets a worker send the link."""

    http_method_names = ("get", "post")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; without mail there is no such page."""
        if not conf.is_on():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the form."""
        return self._page()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store what was typed for a worker, and say what happens if there is such an account."""
        asked = request.POST.get("asked", "").strip()
        if not asked or len(asked) > MAX_ASKED or not asked.isprintable():
            return self._page(problem=_("Enter a user name or a mail address."), status=400)
        address = client_address(request)
        counted = [subject("forgotten", caseless(asked))]
        counted += [subject("address", f"forgotten {address}")] if address else []
        try:
            SignInAttempts.objects.begin(counted)
        except TooManyAttempts as error:
            response = self._page(problem=sentence_about_waiting(error.seconds), status=429)
            response["Retry-After"] = str(error.seconds)
            return response
        Mail.due(MailKind.FORGOTTEN_PASSWORD, detail={"asked": asked}).save()
        return self._page(is_sent=True)

    def _page(self, *, status: int = 200, **context: Any) -> HttpResponse:
        title = _("Forgotten your password?")
        return framed(self.request, "mail/forgotten.html", title=title, status=status, **context)


class NewPasswordForm(PasswordAlone, SetPasswordForm):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """The form for a new password."""


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class NewPasswordPage(PasswordResetConfirmView):
    """Where the link leads: sets a new password, and ends all sessions of the person."""

    template_name = "mail/new_password.html"
    form_class = NewPasswordForm
    token_generator = tokens
    success_url = reverse_lazy("studio:login")

    def get_user(self, uidb64: str) -> User | None:
        """Return the account, if it may still set a password."""
        user: User | None = super().get_user(uidb64)
        return user if may_set_password(user) else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page shows."""
        context = super().get_context_data(**kwargs)
        return {**site.each_context(self.request), **context, "title": _("A new password")}

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password, and say that it counts."""
        super().form_valid(form)
        sign_in.end_sessions(self.user)
        return framed(self.request, self.template_name, title=_("A new password"), is_done=True)
