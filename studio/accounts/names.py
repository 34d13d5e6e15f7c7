"""The page where people say what they are called."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any, Final

from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.text_keys import caseless

from studio.people import display_name, reserved_names
from studio.preferences.stored import LANGUAGES
from studio.views import StudioPage
from versioning.domain.errors import NotFound
from versioning.models.accounts import mixes_alphabets, name_fields

_FIELDS: Final = {
    "first_name": (gettext_lazy("First name"), "given-name"),
    "last_name": (gettext_lazy("Last name"), "family-name"),
}
"""The label of each field, and what browsers fill in."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The categories of characters that are invisible, or that change the direction of the text behind them."""
_JOINERS: Final = frozenset("\u200c\u200d")
"""Those of them with which names in some scripts are spelt."""
MAX_NAME: Final = 60
"""The maximum length of a first or a last name, so that lines with names can be read."""
_MARKS: Final = 3
"""How many marks a letter carries at most: Vietnamese, Thai and Hebrew need so many."""


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
                max_length=min(field.max_length, MAX_NAME),
                widget=forms.TextInput(attributes),
                validators=[_check_readable],
            )

    def clean(self) -> dict[str, Any]:
        """Refuse what the studio calls the reader or the application."""
        cleaned = super().clean() or {}
        whole = " ".join(" ".join(filter(None, cleaned.values())).split())
        if caseless(unicodedata.normalize("NFKC", whole)) in _reserved_names():
            self.add_error(name_fields()[0], _("The studio says this about someone else."))
        return cleaned


def _check_readable(name: str) -> None:
    """Raise `ValidationError` for a name that is no text to read, or that imitates another.

    Such are names without letters, with characters that are invisible or change the text around them, with
    heaps of marks, and words that mix alphabets whose letters look alike.
    """
    is_readable = any(character.isalnum() for character in name)
    is_invisible = any(unicodedata.category(one) in _INVISIBLE and one not in _JOINERS for one in name)
    kinds = "".join(unicodedata.category(one)[0] for one in unicodedata.normalize("NFD", name))
    is_heaped = "M" * (_MARKS + 1) in kinds
    if not is_readable or is_invisible or is_heaped or any(map(mixes_alphabets, name.split())):
        raise ValidationError(_("Use letters that everyone can read."))


@lru_cache
def _reserved_names() -> frozenset[str]:
    """Return what the studio calls the reader and the application, in each of its languages."""
    found: set[str] = set()
    for language in LANGUAGES:
        with translation.override(language):
            found |= reserved_names()
    return frozenset(found)


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
        return self.go(request.path, _("You are now shown as %(name)s.") % {"name": display_name(user)})

    def show(self, form: NameForm, *, status: int = 200) -> HttpResponse:
        return self.page("studio/accounts/name.html", title=_("Your name"), form=form, status=status)
