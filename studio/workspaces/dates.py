"""Dates in forms, and the times in UTC at which they begin and end."""

from __future__ import annotations

import datetime
from typing import Final

from django import forms
from django.core.validators import MaxValueValidator

LAST_DAY: Final = datetime.date.max - datetime.timedelta(days=1)
"""The last day whose end can be stored."""


class DayField(forms.DateField):
    """A day, chosen from the browser's calendar."""

    def __init__(self, *, label: str, help_text: str = "") -> None:
        super().__init__(
            label=label,
            required=False,
            widget=forms.DateInput(attrs={"type": "date"}),
            help_text=help_text,
            validators=[MaxValueValidator(LAST_DAY, f"Enter a day that is not after {LAST_DAY}.")],
        )


def beginning_of(day: datetime.date) -> datetime.datetime:
    """Return the time at which a day begins."""
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC)


def end_of(day: datetime.date) -> datetime.datetime:
    """Return the time at which a day that a `DayField` has accepted ends."""
    return beginning_of(day) + datetime.timedelta(days=1)
