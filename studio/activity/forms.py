"""The filters of an activity page."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from operator import or_
from typing import Any, Final

from django import forms
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studio.activity.wording import grouped
from studio.named import named_like
from studio.workspaces.forms import DayField, beginning_of, end_of
from versioning.domain.access import Caller
from versioning.domain.events import matching
from versioning.models.accounts import known_name
from versioning.models.text_keys import contains_caseless

MAX_TEXT: Final = 200
_MEMBERS: Final = ("username", "owner", "prefix")
"""The members in which the detail of an event names its objects: members, owners of keys, and keys."""


class ActivityForm(forms.Form):
    """The filters; none is required."""

    type = forms.ChoiceField(label=_("What happened"), required=False)
    actor = forms.CharField(label=_("Who"), required=False, max_length=MAX_TEXT)
    target = forms.CharField(label=_("To what"), required=False, max_length=MAX_TEXT)
    since = DayField(label=_("Since"))
    until = DayField(label=_("Until"))

    def __init__(self, data: Any, *, types: Collection[str], of_one: bool, caller: Caller) -> None:
        super().__init__(data, auto_id="filter-%s")
        self.caller = caller
        groups = [(one.title, [(one.pattern, one.anything), *one.types]) for one in grouped(types)]
        choices: list[Any] = [("", gettext("Anything")), *groups]
        self.fields["type"].choices = choices  # type: ignore[attr-defined]
        if of_one:
            del self.fields["target"]
        for field in self.fields.values():
            field.widget.attrs |= {"class": "input", "dir": "auto"}
        self.fields["actor"].widget.attrs |= {"list": "known-actors", "autocomplete": "off"}

    def clean_actor(self) -> str:
        """Return the name as the log has it."""
        typed: str = self.cleaned_data["actor"]
        return known_name(typed) if typed else ""

    @property
    def given(self) -> dict[str, Any]:
        """The filters that are set and valid."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def wanted(self) -> dict[str, Any]:
        """The filters as arguments of `editor.event.page`."""
        given = self.given
        return {
            "types": frozenset(matching([given["type"]])) if "type" in given else None,
            "actor": given.get("actor"),
            "where": self._condition(given),
        }

    def _condition(self, given: dict[str, Any]) -> Q:
        condition = Q()
        if "target" in given:
            target = given["target"]
            texts = ["resource_id", *(KeyTextTransform(name, "detail") for name in _MEMBERS)]
            named = reduce(or_, (contains_caseless(text, target) for text in texts))
            condition &= named | named_like(target, self.caller)
        if "since" in given:
            condition &= Q(created_at__gte=beginning_of(given["since"]))
        if "until" in given:
            condition &= Q(created_at__lt=end_of(given["until"]))
        return condition
