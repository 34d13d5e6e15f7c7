"""Signing in: who may come in, and how many wrong passwords are looked at.

Wrong passwords are counted for the account and for the address that they come from. A browser in which
somebody has signed in to the account before is counted for itself instead: else whoever knows a user name
could keep its owner out with wrong passwords.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import secrets
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.forms import AuthenticationForm as UnfoldAuthenticationForm

from studio.callers import may_enter
from studio.invited import is_invited
from versioning.models import SignInAttempts, caller_for
from versioning.models.accounts import account
from versioning.models.sign_in_attempts import TooManyAttempts, subject

logger = logging.getLogger(__name__)

BROWSER_COOKIE: Final = "editor_browser"
_COOKIE_AGE: Final = 180 * 24 * 60 * 60
_IPV6_NETWORK: Final = 64  # bits; what one customer of a provider has at the least
_MINUTE: Final = 60


class PatientForm:
    """A form that says how long to wait when too many wrong passwords came before."""

    seconds_to_wait = 0

    def too_many(self, fault: TooManyAttempts) -> ValidationError:
        """Return what is said on the page."""
        self.seconds_to_wait = fault.seconds
        return ValidationError(
            f"There were too many wrong passwords. Wait {_spoken(fault.seconds)}, then try again.",
            code="too_many_attempts",
        )


class SignInForm(PatientForm, UnfoldAuthenticationForm):
    """Lets in whoever is a member of a workspace, or about to become one; asked anew with every request."""

    error_messages = AuthenticationForm.error_messages  # those of the admin speak of staff accounts

    def clean(self) -> None:
        """Check the password, unless too many wrong ones came before; an unknown name counts the same."""
        name = self.cleaned_data.get("username")
        if name is None or not self.cleaned_data.get("password"):
            return
        told = {"account": _known_name(name), "address": client_address(self.request) or "unknown"}
        own, *others = _subjects(self.request, name)
        try:
            attempt = SignInAttempts.objects.begin([own, *others])
        except TooManyAttempts as fault:
            extra = {**told, "wait_seconds": fault.seconds}
            logger.warning("a password was not looked at: too many wrong ones came before", extra=extra)
            raise self.too_many(fault) from None
        try:
            super().clean()
        finally:
            if self.user_cache is not None:
                attempt.succeeded(own)
            else:
                logger.warning("a wrong password", extra={**told, "wait_seconds": attempt.seconds})

    def confirm_login_allowed(self, user: User) -> None:
        """Raise `ValidationError` for who is inactive, or neither a member of anything nor invited."""
        AuthenticationForm.confirm_login_allowed(self, user)
        if not may_enter(caller_for(user)) and not is_invited(self.request, user):
            raise ValidationError(
                "You are a member of no workspace yet. Ask an admin of a workspace to invite you.",
                code="no_membership",
            )


class ChangePasswordForm(PatientForm, AdminOwnPasswordChangeForm):
    """Changes one's own password; whoever finds an open session cannot try out passwords there either."""

    def clean_old_password(self) -> str:
        """Check it, unless too many wrong ones came before."""
        own = subject("password", str(self.user.pk))
        try:
            attempt = SignInAttempts.objects.begin([own])
        except TooManyAttempts as fault:
            raise self.too_many(fault) from None
        old: str = super().clean_old_password()
        attempt.succeeded(own)
        return old


def say_how_long_to_wait(form: Any, response: HttpResponse) -> HttpResponse:
    """Make the answer with a form a 429 where the form has refused to look at a password."""
    if isinstance(form, PatientForm) and form.seconds_to_wait:
        response.status_code = 429
        response["Retry-After"] = str(form.seconds_to_wait)
    return response


def remember_browser(request: HttpRequest, response: HttpResponse) -> None:
    """Let the browser show, the next time, that this account has been signed in to in it before."""
    response.set_cookie(
        BROWSER_COOKIE,
        signing.dumps([_account_subject(request.user.get_username()), secrets.token_hex(8)], salt=__name__),
        max_age=_COOKIE_AGE,
        path=reverse("admin:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def client_address(request: HttpRequest) -> str | None:
    """Return the address that a request comes from, of IPv6 the network; None where it cannot be known.

    What a caller can write into a header is believed only where `EDITOR_CLIENT_ADDRESS_HEADER` names it,
    and of several addresses the last one, which the proxy itself has added. Behind a proxy that names no
    address everybody would have the proxy's own, so then nobody has any.
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


def _subjects(request: HttpRequest, name: str) -> list[str]:
    """Return what an attempt counts for; the first is forgotten when the password is right."""
    own = _account_subject(name)
    browser = _known_browser(request, own)
    if browser is not None:
        return [browser]
    address = client_address(request)
    return [own, subject("address", address)] if address else [own]


def _known_browser(request: HttpRequest, account_subject: str) -> str | None:
    """Return what is counted for the browser, if the account has been signed in to in it before."""
    try:
        known, browser = signing.loads(
            request.COOKIES.get(BROWSER_COOKIE, ""), salt=__name__, max_age=_COOKIE_AGE
        )
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return subject("browser", f"{known} {browser}") if known == account_subject else None


def _account_subject(name: str) -> str:
    return subject("account", User.normalize_username(name))


def _known_name(name: str) -> str:
    # What is no account's name may be a password that somebody has typed into the wrong field.
    return "unknown" if account(name) is None else User.normalize_username(name)


def _spoken(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    minutes = math.ceil(seconds / _MINUTE)
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
