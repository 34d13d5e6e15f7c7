"""The page where people say what they are called."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.people import display_name
from studio.views import StudioPage
from versioning.domain.errors import NotFound

_FIELDS: Final = {
    "first_name": (gettext_lazy("First name"), "given-name"),
    "last_name": (gettext_lazy("Last name"), "family-name"),
}
"""The label of each field, and what browsers fill in."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""The categories of characters that nobody sees, or that change the direction of the text behind them."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Those of them with which names in some scripts are spelt."""


@lru_cache
def name_fields() -> list[str]:
    """Return the fields of the project's user model that hold a person's name; it may have none."""
    return [name for name in _FIELDS if _has_field(name)]


def _has_field(name: str) -> bool:
    try:
        get_user_model()._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


class NameForm(forms.Form):
    """A person's first and last name, as far as the user model has them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in name_fields():
            label, autocomplete = _FIELDS[name]
            field: Any = get_user_model()._meta.get_field(name)
            attributes = {"autocomplete": autocomplete, "autocapitalize": "words"}
            self.fields[name] = forms.CharField(
                label=label,
                required=False,
                max_length=field.max_length,
                widget=forms.TextInput(attributes),
                validators=[_check_readable],
            )


def _check_readable(name: str) -> None:
    """Raise `ValidationError` for a name that cannot be read, or that changes the text around it."""
    is_readable = any(character.isalnum() for character in name)
    if not is_readable or any(
        unicodedata.category(one) in _INVISIBLE and one not in _JOINERS for one in name
    ):
        raise ValidationError(_("Use letters that everybody can read."))


class NamePage(StudioPage):
    """Where a person sets the name under which others see them."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the form; raises `NotFound` if the user model has no names."""
        if not name_fields():
            raise NotFound
        return self.show(NameForm(initial={name: getattr(request.user, name) for name in name_fields()}))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the name; a form with errors is shown again."""
        form = NameForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        user: Any = request.user
        for name in name_fields():
            setattr(user, name, form.cleaned_data[name])
        user.save(update_fields=name_fields())
        return self.go(request.path, _("You are shown as %(name)s now.") % {"name": display_name(user)})

    def show(self, form: NameForm, *, status: int = 200) -> HttpResponse:
        """Return the page with the form."""
        return self.page("studio/accounts/name.html", title=_("Your name"), form=form, status=status)
