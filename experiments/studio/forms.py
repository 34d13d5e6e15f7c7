"""The forms of the pages about rollouts. Forms use percent; a rollout stores ten thousandths."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _
from editor_client.shared.arms import MAX_PATH, Arm

from experiments.rollouts.models import MAX_REASON
from studio.workspaces.forms import add_errors
from versioning.domain.errors import Invalid

PER_CENT: Final = 100
"""The number of ten thousandths in a percent."""
FIELDS: Final = {
    "bucketBy": "key",
    "arms.0.name": "name",
    "arms.0.weight": "share",
    "arms.0.versionId": "",
    "resource": "",
}
"""Maps fields of the API to form fields."""
ARM: Final = "new"
"""The default name of an arm."""


def percent_field(**more: Any) -> forms.DecimalField:
    """Return a field for a share from 0 to 100 percent, in hundredths of a percent."""
    return forms.DecimalField(min_value=0, max_value=100, decimal_places=2, **more)


def percent(weight: int) -> Decimal:
    """Return a weight in ten thousandths as percent, without trailing zeros."""
    return Decimal(format((Decimal(weight) / PER_CENT).normalize(), "f"))


class ShareForm(forms.Form):
    """The share that gets a version, and the key that keeps requests together."""

    share = percent_field(
        label=_("Share of the requests, in percent"),
        initial=5,
        widget=forms.NumberInput(attrs={"class": "input", "step": "any", "autofocus": True}),
    )
    key = forms.CharField(
        label=_("Split traffic by"),
        initial="userId",
        max_length=MAX_PATH,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto", "spellcheck": "false"}),
        help_text=_(
            "A name in the request context, such as userId or customer.id. Requests with the same value "
            "always get the same version; requests without one get the live version."
        ),
    )
    name = forms.CharField(
        label=_("Variant name"),
        initial=ARM,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto", "spellcheck": "false"}),
        help_text=_(
            "Answers, usage and feedback say which arm it was. Small letters, digits, dots and hyphens."
        ),
    )

    def arm(self, version_id: str) -> Arm:
        """Return the arm of the form, with this version."""
        weight = int(self.cleaned_data["share"] * PER_CENT)
        return Arm(name=self.cleaned_data["name"].strip(), version_id=version_id, weight=weight)

    def add(self, error: Invalid) -> None:
        """Add the editor's errors to their fields."""
        add_errors(self, error, **FIELDS)


class WeightsForm(forms.Form):
    """New shares for the arms of a rollout."""

    def __init__(self, *args: Any, arms: Sequence[Arm], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arms = arms
        for number, arm in enumerate(arms):
            self.fields[f"share_{number}"] = percent_field(
                label=_("Share of “%(arm)s”, in percent") % {"arm": arm.name},
                initial=percent(arm.weight),
                widget=forms.NumberInput(attrs={"class": "input", "step": "any"}),
            )

    def weights(self) -> list[tuple[str, int]]:
        """Return the weights by name."""
        return [
            (arm.name, int(self.cleaned_data[f"share_{number}"] * PER_CENT))
            for number, arm in enumerate(self.arms)
        ]

    def add(self, error: Invalid) -> None:
        """Add the editor's errors to their fields."""
        add_errors(self, error, **{f"arms.{n}.weight": f"share_{n}" for n in range(len(self.arms))})


class StopForm(forms.Form):
    """The reason for stopping a rollout."""

    reason = forms.CharField(
        label=_("Why (optional)"),
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto"}),
    )
