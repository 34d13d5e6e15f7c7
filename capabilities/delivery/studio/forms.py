"""The forms about webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from capabilities.delivery.webhooks.administration import MAX_DESCRIPTION, MAX_ID_PREFIX, MAX_KEEP_HOURS
from capabilities.delivery.webhooks.models import MAX_URL, Webhook
from studio.activity.sentences import TypeGroup, grouped
from versioning.domain.events import types


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The checkboxes about one subject."""

    group: TypeGroup
    chosen: frozenset[str]

    @property
    def is_open(self) -> bool:
        """Whether they are expanded, because one is chosen."""
        return bool(self.chosen)


class WebhookForm(forms.Form):
    """A webhook: its URL and events."""

    url = forms.CharField(
        label=_("URL"),
        max_length=MAX_URL,
        help_text=_(
            "Receiver URL, e.g. https://hooks.example.com/editor. Must be publicly reachable unless an "
            "administrator allows more."
        ),
    )
    description = forms.CharField(
        label=_("Purpose (optional)"),
        required=False,
        max_length=MAX_DESCRIPTION,
        help_text=_("Helps people recognize the webhook."),
    )
    id_prefix = forms.CharField(
        label=_("Only ids that begin with (optional)"),
        required=False,
        max_length=MAX_ID_PREFIX,
        help_text=_("For example support/. Only events about matching agents and prompt blocks are sent."),
    )
    event_types = forms.MultipleChoiceField(
        label=_("Events to send"), error_messages={"required": _("Choose at least one event.")}
    )

    def __init__(self, data: Any = None, *, webhook: Webhook | None = None) -> None:
        began = None if webhook is None else {name: getattr(webhook, name) for name in self.base_fields}
        super().__init__(data, initial=began)
        self.groups = list(grouped(types()))
        known = {one for group in self.groups for one in (group.pattern, *dict(group.types))}
        self.unknown = [
            event_type for event_type in (webhook.event_types if webhook else ()) if event_type not in known
        ]
        """Stored types that no application declares any more."""
        offered = [(one, one) for one in (*sorted(known), *self.unknown)]
        self.fields["event_types"].choices = offered  # type: ignore[attr-defined]

    @property
    def choices(self) -> Iterator[Choices]:
        """The checkboxes, by subject."""
        chosen = frozenset(self["event_types"].value() or ())
        for group in self.groups:
            names = {group.pattern, *dict(group.types)}
            yield Choices(group=group, chosen=chosen & names)

    @property
    def given(self) -> dict[str, Any]:
        """The input, by the field names of the API."""
        typed = self.cleaned_data
        return {
            "url": typed["url"],
            "description": typed["description"],
            "idPrefix": typed["id_prefix"],
            "eventTypes": without_repetition(typed["event_types"]),
        }


NAMES: Final[Mapping[str, str]] = {"eventTypes": "event_types", "idPrefix": "id_prefix"}
"""Maps fields of the API to form fields, where the names differ."""


class RotateForm(forms.Form):
    """How long the previous secret stays valid."""

    hours = forms.IntegerField(
        label=_("Hours for which the old secret also signs"),
        min_value=0,
        max_value=MAX_KEEP_HOURS,
        initial=24,
        help_text=format_lazy(
            _("0 to {most}: until the receiver has the new one. With 0 the old one ends at once."),
            most=MAX_KEEP_HOURS,
        ),
    )


def without_repetition(chosen: Sequence[str]) -> list[str]:
    """Return the types without those that a chosen pattern already matches."""
    return [one for one in chosen if one.endswith(".*") or f"{one.rpartition('.')[0]}.*" not in chosen]
