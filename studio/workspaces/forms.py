"""The forms of the pages about workspaces."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from studio import additions
from studio.translation import translated
from studio.workspaces.roles import CHOICES
from versioning.domain.access import Role
from versioning.domain.errors import Invalid


class InviteForm(forms.Form):
    """The person to invite, and their role."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        help_text=_(
            "The user name of an existing or a new account. Nobody becomes a member before accepting."
        ),
        widget=forms.TextInput({"pick": "person"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=CHOICES, initial=Role.EDITOR.value)
    mail = forms.EmailField(
        label=_("Mail address"),
        required=False,
        help_text=_("The link is sent there, too; for an account that exists, to its own address otherwise."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not additions.sends_invitations():
            del self.fields["mail"]


class NewWorkspaceForm(forms.Form):
    """A new workspace."""

    name = forms.CharField(label=_("Name"), help_text=_("The name that people see."))
    id = forms.CharField(
        label=_("Id"),
        required=False,
        help_text=_(
            "The id that programs use, such as marketing; it cannot be changed later. If you leave it "
            "empty, it is made from the name."
        ),
    )


def add_errors(form: forms.Form, error: Invalid, **names: str) -> None:
    """Add the errors to their fields; `names` maps a field to its name in the form, if different."""
    for issue in error.issues:
        field = names.get(issue.field, issue.field)
        form.add_error(field if field in form.fields else None, translated(issue.message))
