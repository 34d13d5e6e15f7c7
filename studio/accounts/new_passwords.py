"""Forms for a new password, which say what is wrong with it at the password itself, and lead there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import SetPasswordForm

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class ErrorsAtPassword:
    """A form of Django's with a password and its confirmation; Django shows all errors at the second one.

    The first field with an error has the focus, wherever it was before.
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
