"""Deleting old entries of the log, once everyone who must get them has."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Final

from django.db.models import Min

from versioning.domain.registering import require_callable
from versioning.models import events
from versioning.models.guarded import unguarded
from versioning.models.log import Event, LogPosition

AT_ONCE: Final = 5000
_readers: Final[list[Callable[[], int | None]]] = []


def register_reader(read_up_to: Callable[[], int | None]) -> None:
    """Register a reader who must get every entry; `prune` deletes only entries that it has read.

    `read_up_to` returns the position up to which it has read; None if it currently needs no entries.
    """
    require_callable(read_up_to, by="pruning.register_reader()")
    _readers.append(read_up_to)


def prune(before: datetime.datetime) -> int:
    """Delete the entries written before the given time and return how many were deleted.

    Entries after the first newer one are never deleted, even if clocks differed, nor those that a registered
    reader has not read. Callers of the API treat the entries as pruned before the first one is deleted, so
    that no reader sees only some of them; an interrupted prune is completed by the next one.
    """
    newest = events.position()  # before anything else, so that entries written in the meantime come after it
    kept = Event.objects.filter(created_at__gte=before).aggregate(first=Min("position"))["first"]
    last = newest if kept is None else min(newest, kept - 1)
    last = min([last, *(read for reader in _readers if (read := reader()) is not None)])
    LogPosition.objects.filter(pruned_to__lt=last).update(pruned_to=last)
    pruned_to = events.extent().oldest
    gone = Event.objects.filter(position__lte=pruned_to).order_by("position")
    removed, more = 0, True
    while more:
        last = gone.values_list("position", flat=True)[AT_ONCE - 1 : AT_ONCE].first()
        more = last is not None
        some = gone.filter(position__lte=last) if more else gone
        removed += unguarded(some.order_by()).delete()[0]
    return removed
