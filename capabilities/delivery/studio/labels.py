"""Webhooks in the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.health import Condition
from capabilities.delivery.webhooks.models import DisabledReason, State, Webhook
from capabilities.delivery.webhooks.outbox import PING
from studio.activity.sentences import name_of, subject_noun
from studio.extensions import NamedInEvent
from studio.limits import shortened
from studio.workspaces.views import address
from versioning.domain.access import Caller
from versioning.models import Event


@dataclass(frozen=True)
class Wording:
    """The name of a state, and the class of its chip."""

    word: str | Promise
    chip: str = ""


CONDITIONS: Final[Mapping[str, Wording]] = {
    Condition.UNTRIED: Wording(gettext_lazy("Not tried yet")),
    Condition.WORKING: Wording(pgettext_lazy("a webhook", "Working"), "chip-published"),
    Condition.FAILING: Wording(pgettext_lazy("a webhook", "Failing"), "chip-changed"),
    Condition.DISABLED: Wording(pgettext_lazy("a webhook", "Disabled"), "chip-danger"),
}
STATES: Final[Mapping[str, Wording]] = {
    State.PENDING: Wording(pgettext_lazy("a delivery", "Pending"), "chip-changed"),
    State.DELIVERED: Wording(pgettext_lazy("a delivery", "Delivered"), "chip-published"),
    State.FAILED: Wording(pgettext_lazy("a delivery", "Failed"), "chip-danger"),
    State.CANCELLED: Wording(pgettext_lazy("a delivery", "Cancelled")),
}
REASONS: Final[Mapping[str, str | Promise]] = {
    "": gettext_lazy("An admin disabled it."),
    DisabledReason.GONE: gettext_lazy("The receiver answered 410: it wants no more messages."),
    DisabledReason.FAILING: gettext_lazy("No delivery succeeded for three days."),
}
"""Why a webhook is disabled."""


def title_of(webhook: Webhook) -> str:
    """Return the title of a webhook: its description, or the host that it sends to."""
    return shortened(webhook.description or urlsplit(webhook.url).hostname or webhook.url, 80)


def type_in_words(event_type: str) -> str:
    """Return a type, or a pattern, in words."""
    if event_type == PING:
        return _("Test message")
    subject, _dot, name = event_type.rpartition(".")
    about = {"subject": capfirst(subject_noun(subject)), "what": name_of(event_type)}
    if name == "*":
        return _("%(subject)s: anything") % about
    return _("%(subject)s: %(what)s") % about


def event_in_words(event: Mapping[str, Any]) -> str:
    """Return the event of a message in words: `Agent: published, writer, version 3`."""
    parts = [type_in_words(event["type"]), (event.get("resource") or {}).get("id")]
    if event.get("versionNumber") is not None:
        parts.append(_("version %(number)s") % {"number": event["versionNumber"]})
    return ", ".join(filter(None, parts))


def named_in_events(caller: Caller, events: Sequence[Event]) -> Mapping[tuple[int, int], NamedInEvent]:
    """Return the webhooks that the caller administers, by position and ordinal of the events; one query."""
    ids = {
        (event.position, event.ordinal): UUID(event.detail["webhookId"])
        for event in events
        if event.detail.get("webhookId")
    }
    if not ids:
        return {}
    rows = administration.listed(by=caller).in_bulk(set(ids.values()))
    return {
        key: NamedInEvent(
            title=title_of(rows[pk]), address=address("webhook", rows[pk].workspace_id, str(pk))
        )
        for key, pk in ids.items()
        if pk in rows
    }
