"""Pages with one form or one confirmed action, which call one verb and redirect.

`FormPage` and `ActionPage` come before the page of a workspace or of a resource among the bases of a class:
`class KeysPage(FormPage, WorkspacePage)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from pydantic.alias_generators import to_snake

from studio.translation import translate, translate_at_field
from studio.views import StudioPage
from versioning.domain.errors import IdTaken, Invalid, VersioningError

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def add_errors(form: forms.Form, error: Invalid, **names: str) -> None:
    """Add the errors to their fields; `names` has the form's names of the fields that it names differently.

    A form names a field as the API does, in snake_case.
    """
    for issue in error.issues:
        field = names.get(issue.field, to_snake(issue.field))
        form.add_error(field if field in form.fields else None, translate_at_field(issue.message))


class FormPage(StudioPage, ABC):
    """A page with one form, saved by one verb, whose errors are shown at their fields.

    Other errors that belong on the page are caught by `save`, which returns `refuse`.
    """

    form_class: type[forms.Form]
    template: str
    id_field: str | None = None
    """The field for the error about a taken id."""

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
            return self.refuse(form, error.message, field=self.id_field, status=409)

    @property
    @abstractmethod
    def title(self) -> StrOrPromise:
        """The title of the page."""

    @property
    def error_fields(self) -> Mapping[str, str]:
        """The fields of the form, by the verb's names for them, if these differ."""
        return {}

    def initial(self) -> dict[str, Any]:
        """Return the values of the form before anything was posted."""
        return {}

    def form(self, data: Any = None) -> Any:
        """Return the form, with the initial or the posted values."""
        return self.form_class(data, initial=self.initial() if data is None else None)

    @abstractmethod
    def save(self, form: Any) -> HttpResponse:
        """Call the verb with the valid form, and redirect."""

    def refuse(
        self, form: forms.Form, message: str, *, field: str | None = None, status: int = 400
    ) -> HttpResponse:
        """Return the page with an error of the verb at a field, or above the form."""
        form.add_error(field, translate(message))
        return self.show(form, status=status)

    def show(self, form: Any, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page with the form."""
        context = {**self.context(), **context}
        return self.page(self.template, title=str(self.title), status=status, form=form, **context)

    def context(self) -> dict[str, Any]:
        """Return the template context besides the form."""
        return {}


class ActionPage(StudioPage, ABC):
    """A page that asks for confirmation, calls one verb, and redirects with a message.

    An action whose button is on another page has `http_method_names = ("post",)` and no template.
    """

    template: str
    back_page = ""
    """The page without the action, or after it was refused, by its name in `address`."""
    done_page = ""
    """The page after the action, if it is another one."""
    refusals: tuple[type[VersioningError], ...] = ()
    """The errors of the verb that are a message on the page to go back to, not a page."""

    def get(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return self.ask()

    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        try:
            message = self.act()
        except self.refusals as error:
            return self.go(self.back_address, self.refusal_in_words(error), level=messages.ERROR)
        return self.go(self.done_address, message)

    def ask(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page that asks for confirmation."""
        context = {"back_address": self.back_address, **self.context(), **context}
        return self.page(self.template, title=str(self.title), status=status, **context)

    @abstractmethod
    def act(self) -> str:
        """Call the verb, and return the message about the result."""

    def refusal_in_words(self, error: Any) -> str:
        """Return the message about one of the `refusals`."""
        return translate(error.message)

    @property
    def title(self) -> StrOrPromise:
        """The title of the confirmation page, if there is one."""
        return ""

    @property
    def back_address(self) -> str:
        """The address of `back_page`."""
        return self.address(self.back_page)

    @property
    def done_address(self) -> str:
        """The address of `done_page`."""
        return self.address(self.done_page) if self.done_page else self.back_address

    def context(self) -> dict[str, Any]:
        """Return the template context besides the address to go back."""
        return {}
