"""The form for a new password, which says what is wrong with it beside the password itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.forms import SetPasswordForm

from studio.accounts.focus import FocusOnError

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class ErrorsAtPassword:
    """A form of Django's with a password and its confirmation; Django shows all errors at the second one."""

    def validate_password_for_user(self, user: User, password_field_name: str = "password2") -> None:  # noqa: S107  a field
        """Check the password; the confirmation only has to be the same."""
        first = password_field_name.removesuffix("2") + "1"
        super().validate_password_for_user(user, password_field_name=first)  # type: ignore[misc]


class NewPasswordForm(FocusOnError, ErrorsAtPassword, SetPasswordForm):  # type: ignore[type-arg]  # Django's class takes none at runtime
    """Chooses a password for a new account."""
