"""The forms for signing in and for changing a password; both limit the attempts with wrong passwords."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.forms import AuthenticationForm as UnfoldAuthenticationForm

from studio.accounts.attempts import client_address, subjects_of
from studio.accounts.views import is_invited
from studio.auth import may_enter
from versioning.models import SignInAttempts, caller_for
from versioning.models.accounts import account
from versioning.models.sign_in_attempts import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger("studio.signing_in")  # the name that docs/administration.md gives to operators

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
        about = {"account": _known_name(name), "address": client_address(self.request) or "unknown"}
        own, *others = subjects_of(self.request, name)
        try:
            attempt = SignInAttempts.objects.begin([own, *others])
        except TooManyAttempts as fault:
            extra = {**about, "wait_seconds": fault.seconds}
            logger.warning("a password was not looked at: too many wrong ones came before", extra=extra)
            raise self.too_many(fault) from None
        try:
            super().clean()
        finally:
            if self.user_cache is not None:
                attempt.succeeded(own)
            else:
                logger.warning("a wrong password", extra={**about, "wait_seconds": attempt.seconds})

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


def _known_name(name: str) -> str:
    # What is no account's name may be a password that somebody has typed into the wrong field.
    return "unknown" if account(name) is None else get_user_model().normalize_username(name)


def _spoken(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    minutes = math.ceil(seconds / _MINUTE)
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
