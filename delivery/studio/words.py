"""Webhooks in the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.text import capfirst

from delivery.webhooks.health import Condition
from delivery.webhooks.messages import PING
from delivery.webhooks.models import DisabledReason, State, Webhook
from studio.activity.words import name_of, noun_of
from studio.limits import shortened


@dataclass(frozen=True)
class Wording:
    """What a state is called, and the class of its chip."""

    word: str
    chip: str = ""


CONDITIONS: Final[Mapping[str, Wording]] = {
    Condition.UNTRIED: Wording("Not tried yet"),
    Condition.WORKING: Wording("Working", "chip-published"),
    Condition.FAILING: Wording("Failing", "chip-changed"),
    Condition.DISABLED: Wording("Disabled", "chip-danger"),
}
STATES: Final[Mapping[str, Wording]] = {
    State.PENDING: Wording("Pending", "chip-changed"),
    State.DELIVERED: Wording("Delivered", "chip-published"),
    State.FAILED: Wording("Failed", "chip-danger"),
    State.CANCELLED: Wording("Cancelled"),
}
REASONS: Final[Mapping[str, str]] = {
    "": "An admin has disabled it.",
    DisabledReason.GONE: "The receiver answered 410: it wants no more messages.",
    DisabledReason.FAILING: "Three days went by without one success.",
}
"""Why a webhook is disabled."""


def title_of(webhook: Webhook) -> str:
    """Return what a webhook is called on a page: by its description, or by the host that it sends to."""
    return shortened(webhook.description or urlsplit(webhook.url).hostname or webhook.url, 80)


def type_in_words(event_type: str) -> str:
    """Return a type, or a pattern, in words."""
    subject, _, name = event_type.rpartition(".")
    noun = noun_of(subject)
    if event_type == PING:
        return "Test message"
    return f"Anything about {noun}s" if name == "*" else f"{capfirst(noun)}: {name_of(event_type)}"


def event_in_words(event: Mapping[str, Any]) -> str:
    """Return what a message is about: `Agent: published, writer, version 3`."""
    parts = [type_in_words(event["type"]), (event.get("resource") or {}).get("id")]
    if event.get("versionNumber") is not None:
        parts.append(f"version {event['versionNumber']}")
    return ", ".join(filter(None, parts))
