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
from typing import Any, Final, NamedTuple

from django.db import models
from django.db import transaction as database
from django.db.models import Min
from django.utils import timezone

from versioning.domain.access import Caller
from versioning.domain.events import Audience, Reach, Target, audience_of
from versioning.domain.snapshots import Snapshot
from versioning.models.event_statements import take_positions_and_insert
from versioning.models.log import Event, LogPosition
from versioning.models.statements import prepared_cursor

PRUNED_AT_ONCE: Final = 5000

_CHANGES: Final = (
    f'SELECT position, type, resource_kind, resource_id FROM "{Event._meta.db_table}"'  # noqa: S608  ours
    " WHERE position > %s AND position <= %s ORDER BY position, ordinal LIMIT %s"
)

Entry = dict[str, Any]
"""An entry before it is written, by column: a model takes longer to make than the row to write."""

_EMPTY: Final[Entry] = {
    "ordinal": 0,
    "resource_kind": "",
    "resource_id": "",
    "resource_uuid": None,
    "version_id": "",
    "version_number": None,
    "previous_version_id": "",
    "label": "",
    "actor": "",
    "key_prefix": "",
    "reach": Reach.EDITORS.value,
    "hidden_from": "",
}


class _Open(threading.local):
    """The entries of the transaction that this thread has open; None outside of one."""

    entries: list[Entry] | None = None
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
    entry = {
        **_EMPTY,
        "uuid": uuid.uuid4(),
        "type": event_type,
        "workspace_id": workspace_id or "",
        "version_id": version.version_id if version else "",
        "version_number": version.number if version else None,
        "previous_version_id": str(previous_version_id or ""),
        "label": label or "",
        "detail": detail,
        "audience": (audience or audience_of(event_type)).value,
        "actor": by.username or "",
        "via": by.via.value,
        "key_prefix": by.key_prefix or "",
        **_about(resource),
    }
    _open.entries.append(entry)
    for ordinal, agent in enumerate(seen_in, start=1):
        shown = {
            **_EMPTY,
            "uuid": uuid.uuid4(),
            "ordinal": ordinal,
            "type": f"{agent.kind}.updated",
            "workspace_id": agent.workspace_id,
            "detail": {"fields": ["instructions"]},
            "audience": Audience.READERS.value,
            "via": by.via.value,  # but not who it was: its readers cannot read the block
            "hidden_from": workspace_id or "",
            **_about(agent),
        }
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


class Change(NamedTuple):
    """What an entry is about, as much of it as caches ask."""

    position: int
    type: str
    resource_kind: str
    resource_id: str


def changes(after: int, until: int, limit: int) -> list[Change]:
    """Return what the entries after a position are about, up to another one and in order; so many at most.

    Asked after every write by every process, so by a statement that Django does not build each time.
    """
    with prepared_cursor() as cursor:
        cursor.execute(_CHANGES, [after, until, limit])
        return [Change(*row) for row in cursor.fetchall()]


def _about(resource: Target | None) -> Entry:
    if resource is None:
        return {}
    return {
        "resource_kind": resource.kind,
        "resource_id": resource.id,
        "resource_uuid": resource.identity,
        "reach": resource.reach.value,
    }


def _write(recorded: Sequence[Entry], positions: int) -> None:
    """Write the entries, and take so many positions beside theirs."""
    now = timezone.now()
    number = positions
    for entry in recorded:
        number += entry["ordinal"] == 0
        entry["created_at"] = now
        entry["position"] = number  # from the position before: the statement adds it
    if number:
        take_positions_and_insert(Event, LogPosition, recorded, number)
