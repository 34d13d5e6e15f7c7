"""The forms of the pages about workspaces."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from studio import additions
from studio.translation import translated_at_field
from studio.workspaces.names import CHOICES
from versioning.domain.access import Role
from versioning.domain.errors import Invalid


class InviteForm(forms.Form):
    """The person to invite, and their role."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        help_text=_(
            "The user name of an existing or a new account. No one becomes a member before accepting."
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
    name = forms.CharField(label=_("Name"), help_text=_("Shown to people."))
    id = forms.CharField(
        label=_("Id"),
        required=False,
        help_text=_(
            "The id that programs use, such as marketing; it cannot be changed later. Leave empty "
            "to generate it from the name."
        ),
    )


def add_errors(form: forms.Form, error: Invalid, **names: str) -> None:
    """Add the errors to their fields; `names` maps a field to its name in the form, if different."""
    for issue in error.issues:
        field = names.get(issue.field, issue.field)
        form.add_error(field if field in form.fields else None, translated_at_field(issue.message))


if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIRST_DAY: Final = datetime.date.min + datetime.timedelta(days=1)
"""The first day that can be represented in every time zone."""
LAST_DAY: Final = datetime.date.max - datetime.timedelta(days=1)
"""The last day whose end can be stored."""


class DayField(forms.DateField):
    """A day, chosen from the browser's calendar."""

    def __init__(self, *, label: StrOrPromise, help_text: StrOrPromise = "") -> None:
        super().__init__(
            label=label,
            required=False,
            widget=forms.DateInput(attrs={"type": "date"}),
            help_text=help_text,
            validators=[MaxValueValidator(LAST_DAY, _("Enter a day that is not after %(limit_value)s."))],
        )


def beginning_of(day: datetime.date) -> datetime.datetime:
    """Return the time at which a day begins."""
    within = max(day, FIRST_DAY)
    return datetime.datetime.combine(within, datetime.time(), tzinfo=timezone.get_current_timezone())


def end_of(day: datetime.date) -> datetime.datetime:
    """Return the end time of a day that a `DayField` has accepted."""
    return beginning_of(day + datetime.timedelta(days=1))
