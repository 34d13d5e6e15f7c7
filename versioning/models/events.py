"""The log: an entry for every change of anything that can be served, shown or refused.

    with events.transaction():
        ...                                   # change rows
        events.record("agent.published", by=caller, …)
    for entry in events.entries(after=position):
        ...                                   # everything that changed since, in order

The entries are written at the end of the outermost `events.transaction()`, as its last statements before
the commit. Their positions come from one row, which stays locked until the commit. So positions are in the
order of commits, and whoever has read up to a position has missed nothing before it: docs/decisions/0014.

Inside a transaction opened by somebody else (a test, or an application that calls the editor within its own
`atomic()`) the lock lasts until that transaction ends, and other writers wait for it.
"""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
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
"""An entry before it is written, by column; creating a model instance would take longer than the insert."""

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
    """The entries of this thread's open transaction; None if there is none."""

    entries: list[Entry] | None = None
    touched = False
    """Whether something changed that has no entry."""
    touched_unless_logged = False
    """Whether something changed that has no entry of its own, which matters only if there are no entries
    at all."""


_open: Final = _Open()


@contextmanager
def transaction() -> Iterator[None]:
    """Open a transaction and write to the log what is recorded in it, or join the open one.

    If a joined transaction fails, its entries are dropped together with its changes. Use this for
    savepoints: a bare `atomic()` inside rolls back rows but not entries.
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
    _open.touched = _open.touched_unless_logged = False
    try:
        with database.atomic():
            yield
            is_unlogged = _open.touched or (_open.touched_unless_logged and not entries)
            _write(entries, positions=1 if is_unlogged else 0)
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
    """Record a change; it is written when the outermost `transaction()` ends.

    `resource` says who could read it before the change. `audience` defaults to that of the type. `seen_in`
    are the published agents that show the text in question: whoever may read one of them, and is not a
    member of the workspace, gets an event about that agent at the same position. `detail` is JSON and must
    never contain the text of a prompt or a secret. Raises `RuntimeError` outside of `transaction()`, and
    `KeyError` for an undeclared type.
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
            "via": by.via.value,  # not who: readers of the agent cannot read the block
            "hidden_from": workspace_id or "",
            **_about(agent),
        }
        _open.entries.append(shown)


def is_open() -> bool:
    """Say whether this thread is inside of `transaction()`."""
    return _open.entries is not None


def touch(*, unless_logged: bool = False) -> None:
    """Move the log by one position without an entry, because something changed that answers depend on.

    A follower that finds no entry at a position assumes that everything has changed. `unless_logged` is for
    changes that the verbs log themselves: then the entries of the transaction are enough.
    """
    if _open.entries is None:
        with database.atomic(savepoint=False):
            _write((), positions=1)
    elif unless_logged:
        _open.touched_unless_logged = True
    else:
        _open.touched = True


@dataclass(frozen=True)
class Extent:
    """The range of positions in the log."""

    newest: int
    """The position of the newest entry; 0 if there is none."""
    oldest: int
    """The position after which no entry has been pruned."""


def extent() -> Extent:
    """Return the range of positions, in one statement."""
    found = LogPosition.objects.values_list("position", "pruned_to").first()
    return Extent(*(found or (0, 0)))


def position() -> int:
    """Return the position of the newest entry; 0 if there is none."""
    return extent().newest


_readers: Final[list[Callable[[], int | None]]] = []


def register_reader(read_up_to: Callable[[], int | None]) -> None:
    """Register somebody who must read every entry; `prune` deletes none that they have not read.

    `read_up_to` returns the position up to which they have read; None if they need none of the entries now.
    """
    _readers.append(read_up_to)


def prune(before: datetime.datetime) -> int:
    """Delete the entries written before the given time and return how many were deleted.

    Entries at later positions are never deleted, whatever the clocks said, nor those that a registered
    reader has not read. Callers of the API treat the entries as pruned before the first one is deleted, so
    that nobody sees only some of them; an interrupted prune is completed by the next one.
    """
    newest = position()  # before all else, so that what is written meanwhile comes after it
    kept = Event.objects.filter(created_at__gte=before).aggregate(first=Min("position"))["first"]
    last = newest if kept is None else min(newest, kept - 1)
    last = min([last, *(read for reader in _readers if (read := reader()) is not None)])
    LogPosition.objects.filter(pruned_to__lt=last).update(pruned_to=last)
    pruned_to = extent().oldest
    gone = Event.objects.filter(position__lte=pruned_to).order_by("position")
    removed, more = 0, True
    while more:
        last = gone.values_list("position", flat=True)[PRUNED_AT_ONCE - 1 : PRUNED_AT_ONCE].first()
        more = last is not None
        some = gone.filter(position__lte=last) if more else gone
        removed += models.QuerySet.delete(some.order_by())[0]
    return removed


def entries(after: int, limit: int = 1000) -> list[Event]:
    """Return the entries after a position, in order, whoever may see them.

    About `limit` of them: those that share a position are never parted. Whoever has not read for so long
    that `extent().oldest` is past the position has missed what was pruned since. For one caller's events
    ask `editor.event.page`.
    """
    newer = Event.objects.filter(position__gt=after).order_by("position", "ordinal")
    found = list(newer[:limit])
    if len(found) == limit:
        last = found[-1]
        found += newer.filter(position=last.position, ordinal__gt=last.ordinal)
    return found


class Change(NamedTuple):
    """The part of an entry that caches need."""

    position: int
    type: str
    resource_kind: str
    resource_id: str


def changes(after: int, until: int, limit: int) -> list[Change]:
    """Return the changes after one position and up to another, in order, at most `limit`.

    Every process asks this after every write, so Django does not build the statement each time.
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
    """Write the entries, and take that many positions in addition to theirs."""
    now = timezone.now()
    number = positions
    for entry in recorded:
        number += entry["ordinal"] == 0
        entry["created_at"] = now
        entry["position"] = number  # from the position before: the statement adds it
    if number:
        take_positions_and_insert(Event, LogPosition, recorded, number)
