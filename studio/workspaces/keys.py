"""The pages about the API keys of a workspace."""

from __future__ import annotations

import datetime
from typing import Any, Final

from django import forms
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from studio.workspaces.base import WorkspacePage
from studio.workspaces.dates import DayField, end_of
from studio.workspaces.forms import ROLES, add_errors
from versioning.domain.access import Role
from versioning.domain.errors import Invalid, NotFound
from versioning.editor.workspaces import may_revoke
from versioning.models import ApiKey

PER_PAGE: Final = 50


class KeyForm(forms.Form):
    """A new key."""

    name = forms.CharField(label="Name", help_text="What it is for, such as the program that uses it.")
    role = forms.ChoiceField(label="May do what", choices=ROLES, initial=Role.VIEWER.value)
    last_day = DayField(
        label="Last day",
        help_text="It holds until the end of this day (UTC). Left empty, until it is revoked.",
    )

    @property
    def expires_at(self) -> datetime.datetime | None:
        """The moment after the last day."""
        day: datetime.date | None = self.cleaned_data["last_day"]
        return None if day is None else end_of(day)


class KeysPage(WorkspacePage):
    """The keys; all that is stored in plain text is the prefix."""

    tab = "keys"

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show them."""
        return self.show(KeyForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Create a key and show its text, this one time."""
        form = KeyForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            key, text = self.verbs.issue_key(
                self.workspace_id,
                name=form.cleaned_data["name"],
                role=Role(form.cleaned_data["role"]),
                expires_at=form.expires_at,
                by=self.caller,
            )
        except Invalid as error:
            add_errors(form, error, expiresAt="last_day")
            return self.show(form, status=400)
        return self.show(KeyForm(), made=key, text=text)

    def show(self, form: forms.Form, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the list with the form to make one."""
        found = self.verbs.keys(self.workspace_id, by=self.caller)
        page: Page[ApiKey] = Paginator(found, PER_PAGE).get_page(self.request.GET.get("page"))
        now = timezone.now()
        return self.page(
            "studio/workspaces/keys.html",
            title="API keys",
            status=status,
            form=form,
            page=page,
            keys=[
                {
                    "key": key,
                    "is_expired": key.expires_at is not None and key.expires_at <= now,
                    "may_revoke": key.revoked_at is None and may_revoke(key, self.caller),
                    "address": self.address("revoke", key.prefix),
                }
                for key in page.object_list
            ],
            keys_address=self.address("keys"),
            **context,
        )


class RevokePage(WorkspacePage):
    """Asks for confirmation before a key is revoked."""

    tab = "keys"

    def get(self, request: HttpRequest, workspace: str, prefix: str) -> HttpResponse:
        """Ask for confirmation."""
        found = self.verbs.keys(self.workspace_id, by=self.caller)
        key = next((key for key in found if key.prefix == prefix), None)
        if key is None:
            raise NotFound
        return self.page(
            "studio/workspaces/revoke.html",
            title=f"Revoke {key.name or key.prefix}?",
            key=key,
            keys_address=self.address("keys"),
        )

    def post(self, request: HttpRequest, workspace: str, prefix: str) -> HttpResponse:
        """Revoke it, and show the list."""
        key = self.verbs.revoke_key(self.workspace_id, prefix, by=self.caller)
        return self.go(self.address("keys"), f"The key {key.prefix}… opens nothing any more.")
