"""The page for mail preferences, and the pages for forgotten passwords.

The page for a forgotten password gives the same answer, in the same time, whether or not the account exists.
It stores the typed text, and a worker looks up the account later.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path, reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from editor_client.shared.text_keys import caseless

from capabilities.mail import conf
from capabilities.mail.models import Mail, MailKind, MailPreferences
from capabilities.mail.recipients import address_field, list_topics, mail_address
from studio import sign_in, site
from studio.accounts.forms import PasswordAlone, client_address, sentence_about_waiting
from studio.error_pages import render_in_frame
from studio.extensions import Extension
from studio.navigation import Link
from studio.sign_in_methods import SignInExtension
from studio.views import StudioPage
from versioning.domain.errors import NotFound
from versioning.models import Membership, SignInAttempts
from versioning.models.accounts import account, accounts, is_mail_address
from versioning.models.text_keys import equals_caseless
from versioning.models.throttle import TooManyAttempts, subject


def links() -> list[Link]:
    """Return the link of the page about the account, if mail is sent."""
    return [Link(title=_("Mail"), address=reverse("studio:account_mail"))] if conf.is_on() else []


class MailPage(StudioPage):
    """Shows the address and the topics, and changes them."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        return self._show()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the preferences, or another address."""
        if not conf.is_on():
            raise NotFound
        return self._change_address() if "address" in request.POST else self._choose()

    @cached_property
    def field(self) -> str | None:
        """The field with the mail address; None if accounts have none."""
        return address_field()

    def _choose(self) -> HttpResponse:
        form = self.request.POST
        user: Any = self.request.user
        offered = [topic.name for topic in list_topics()]
        before = MailPreferences.objects.of([user.pk])[user.pk].turned_off
        # Choices for topics that are not offered now, such as those of a removed application, are unchanged.
        turned_off = [name for name in before if name not in offered]
        turned_off += [name for name in offered if name not in form.getlist("topic")]
        preferences = {"turned_off": turned_off, "daily": form.get("when") == "daily"}
        MailPreferences.objects.update_or_create(user_id=user.pk, defaults=preferences)
        return self.go(self.request.path, _("Mail settings saved."))

    def _change_address(self) -> HttpResponse:
        if self.field is None:
            raise NotFound
        again = sign_in.ask_again(self.request)
        if again is not None:
            return again
        address = self.request.POST["address"].strip()
        user: Any = self.request.user
        if address and not is_mail_address(address):
            return self._show(problem=_("Enter a valid mail address."), typed=address, status=400)
        before = mail_address(user)
        if address != before:
            accounts().filter(pk=user.pk).update(**{self.field: address})
            if before:
                Mail.due(MailKind.ADDRESS_CHANGED, user_id=user.pk, detail={"to": before}).save()
        return self.go(self.request.path, _("Mail address saved."))

    def _show(self, *, problem: str = "", typed: str | None = None, status: int = 200) -> HttpResponse:
        if not conf.is_on():
            raise NotFound
        user: Any = self.request.user
        preferences = MailPreferences.objects.of([user.pk])[user.pk]
        return self.page(
            "mail/account.html",
            title=_("Mail"),
            status=status,
            problem=problem,
            has_address=self.field is not None,
            address=typed if typed is not None else str(getattr(user, self.field or "", "") or ""),
            topics=[(topic, preferences.wants(topic.name)) for topic in list_topics()],
            daily=preferences.daily,
        )


if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_ASKED: Final = 254
"""The longest user name or mail address that is looked for."""
MAX_ACCOUNTS: Final = 10
"""The maximum number of accounts with one address that get a link."""


class LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens, after a prefix by which `versioning.api.request_log` removes them from log lines."""

    prefix = "ep_"

    def make_token(self, user: Any) -> str:
        """Return a token, which is valid until the password changes or someone signs in."""
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


def find_accounts(text: str) -> Iterator[User]:
    """Yield the accounts with a user name or a mail address that may set a new password."""
    field, exact_match = address_field(), account(text)
    alike = accounts().filter(equals_caseless(field, text)) if field else accounts().none()
    users = {
        user.pk: user for user in (exact_match, *alike.order_by("pk")[:MAX_ACCOUNTS]) if user is not None
    }
    yield from filter(may_set_password, users.values())


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
        """Store the typed text for a worker, and show what happens if such an account exists."""
        account_text = request.POST.get("asked", "").strip()
        if not account_text or len(account_text) > MAX_ASKED or not account_text.isprintable():
            return self._page(problem=_("Enter a user name or a mail address."), status=400)
        address = client_address(request)
        subjects = [subject("forgotten", caseless(account_text))]
        subjects += [subject("address", f"forgotten {address}")] if address else []
        try:
            SignInAttempts.objects.begin(subjects)
        except TooManyAttempts as error:
            response = self._page(problem=sentence_about_waiting(error.seconds), status=429)
            response["Retry-After"] = str(error.seconds)
            return response
        Mail.due(MailKind.FORGOTTEN_PASSWORD, detail={"asked": account_text}).save()
        return self._page(is_sent=True)

    def _page(self, *, status: int = 200, **context: Any) -> HttpResponse:
        title = _("Forgotten your password?")
        return render_in_frame(self.request, "mail/forgotten.html", title=title, status=status, **context)


class NewPasswordForm(PasswordAlone, SetPasswordForm):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """The form for a new password."""


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class NewPasswordPage(PasswordResetConfirmView):
    """The page of the link: sets a new password and ends all sessions of the person."""

    template_name = "mail/new_password.html"
    form_class = NewPasswordForm
    token_generator = tokens
    success_url = reverse_lazy("studio:login")

    def get_user(self, uidb64: str) -> User | None:
        """Return the account, if it may still set a password."""
        user: User | None = super().get_user(uidb64)
        return user if may_set_password(user) else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the context of the page."""
        context = super().get_context_data(**kwargs)
        return {**site.each_context(self.request), **context, "title": _("A new password")}

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password, and confirm it."""
        super().form_valid(form)
        sign_in.end_sessions(self.user)
        return render_in_frame(self.request, self.template_name, title=_("A new password"), is_done=True)


urlpatterns = [
    path("account/mail/", MailPage.as_view(), name="account_mail"),
    path("login/forgotten/", ForgottenPasswordPage.as_view(), name="forgotten_password"),
    path("login/new-password/<str:uidb64>/<str:token>/", NewPasswordPage.as_view(), name="new_password"),
]


STUDIO: Final = Extension(
    own_urls="capabilities.mail.studio",
    account_links=links,
    sends_invitations=conf.is_on,
    sign_in=SignInExtension(forgotten_password=page_address),
)
