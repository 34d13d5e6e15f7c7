"""The forms of the pages about workspaces."""

from __future__ import annotations

from typing import Final

from django import forms

from versioning.domain.access import Role
from versioning.domain.errors import Invalid

ROLES: Final = [
    (Role.VIEWER.value, "Viewer: uses what is published"),
    (Role.EDITOR.value, "Editor: also saves drafts"),
    (Role.PUBLISHER.value, "Publisher: also publishes"),
    (Role.ADMIN.value, "Admin: also members and keys"),
]


class InviteForm(forms.Form):
    """Whom to invite, and in which role."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        help_text="Of an account, or for a new one. Nobody is a member before accepting.",
    )
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=Role.EDITOR.value)


class NewWorkspaceForm(forms.Form):
    """A new workspace."""

    name = forms.CharField(label="Name", help_text="What people call it.")
    id = forms.CharField(
        label="Id", help_text="What programs call it, such as marketing; it cannot be changed later."
    )


def add_errors(form: forms.Form, error: Invalid, **names: str) -> None:
    """Add the errors to their fields; `names` says what the form calls a field, where that differs."""
    for issue in error.issues:
        field = names.get(issue.field, issue.field)
        form.add_error(field if field in form.fields else None, issue.message)
