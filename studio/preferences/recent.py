"""The resources that a person opened last: a short list stored with their preferences."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest
from django.utils import timezone

from studio.models import Preferences
from studio.preferences.stored import preferences_of

MAX_REMEMBERED: Final = 20
"""The maximum number of resources in the list."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A resource that a person opened, and when they last did."""

    kind: str
    """The slug of its kind."""
    id: str
    at: datetime.datetime


def recently_opened(request: HttpRequest) -> list[Opened]:
    """Return the resources opened last, the latest first; they may have been deleted since."""
    return [
        Opened(kind=kind, id=resource_id, at=datetime.datetime.fromisoformat(at))
        for kind, resource_id, at in preferences_of(request).recent
    ]


def note_opened(request: HttpRequest, kind: str, resource_id: str) -> None:
    """Record that a resource was opened; writes nothing if it already was the last one."""
    preferences = preferences_of(request)
    before: list[list[str]] = preferences.recent
    if before and before[0][:2] == [kind, resource_id]:
        return
    others = [one for one in before if one[:2] != [kind, resource_id]]
    preferences.recent = [[kind, resource_id, timezone.now().isoformat()], *others][:MAX_REMEMBERED]
    if not Preferences.objects.filter(pk=preferences.pk).update(recent=preferences.recent):
        Preferences.objects.change(preferences.pk, recent=preferences.recent)
