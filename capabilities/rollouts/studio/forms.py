"""The forms of the pages about rollouts. Forms use percent; a rollout stores ten thousandths."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from editor_client.shared.arms import MAX_PATH, Arm, refuse_path
from editor_client.shared.ids import label_problem

from capabilities.rollouts.models import MAX_REASON
from capabilities.rollouts.stepping import Step
from studio.dates import current_zone
from studio.workspaces.views import add_errors
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
LOCAL: Final = "%Y-%m-%dT%H:%M"
"""As the browser's control for a day and a time has it."""
ARM: Final = pgettext_lazy("variant", "new")
"""The default name of an arm."""


def percent_field(**more: Any) -> forms.DecimalField:
    """Return a field for a share from 0 to 100 percent, in hundredths of a percent."""
    return forms.DecimalField(min_value=0, max_value=100, decimal_places=2, **more)


def share_input() -> forms.NumberInput:
    """Return the control for a share."""
    return forms.NumberInput(attrs={"class": "input", "step": "any"})


def moment_field(**more: Any) -> forms.DateTimeField:
    """Return an optional field for a time in the zone of the page."""
    control = forms.DateTimeInput(attrs={"class": "input", "type": "datetime-local"}, format=LOCAL)
    return forms.DateTimeField(required=False, input_formats=[LOCAL], widget=control, **more)


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
            "Answers, usage and feedback name the variant. Lowercase letters, digits, dots and hyphens."
        ),
    )

    step_1_share = percent_field(
        label=_("Widen to, in percent"), initial=25, required=False, widget=share_input()
    )
    step_1_at = moment_field()
    step_2_share = percent_field(
        label=_("Then to, in percent"), initial=100, required=False, widget=share_input()
    )
    step_2_at = moment_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = {"zone": current_zone()}
        self.fields["step_1_at"].label = gettext("First step from (%(zone)s)") % zone
        self.fields["step_2_at"].label = gettext("Second step from (%(zone)s)") % zone

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always seen, besides the share."""
        return [self["key"], self["name"]]

    @property
    def step_fields(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The fields of the steps: share and time."""
        return [(self[f"step_{n}_share"], self[f"step_{n}_at"]) for n in (1, 2)]

    @property
    def has_steps(self) -> bool:
        """Whether a time of a step was entered, or has to be corrected."""
        return any(field.errors or field.value() for _share, at in self.step_fields for field in (at,))

    def clean_key(self) -> str:
        """Refuse what is no path, so that the page shows this together with other errors."""
        key: str = self.cleaned_data["key"].strip()
        try:
            refuse_path("bucketBy", key)
        except Invalid as error:
            self.add(error)
        return key

    def clean_name(self) -> str:
        """Refuse what is no name of a variant, as above."""
        name: str = self.cleaned_data["name"].strip()
        if problem := label_problem(name):
            self.add(Invalid.field("arms.0.name", problem))
        return name

    def clean(self) -> dict[str, Any]:
        """Check that each step is later and larger than what is before it."""
        given = self.cleaned_data
        share, moment = given.get("share"), timezone.now()
        for number in (1, 2):
            at, to = given.get(f"step_{number}_at"), given.get(f"step_{number}_share")
            if at is None:
                continue
            if to is None:
                self.add_error(f"step_{number}_share", gettext("Enter a share."))
            elif share is not None and to <= share:
                self.add_error(f"step_{number}_share", gettext("Enter a larger share than before."))
            if at <= moment:
                self.add_error(f"step_{number}_at", gettext("Enter a later time."))
            share, moment = to or share, max(at, moment)
        return given

    @property
    def steps(self) -> list[Step]:
        """The steps with a time."""
        given = self.cleaned_data
        return [
            Step(weight=int(given[f"step_{n}_share"] * PER_CENT), run_at=at)
            for n in (1, 2)
            if (at := given[f"step_{n}_at"]) is not None
        ]

    def arm(self, version_id: str) -> Arm:
        weight = int(self.cleaned_data["share"] * PER_CENT)
        return Arm(name=self.cleaned_data["name"], version_id=version_id, weight=weight)

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
        label=_("Reason (optional)"),
        required=False,
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"class": "input", "dir": "auto"}),
    )
