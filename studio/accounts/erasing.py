"""The page on which superusers erase a person."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.views import StudioPage
from versioning.domain.access import Role
from versioning.domain.errors import Forbidden, NotFound
from versioning.models.accounts import accounts

_META: Final = accounts().model._meta
LIST: Final = f"studio:{_META.app_label}_{_META.model_name}_changelist"
PAGE: Final = f"{_META.app_label}_{_META.model_name}_erase"


class EraseForm(forms.Form):
    """The user name, typed once more, because this cannot be undone."""

    username = forms.CharField(
        label=gettext_lazy("The user name, to confirm"),
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, username: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._username = username

    def clean_username(self) -> str:
        """Refuse another name."""
        if self.cleaned_data["username"] != self._username:
            raise ValidationError(_("This is not the user name of the account."))
        return self._username


class ErasePage(StudioPage):
    """Asks for the user name, and erases the person."""

    asks_password_again = True

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Take the id of the account from the address."""
        super().setup(request, *args, **kwargs)
        self._id = unquote(kwargs["object_id"])

    def get(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what is erased and what stays."""
        return self._show(EraseForm(username=self._username))

    def post(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Erase the person, and show the list of accounts."""
        form = EraseForm(request.POST, username=self._username)
        if not form.is_valid():
            return self._show(form, status=400)
        erased = self.editor.person.erase(self._username, by=self.caller)
        message = _("The person is erased. What they did remains under the name %(name)s.")
        return self.go(reverse(LIST), message % {"name": erased.username})

    @cached_property
    def _username(self) -> str:
        """The name of the account; raises `Forbidden` for others than superusers."""
        if self.caller.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may erase people.")
        try:
            found = accounts().filter(pk=self._id).first()
        except (ValueError, ValidationError):
            found = None
        if found is None:
            raise NotFound
        return found.get_username()

    def _show(self, form: EraseForm, *, status: int = 200) -> HttpResponse:
        return self.page(
            "studio/accounts/erase.html",
            title=_("Erase %(name)s?") % {"name": self._username},
            status=status,
            form=form,
            back_address=reverse(LIST),
        )
