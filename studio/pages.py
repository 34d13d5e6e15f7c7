"""Pages with one form or one confirmed action, which call one verb and redirect.

`FormPage` and `ActionPage` come before the page of a workspace or of a resource among the bases of a class:
`class KeysPage(FormPage, WorkspacePage)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.http import HttpRequest, HttpResponse
from pydantic.alias_generators import to_snake

from studio.translation import translated, translated_at_field
from studio.views import StudioPage
from versioning.domain.errors import IdTaken, Invalid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def add_errors(form: forms.Form, error: Invalid, **names: str) -> None:
    """Add the errors to their fields; `names` has the form's names of the fields that it names differently.

    A form names a field as the API does, in snake_case.
    """
    for issue in error.issues:
        field = names.get(issue.field, to_snake(issue.field))
        form.add_error(field if field in form.fields else None, translated_at_field(issue.message))


class FormPage(StudioPage, ABC):
    """A page with one form: it is shown, and saved by one verb, whose errors stand at their fields."""

    form_class: type[forms.Form]
    template: str
    id_field: str | None = None
    """The field at which an id stands that is taken."""

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.show(self.form())

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        form = self.form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            return self.save(form)
        except Invalid as error:
            add_errors(form, error, **self.error_fields)
            return self.show(form, status=400)
        except IdTaken as error:
            form.add_error(self.id_field, translated(error.message))
            return self.show(form, status=409)

    @property
    @abstractmethod
    def title(self) -> StrOrPromise:
        """The title of the page."""

    @property
    def error_fields(self) -> Mapping[str, str]:
        """The fields of the form, by the names that the verb has for them, where these differ."""
        return {}

    def form(self, *data: Any) -> Any:
        """Return the form, empty or with what was posted."""
        return self.form_class(*data)

    @abstractmethod
    def save(self, form: Any) -> HttpResponse:
        """Call the verb with the valid form, and redirect."""

    def show(self, form: Any, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page with the form."""
        context = {**self.context(), **context}
        return self.page(self.template, title=str(self.title), status=status, form=form, **context)

    def context(self) -> dict[str, Any]:
        """Return what the template needs besides the form."""
        return {}


class ActionPage(StudioPage, ABC):
    """A page that asks for confirmation, calls one verb, and redirects with a message.

    An action whose button is on another page has `http_method_names = ("post",)` and no template.
    """

    template: str

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.page(
            self.template, title=str(self.title), back_address=self.back_address, **self.context()
        )

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        message = self.act()
        return self.go(self.back_address, message)

    @abstractmethod
    def act(self) -> str:
        """Call the verb, and return the message about what was done."""

    @property
    def title(self) -> StrOrPromise:
        """The title of the page that asks, if there is one."""
        return ""

    @property
    @abstractmethod
    def back_address(self) -> str:
        """The address of the page after the action, or without it."""

    def context(self) -> dict[str, Any]:
        """Return what the template needs besides the address to go back."""
        return {}
