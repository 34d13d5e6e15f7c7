"""A person at the edit pages, and the values that a browser would send of a form."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from tests.support.api import Kind
from tests.support.window import page_of


class _Controls(HTMLParser):
    """Collects the successful controls of the form with one id, or of all forms together."""

    def __init__(self, form_id: str | None) -> None:
        super().__init__()
        self.form_id = form_id
        self.inside = self.in_template = False
        self.disabled = 0
        self.typed: list[tuple[str, str]] = []
        self.select: str | None = None
        self.options: list[tuple[str, bool]] = []
        self.textarea: str | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = self.form_id in {None, given.get("id")}
        elif tag == "template":
            self.in_template = True
        elif tag == "fieldset":
            self.disabled += "disabled" in given
        mine = (
            (self.inside or given.get("form") == self.form_id) and not self.in_template and not self.disabled
        )
        name = given.get("name", "")
        if tag == "option" and self.select is not None:
            self.options.append((given.get("value", ""), "selected" in given))
        elif not mine or not name:
            return
        elif tag == "input" and (given.get("type") != "radio" or "checked" in given):
            self.typed.append((name, given.get("value", "")))
        elif tag == "select":
            self.select, self.options = name, []
        elif tag == "textarea":
            self.textarea, self.text = name, ""

    def handle_data(self, data: str) -> None:
        if self.textarea is not None:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "template":
            self.in_template = False
        elif tag == "select" and self.select is not None:
            chosen = [value for value, selected in self.options if selected] or [self.options[0][0]]
            self.typed.append((self.select, chosen[-1]))
            self.select = None
        elif tag == "textarea" and self.textarea is not None:
            # The first line feed belongs to the markup; the others are sent as CR LF.
            text = self.text.removeprefix("\n")
            self.typed.append((self.textarea, text.replace("\r\n", "\n").replace("\n", "\r\n")))
            self.textarea = None


def controls(page: str, form_id: str | None) -> dict[str, str]:
    """Return the values that the form with this id would send, in order; with None, those of all forms."""
    parser = _Controls(form_id)
    parser.feed(page)
    return dict(parser.typed)


class Person:
    """A person at the edit pages."""

    def __init__(self, name: str) -> None:
        self.client = Client()
        self.client.force_login(User.objects.get(username=name))

    def get(
        self, kind: Kind, page: str = "change", resource_id: str = "writer", **query: str
    ) -> HttpResponse:
        """Open a page of a resource."""
        answer: Any = self.client.get(page_of(kind, page, resource_id), query)
        return answer

    def post(self, kind: Kind, typed: dict[str, str], page: str = "change") -> HttpResponse:
        """Send a form."""
        answer: Any = self.client.post(page_of(kind, page), typed)
        return answer

    def form(self, kind: Kind) -> dict[str, str]:
        """Open the edit page and return the values of the form."""
        return controls(self.get(kind).content.decode(), "edit-form")

    def save(self, kind: Kind, form: dict[str, str] | None = None, **typed: str) -> HttpResponse:
        """Type into controls of the form (`instructions__text`) and save."""
        form = self.form(kind) if form is None else form
        return self.post(kind, form | {name.replace("__", "."): text for name, text in typed.items()})
