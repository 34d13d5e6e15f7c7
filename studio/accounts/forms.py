"""The forms for signing in and for changing a password; both limit the attempts with wrong passwords."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from studio.accounts.attempts import client_address, subjects_of
from studio.accounts.new_passwords import ErrorsAtPassword
from studio.accounts.views import is_invited
from studio.permissions import may_enter
from versioning.models import SignInAttempts, caller_for
from versioning.models.accounts import account
from versioning.models.sign_in_attempts import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger("studio.signing_in")  # docs/reference/logs.md documents this name

_MINUTE: Final = 60


class LimitedAttemptsForm:
    """A form that refuses further attempts for a while after too many wrong passwords."""

    seconds_to_wait = 0

    def too_many(self, error: TooManyAttempts) -> ValidationError:
        """Return the error that the page shows."""
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
        del self.fields["username"].widget.attrs[
            "autofocus"
        ]  # a phone would cover the page with its keyboard

    def clean(self) -> dict[str, Any]:
        """Check the password unless there were too many wrong ones; unknown names count in the same way."""
        name = self.cleaned_data.get("username")
        if name is None or not self.cleaned_data.get("password"):
            return self.cleaned_data
        about = {"account": _known_name(name), "address": client_address(self.request) or "unknown"}
        own, *others = subjects_of(self.request, name)
        try:
            attempt = SignInAttempts.objects.begin([own, *others])
        except TooManyAttempts as error:
            extra = {**about, "wait_seconds": error.seconds}
            logger.warning("a password was not looked at: too many wrong ones came before", extra=extra)
            raise self.too_many(error) from None
        try:
            return super().clean()
        finally:
            if self.user_cache is not None:
                attempt.succeeded(own)
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
    """Signs in superusers only, where everybody else signs in another way."""

    def confirm_login_allowed(self, user: User) -> None:
        """Raise `ValidationError` for everybody else."""
        super().confirm_login_allowed(user)
        if not user.is_superuser:
            raise ValidationError(
                _("Passwords are for superusers here. Sign in as everyone else does."), code="no_passwords"
            )


class PasswordAlone(ErrorsAtPassword):
    """A form that writes the password of its user and nothing else.

    The account was read before the password was hashed, which takes a while: what was taken away from it
    meanwhile would come back.
    """

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002  as Django's
        """Set the password, and store it."""
        user = super().save(commit=False)  # type: ignore[misc]  # of one of Django's forms
        if commit:
            user.save(update_fields=["password"])
        return user


class ChangePasswordForm(PasswordAlone, LimitedAttemptsForm, PasswordChangeForm):
    """Changes the person's own password; wrong old passwords are limited here, too."""

    def clean_old_password(self) -> str:
        """Check the old password unless there were too many wrong ones."""
        own = subject("password", str(self.user.pk))
        try:
            attempt = SignInAttempts.objects.begin([own])
        except TooManyAttempts as error:
            raise self.too_many(error) from None
        old: str = super().clean_old_password()
        attempt.succeeded(own)
        return old


def with_retry_after(form: Any, response: HttpResponse) -> HttpResponse:
    """Return the answer, with status 429 if its form has refused the attempt."""
    if isinstance(form, LimitedAttemptsForm) and form.seconds_to_wait:
        response.status_code = 429
        response["Retry-After"] = str(form.seconds_to_wait)
    return response


def _known_name(name: str) -> str:
    # Text that is not an account's name may be a password typed into the wrong field.
    return "unknown" if account(name) is None else get_user_model().normalize_username(name)


def sentence_about_waiting(seconds: int) -> str:
    """Return the time to wait, in seconds or minutes, as a sentence."""
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
