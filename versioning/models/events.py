"""The log: an entry for every change of anything that somebody could be served, shown or refused.

    with events.transaction():
        ...                                   # change rows
        events.record("agent.published", by=caller, …)

The entries are written at the end of the outermost `events.transaction()`, as its last statements before
the commit, under positions from one row that is locked from then on. So positions are in the order of
commits, and whoever has read up to one has missed nothing before it: docs/decisions/0014.

Inside a transaction of somebody else (a test, an application that calls the editor in its own
`atomic()`) the lock lasts until that one ends, and other writers wait as long.
"""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from django.db import models
from django.db import transaction as database
from django.db.models import Min
from django.utils import timezone

from versioning.domain.access import Caller, Via
from versioning.domain.events import Audience, Reach, Target, audience_of
from versioning.domain.snapshots import Snapshot
from versioning.models.event_statements import take_positions_and_insert

PRUNED_AT_ONCE: Final = 5000
NEVER: Final = "entries of the log are never changed, and removed by prune() alone"


class EventQuerySet(models.QuerySet["Event"]):
    """Entries are recorded and read, nothing else."""

    def bulk_create(self, *_entries: Any, **_options: Any) -> NoReturn:
        """Refuse: an entry has its position from `record`."""
        raise TypeError(NEVER)

    def update(self, **_changes: Any) -> NoReturn:
        """Refuse: an entry is never changed."""
        raise TypeError(NEVER)

    def delete(self) -> NoReturn:
        """Refuse: `prune` removes the oldest entries, and says from where on they are there."""
        raise TypeError(NEVER)


class Event(models.Model):
    """One change. Names are stored as text: they outlive what they name."""

    uuid = models.UUIDField(default=uuid.uuid4)
    position = models.BigIntegerField()
    ordinal = models.PositiveIntegerField(default=0)
    """Orders what shares a position: the event itself is 0, agents that are told of a block follow."""
    type = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    workspace_id = models.CharField(max_length=200, blank=True)
    resource_kind = models.CharField(max_length=32, blank=True)
    resource_id = models.CharField(max_length=200, blank=True)
    resource_uuid = models.UUIDField(null=True)
    version_id = models.CharField(max_length=80, blank=True)
    version_number = models.PositiveIntegerField(null=True)
    previous_version_id = models.CharField(max_length=80, blank=True)
    label = models.CharField(max_length=64, blank=True)
    actor = models.TextField(blank=True)
    via = models.CharField(max_length=16, choices=[(via.value, via.value) for via in Via])
    key_prefix = models.CharField(max_length=16, blank=True)
    detail = models.JSONField(default=dict)
    audience = models.CharField(max_length=16, choices=[(one.value, one.value) for one in Audience])
    reach = models.PositiveSmallIntegerField(default=Reach.EDITORS.value)
    """Who could read the resource until the event: `versioning.domain.events.Reach`."""
    hidden_from = models.CharField(max_length=200, blank=True)
    """The workspace whose members do not see this, for they see the event about their block instead."""

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["position", "ordinal"]
        constraints = [
            models.UniqueConstraint(name="event_position_unique", fields=["position", "ordinal"]),
            models.CheckConstraint(
                name="event_via_known", condition=models.Q(via__in=[via.value for via in Via])
            ),
            models.CheckConstraint(
                name="event_audience_known",
                condition=models.Q(audience__in=[audience.value for audience in Audience]),
            ),
        ]
        indexes = [
            models.Index(name="event_of_workspace", fields=["workspace_id", "position"]),
            models.Index(name="event_of_resource", fields=["resource_id", "position"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor or 'the application'}: {self.type} {self.resource_id}".strip()

    def save(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse: entries come from `record`."""
        raise TypeError(NEVER)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse: an entry is never removed by itself."""
        raise TypeError(NEVER)


class LogPosition(models.Model):
    """The one row that hands out positions."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(default=0)
    pruned_to = models.BigIntegerField(default=0)
    """The highest position that is no longer there; the oldest entry comes after it."""

    def __str__(self) -> str:
        return str(self.position)


class _Open(threading.local):
    """The entries of the transaction that this thread has open; None outside of one."""

    entries: list[Event] | None = None
    touched = False
    """Whether something has changed that no entry tells of."""
    touched_unless_told = False
    """Whether something has changed that no entry tells of, if there is none at all."""


_open: Final = _Open()


@contextmanager
def transaction() -> Iterator[None]:
    """Open a transaction that writes what is recorded in it to the log, or join the one that is open.

    What is recorded in a joined one that fails is forgotten, as its rows are. Where a savepoint is
    wanted, this is the one to take: a bare `atomic()` inside takes back rows, but not entries.
    """
    opened = _open.entries
    if opened is not None:
        known = len(opened)
        try:
            with database.atomic():
                yield
        except BaseException:
            del opened[known:]
            raise
        return
    entries = _open.entries = []
    _open.touched = _open.touched_unless_told = False
    try:
        with database.atomic():
            yield
            is_untold = _open.touched or (_open.touched_unless_told and not entries)
            _write(entries, positions=1 if is_untold else 0)
    finally:
        _open.entries = None


def record(
    event_type: str,
    *,
    by: Caller,
    workspace_id: str | None,
    resource: Target | None = None,
    version: Snapshot | None = None,
    previous_version_id: object = None,
    label: str | None = None,
    audience: Audience | None = None,
    seen_in: Iterable[Target] = (),
    **detail: Any,
) -> None:
    """Note a change for the log; it is written when the outermost `transaction()` ends.

    `resource` says who could read it before the change. `audience` is that of the type unless given.
    `seen_in` are the published agents that show the text which the event is about: whoever may read one
    of them, and is no member of the workspace, gets an event about that agent, under the same position.
    `detail` is JSON, and never holds a text of a prompt or a secret.
    Raises `RuntimeError` outside of `transaction()`, and `KeyError` for a type that nobody declared.
    """
    if _open.entries is None:
        raise RuntimeError("record() needs an open events.transaction(), which writes the entry")
    who = {"actor": by.username or "", "via": by.via, "key_prefix": by.key_prefix or ""}
    event = Event(
        type=event_type,
        workspace_id=workspace_id or "",
        version_id=version.version_id if version else "",
        version_number=version.number if version else None,
        previous_version_id=str(previous_version_id or ""),
        label=label or "",
        detail=detail,
        audience=audience or audience_of(event_type),
        **_about(resource),
        **who,
    )
    _open.entries.append(event)
    for ordinal, agent in enumerate(seen_in, start=1):
        shown = Event(
            ordinal=ordinal,
            type=f"{agent.kind}.updated",
            workspace_id=agent.workspace_id,
            detail={"fields": ["instructions"]},
            audience=Audience.READERS,
            hidden_from=workspace_id or "",
            **_about(agent),
        )
        # Who changed it is not theirs to know: they cannot read the block.
        shown.via = by.via
        _open.entries.append(shown)


def touch(*, unless_told: bool = False) -> None:
    """Move the log by a position without an entry: something changed that answers depend on.

    Whoever follows the log and finds nothing at a position takes everything for changed. `unless_told`
    is for changes of which our own verbs tell: then the entries of the transaction are enough.
    """
    if _open.entries is None:
        with transaction():
            touch(unless_told=unless_told)
    elif unless_told:
        _open.touched_unless_told = True
    else:
        _open.touched = True


@dataclass(frozen=True)
class Extent:
    """From where to where the log reaches."""

    newest: int
    """The position of the newest entry; 0 while there is none."""
    oldest: int
    """The position after which all entries are still there."""


def extent() -> Extent:
    """Return from where to where the log reaches, in one statement."""
    found = LogPosition.objects.values_list("position", "pruned_to").first()
    return Extent(*(found or (0, 0)))


def position() -> int:
    """Return the position of the newest entry; 0 while there is none."""
    return extent().newest


def prune(before: datetime.datetime) -> int:
    """Remove the entries that were written before a moment, and return how many went.

    Nothing newer goes, whatever clocks did. Readers count the entries as gone before the first of them is,
    so that nobody sees a part; a prune that was broken off is completed by the next one.
    """
    with database.atomic():
        log = LogPosition.objects.select_for_update().first()
        if log is None:
            return 0
        kept = Event.objects.filter(created_at__gte=before).aggregate(first=Min("position"))["first"]
        pruned_to = max(log.pruned_to, log.position if kept is None else kept - 1)
        LogPosition.objects.update(pruned_to=pruned_to)
    gone = Event.objects.filter(position__lte=pruned_to).order_by("position")
    removed, more = 0, True
    while more:
        last = gone.values_list("position", flat=True)[PRUNED_AT_ONCE - 1 : PRUNED_AT_ONCE].first()
        more = last is not None
        some = gone.filter(position__lte=last) if more else gone
        removed += models.QuerySet.delete(some.order_by())[0]
    return removed


def entries(after: int, limit: int = 1000) -> list[Event]:
    """Return the entries after a position, in order.

    About `limit` of them: those that share a position are never parted.
    """
    newer = Event.objects.filter(position__gt=after).order_by("position", "ordinal")
    found = list(newer[:limit])
    if len(found) == limit:
        last = found[-1]
        found += newer.filter(position=last.position, ordinal__gt=last.ordinal)
    return found


def _about(resource: Target | None) -> dict[str, Any]:
    if resource is None:
        return {}
    return {
        "resource_kind": resource.kind,
        "resource_id": resource.id,
        "resource_uuid": resource.identity,
        "reach": resource.reach,
    }


def _write(recorded: Sequence[Event], positions: int) -> None:
    """Write the entries, and take so many positions beside theirs."""
    now = timezone.now()
    number = positions
    for event in recorded:
        event.created_at = now
        number += event.ordinal == 0
        event.position = number  # from the position before: the statement adds it
    if number:
        take_positions_and_insert(Event, LogPosition, recorded, number)
