"""The forms of the pages about schedules."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from capabilities.schedules.verbs import Times
from studio.dates import current_zone, day_in_words
from studio.workspaces.views import add_errors
from versioning.domain.errors import Invalid
from versioning.domain.zones import MAX_NAME, known_zones

MORNING: Final = datetime.time(9)
DAY: Final = datetime.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A local time with its name."""

    name: str
    local_time: str
    """As the browser's control for a day and a time has it: `2026-12-24T09:00`."""
    day: str
    """Its day in words."""


def presets(today: datetime.date) -> list[Preset]:
    """Return tomorrow morning, and the morning of the next Monday unless that is tomorrow."""
    tomorrow, monday = today + DAY, today + DAY * (7 - today.weekday())
    named = {tomorrow: gettext("Tomorrow 9:00"), monday: gettext("Monday 9:00")}
    return [
        Preset(
            name=name,
            local_time=datetime.datetime.combine(day, MORNING).isoformat(timespec="minutes"),
            day=day_in_words(day),
        )
        for day, name in named.items()
    ]


FIELDS: Final = {
    "localTime": "local_time",
    "runAt": "local_time",
    "timeZone": "time_zone",
    "then.versionId": "then",
}
"""Maps fields of the API to form fields, where the names differ."""


class LocalTimeInput(forms.TextInput):
    """The browser's own control for a day and a time."""

    input_type = "datetime-local"


class TimeForm(forms.Form):
    """A local time in a time zone."""

    local_time = forms.CharField(
        label=_("Day and time"), widget=LocalTimeInput(attrs={"class": "input", "autofocus": True})
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=MAX_NAME,
        widget=forms.TextInput(
            attrs={
                "class": "input",
                "dir": "auto",
                "list": "zones",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )

    @property
    def presets(self) -> list[Preset]:
        """The times that a click fills in, in the zone of the form."""
        typed = str(self["time_zone"].value() or "")
        zone = typed if typed in known_zones() else current_zone()
        return presets(datetime.datetime.now(ZoneInfo(zone)).date())

    @property
    def times(self) -> Times:
        """The time as typed."""
        return Times(
            local_time=self.cleaned_data["local_time"].strip(),
            time_zone=self.cleaned_data["time_zone"].strip(),
        )

    def add(self, error: Invalid) -> None:
        """Add the editor's errors to their fields."""
        add_errors(self, error, **FIELDS)


class ForceForm(TimeForm):
    """A time, and whether other versions may be live by then."""

    force = forms.BooleanField(
        label=_("Publish even if someone publishes another version first"),
        required=False,
        help_text=_("Otherwise a hotfix that someone publishes first stays live, and the schedule fails."),
    )


class ScheduleForm(ForceForm):
    """A time and, optionally, an end and the version that is live afterwards."""

    until = forms.CharField(
        label=_("Until"),
        required=False,
        widget=LocalTimeInput(attrs={"class": "input"}),
    )
    then = forms.ChoiceField(
        label=_("Then back to"), required=False, widget=forms.Select(attrs={"class": "input"})
    )

    def __init__(self, *args: Any, versions: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["then"].choices = versions  # type: ignore[attr-defined]

    @property
    def ending(self) -> dict[str, str]:
        """The arguments of the end, if there is one."""
        until = self.cleaned_data["until"].strip()
        if not until:
            return {}
        return {"until": until, **({"then": then} if (then := self.cleaned_data["then"]) else {})}
