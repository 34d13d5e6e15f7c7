"""Dates in forms, and the times at which they begin and end in the zone of the page."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final

from django import forms
from django.core.validators import MaxValueValidator
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

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
