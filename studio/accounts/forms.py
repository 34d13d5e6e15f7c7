"""The forms for signing in and for changing a password; both limit the attempts with wrong passwords."""

from __future__ import annotations

import ipaddress
import logging
import math
import secrets
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from studio.permissions import may_enter
from versioning.conf import get_editor
from versioning.domain.errors import NotFound
from versioning.editor import Invitations
from versioning.models import SignInAttempts, caller_for
from versioning.models.accounts import account
from versioning.models.throttle import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User

BROWSER_COOKIE: Final = "editor_browser"
OPENED_INVITATION: Final = "studio.invitation"
"""The session key for the digest of the last opened invitation link."""
_SALT: Final = "studio.signing_in"  # never changed: existing cookies would become invalid
_COOKIE_AGE: Final = 180 * 24 * 60 * 60
_IPV6_NETWORK: Final = 64  # bits; the smallest network that a provider gives a customer


def invitations() -> Invitations:
    return get_editor().invitation


def is_invited(request: HttpRequest, user: Any) -> bool:
    try:
        invitation = invitations().find(request.session.get(OPENED_INVITATION, ""))
    except NotFound:
        return False
    return bool(invitation.username == user.get_username())


def remember_browser(request: HttpRequest, response: HttpResponse, user: AbstractBaseUser) -> None:
    response.set_cookie(
        BROWSER_COOKIE,
        signing.dumps([_account_subject(user.get_username()), secrets.token_hex(8)], salt=_SALT),
        max_age=_COOKIE_AGE,
        path=reverse("studio:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def client_address(request: HttpRequest) -> str | None:
    """Return the address of the client (for IPv6 the network); None if it is uncertain.

    Clients can send any headers, so only the header named by `EDITOR_CLIENT_ADDRESS_HEADER` is used, and of
    several addresses in it the last one, which the proxy itself added. Behind a proxy without such a header
    all clients would have the proxy's address, so None is returned.
    """
    header = settings.EDITOR_CLIENT_ADDRESS_HEADER
    if header:
        text = request.headers.get(header, "").rpartition(",")[2].strip()
    elif settings.EDITOR_HTTPS:
        return None
    else:
        text = request.META.get("REMOTE_ADDR", "")
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
        address = address.ipv4_mapped
    return str(address)


def list_subjects(request: HttpRequest, name: str) -> list[str]:
    """Return the subjects of an attempt; the first one is reset when the password is right."""
    own = _account_subject(name)
    browser = _known_browser(request, own)
    if browser is not None:
        return [browser]
    address = client_address(request)
    return [own, subject("address", address)] if address else [own]


def _known_browser(request: HttpRequest, account_subject: str) -> str | None:
    """Return the subject for the browser if it has signed in to this account before."""
    try:
        known_subject, browser = signing.loads(
            request.COOKIES.get(BROWSER_COOKIE, ""), salt=_SALT, max_age=_COOKIE_AGE
        )
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return subject("browser", f"{known_subject} {browser}") if known_subject == account_subject else None


def _account_subject(name: str) -> str:
    return subject("account", get_user_model().normalize_username(name))


class ErrorsAtPassword:
    """A form of Django's with a password and its confirmation; Django shows all errors at the second one.

    The first field with an error gets the focus.
    """

    fields: dict[str, Any]
    errors: Any

    def validate_password_for_user(self, user: User, password_field_name: str = "password2") -> None:  # noqa: S107  a field
        """Check the password; the confirmation only has to be the same."""
        first = password_field_name.removesuffix("2") + "1"
        super().validate_password_for_user(user, password_field_name=first)  # type: ignore[misc]

    def full_clean(self) -> None:
        """Check the form, and let its first field with an error have the focus."""
        super().full_clean()  # type: ignore[misc]  # of Django's forms
        first = next((name for name in self.fields if name in self.errors), None)
        if first is not None:
            for field in self.fields.values():
                field.widget.attrs.pop("autofocus", None)
            self.fields[first].widget.attrs["autofocus"] = True


class NewPasswordForm(ErrorsAtPassword, SetPasswordForm):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """Chooses a password for a new account."""


logger = logging.getLogger("studio.signing_in")  # docs/reference/logs.md documents this name

_MINUTE: Final = 60


class LimitedAttemptsForm:
    """A form that refuses further attempts for a while after too many wrong passwords."""

    seconds_to_wait = 0

    def too_many(self, error: TooManyAttempts) -> ValidationError:
        self.seconds_to_wait = error.seconds
        return ValidationError(
            sentence_about_waiting(error.seconds),
            code="too_many_attempts",
        )


class SignInForm(LimitedAttemptsForm, AuthenticationForm):
    """Signs in members of a workspace, and people who are about to accept an invitation."""

    request: HttpRequest
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy("The user name or the password is wrong."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["username"].widget.attrs["autofocus"]  # a phone's keyboard would cover the page

    def clean(self) -> dict[str, Any]:
        """Check the password unless there were too many wrong ones; unknown names count in the same way."""
        name = self.cleaned_data.get("username")
        if name is None or not self.cleaned_data.get("password"):
            return self.cleaned_data
        # Text that is not an account's name may be a password typed into the wrong field.
        account_name = "unknown" if account(name) is None else get_user_model().normalize_username(name)
        about = {"account": account_name, "address": client_address(self.request) or "unknown"}
        own, *other_subjects = list_subjects(self.request, name)
        try:
            attempt = SignInAttempts.objects.begin([own, *other_subjects])
        except TooManyAttempts as error:
            extra = {**about, "wait_seconds": error.seconds}
            logger.warning("a password was not checked after too many wrong ones", extra=extra)
            raise self.too_many(error) from None
        try:
            return super().clean()
        finally:
            if self.user_cache is not None:
                attempt.mark_succeeded(own)
            else:
                self.fields["password"].widget.attrs["autofocus"] = True
                logger.warning("a wrong password", extra={**about, "wait_seconds": attempt.seconds})

    def confirm_login_allowed(self, user: User) -> None:
        """Raise `ValidationError` for inactive accounts and for people neither members nor invited."""
        super().confirm_login_allowed(user)
        if not may_enter(caller_for(user)) and not is_invited(self.request, user):
            raise ValidationError(
                _("You are not a member of any workspace yet. Ask an admin of a workspace to invite you."),
                code="no_membership",
            )


class SuperuserSignInForm(SignInForm):
    """Signs in superusers only, if everyone else signs in another way."""

    def confirm_login_allowed(self, user: User) -> None:
        """Raise `ValidationError` for everyone else."""
        super().confirm_login_allowed(user)
        if not user.is_superuser:
            raise ValidationError(
                _("Passwords are for superusers here. Sign in as everyone else does."), code="no_passwords"
            )


class PasswordAlone(ErrorsAtPassword):
    """A form that writes only the password of its user.

    The account was read before the password was hashed, which takes a while: saving all fields would undo
    concurrent changes.
    """

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002  as Django's
        user = super().save(commit=False)  # type: ignore[misc]  # of one of Django's forms
        if commit:
            user.save(update_fields=["password"])
        return user


class ChangePasswordForm(PasswordAlone, LimitedAttemptsForm, PasswordChangeForm):
    """Changes the person's own password; wrong old passwords are limited here as well."""

    def clean_old_password(self) -> str:
        """Check the old password unless there were too many wrong ones."""
        own = subject("password", str(self.user.pk))
        try:
            attempt = SignInAttempts.objects.begin([own])
        except TooManyAttempts as error:
            raise self.too_many(error) from None
        old: str = super().clean_old_password()
        attempt.mark_succeeded(own)
        return old


def with_retry_after(form: Any, response: HttpResponse) -> HttpResponse:
    """Return the answer, with status 429 if its form has refused the attempt."""
    if isinstance(form, LimitedAttemptsForm) and form.seconds_to_wait:
        response.status_code = 429
        response["Retry-After"] = str(form.seconds_to_wait)
    return response


def sentence_about_waiting(seconds: int) -> str:
    if seconds < _MINUTE:
        return ngettext(
            "There were too many wrong attempts. Wait %(count)s second, then try again.",
            "There were too many wrong attempts. Wait %(count)s seconds, then try again.",
            seconds,
        ) % {"count": seconds}
    minutes = math.ceil(seconds / _MINUTE)
    return ngettext(
        "There were too many wrong attempts. Wait %(count)s minute, then try again.",
        "There were too many wrong attempts. Wait %(count)s minutes, then try again.",
        minutes,
    ) % {"count": minutes}


TEXTS: Final = (
    gettext_noop("Reset password"),
    gettext_noop("Set password"),
    gettext_noop("Set password: %s"),
    gettext_noop("Enabled"),
    gettext_noop("Disabled"),
    gettext_noop("Password-based authentication"),
    gettext_noop("Password-based authentication was disabled."),
    gettext_noop("Disable password-based authentication"),
    gettext_noop("Enable password-based authentication"),
    gettext_noop("Enable password-based authentication for this user by setting a password."),
    gettext_noop("This action will <strong>enable</strong> password-based authentication for this user."),
    gettext_noop(
        "Whether the user will be able to authenticate using a password or not. If disabled, they may still "
        "be able to authenticate using other backends, such as Single Sign-On or LDAP."
    ),
    gettext_noop("Raw passwords are not stored, so there is no way to see the user’s password."),
    gettext_noop("Conflicting form data submitted. Please try again."),
    gettext_noop("In case you’ve forgotten, you are:"),
    # Words: “Konto” for a user, “Superuser”, “Speichern”.
    gettext_noop("Authentication and Authorization"),
    gettext_noop("user"),
    gettext_noop("users"),
    gettext_noop("User"),
    gettext_noop("superuser status"),
    gettext_noop("Designates that this user has all permissions without explicitly assigning them."),
    gettext_noop(
        "Designates whether this user should be treated as active. "
        "Unselect this instead of deleting accounts."
    ),
    gettext_noop("This account is inactive."),
    gettext_noop("Enter a new password for the user <strong>%(username)s</strong>."),
    gettext_noop("Enter the same password as before, for verification."),
    gettext_noop("The two password fields didn’t match."),
    gettext_noop("This password is entirely numeric."),
    gettext_noop("Save and continue editing"),
    gettext_noop("Save and add another"),
    gettext_noop("Save as new"),
    gettext_noop("Save and view"),
    gettext_noop("Change history: %s"),
    gettext_noop("This object doesn’t have a change history. It probably wasn’t added via this admin site."),
)
