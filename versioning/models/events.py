"""The log: an entry for every change that can affect answers, pages or refusals.

    with events.transaction():
        ...                                   # change rows
        events.record("agent.published", by=caller, …)
    for entry in events.entries(after=position):
        ...                                   # everything that changed since, in order

The entries are written at the end of the outermost `events.transaction()`, as its last statements before the
commit. Their positions come from one row, which stays locked until the commit. So positions are in the order
of commits, and a reader who has read up to a position has missed nothing before it: docs/decisions/0014.

Entries are dictionaries by column until they are inserted: creating an instance of the model would take
longer than inserting the row. The statements are constant, so Django does not build them.

Inside a transaction opened by other code (a test, or an application that calls the editor within its own
`atomic()`) the lock lasts until that transaction ends, and other writers wait for it.
"""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from django.apps import apps
from django.db import IntegrityError, connection, models
from django.db import transaction as database
from django.db.models import Min
from django.utils import timezone

from versioning.domain import telemetry
from versioning.domain.access import Caller, RightsChanged
from versioning.domain.errors import InUse, Message, WorkspaceDeleted
from versioning.domain.events import Audience, Reach, Target, VersionName, find_audience, find_subject
from versioning.domain.registering import require_callable
from versioning.models import storage
from versioning.models.guarded import unguard
from versioning.models.log import Event, LogPosition
from versioning.models.statements import (
    ROWS_AT_ONCE,
    column_names,
    insert,
    inserted_columns,
    inserted_fields,
    one_round_trip,
    prepared_cursor,
    quoted_table,
    row_values,
)

Entry = dict[str, Any]
_CHANGES: Final = (
    f'SELECT position, type, resource_kind, resource_id FROM "{Event._meta.db_table}"'  # noqa: S608  ours
    " WHERE position > %s AND position <= %s ORDER BY position, ordinal LIMIT %s"
)
Condition = Callable[[int], object]
"""Receives the position of the newest change of any rights or policy; raises to roll back."""
Watcher = Callable[[Caller, Target, VersionName | None, Mapping[str, Any]], object]
"""Receives the caller who changes a resource, the resource before the change, the version, and the entry's
detail."""
_before_entries: Final[list[Callable[[], object]]] = []
_watchers: Final[dict[str, list[Watcher]]] = {}


class OpenTransaction:
    """The entries of a transaction, and the other steps at its end."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.depth = 1
        """How many blocks have joined it, including the one that began it."""
        self.steps: list[Callable[[], object]] = []
        """Called right before the entries are written."""
        self.conditions: list[Condition] = []
        """Checked at the very end, when the position is taken."""
        self.actors: dict[int, Caller] = {}
        """The callers who changed something, by their identity as objects."""
        self.is_touched = False
        """Whether a change without an entry was made."""
        self.is_touched_unless_logged = False
        """Whether a change without its own entry was made that matters only if there are no entries at all.
        """

    def write(self) -> None:
        """Take the positions, write the entries, and check the rights of the callers who acted."""
        now = timezone.now()
        untold = self.is_touched or (self.is_touched_unless_logged and not self.entries)
        number = int(untold)
        about_rights = []
        for entry in self.entries:
            number += entry["ordinal"] == 0
            entry["created_at"] = now
            entry["position"] = number  # relative to the previous entry: the statement adds the position
            if not entry["resource_kind"]:  # entries about a resource never change rights, others usually do
                subject = find_subject(entry["type"])
                if subject is None or subject.changes_rights:
                    about_rights.append(entry)
        if not number:
            for step in self.steps:
                step()
            return
        rights_position = take_positions_and_insert(
            self.entries, number, is_about_rights=untold or bool(about_rights), steps=self.steps
        )
        for actor in self.actors.values():
            check_rights(actor, rights_position, about_rights)
        for condition in self.conditions:
            condition(rights_position)


def check_rights(actor: Caller, rights_position: int, about_rights: Sequence[Entry]) -> None:
    """Raise `RightsChanged` if a caller's rights are no longer those with which they acted.

    A caller's rights were read at the beginning. Before the commit an admin may have lowered a role or
    revoked the key. So they are compared with the stored rights once the transaction has taken its position.
    A change of rights either was committed before and is seen, or waits for the row of the position and
    commits afterwards (docs/decisions/0020).

    Raises `Unauthorized` if the caller has lost all access. `rights_position` is the position of the newest
    change of rights. `about_rights` are the entries of this transaction that change rights: callers whose own
    rights they change are exempt, because admins may leave.
    """
    if actor.read_again is None or actor.rights_position == rights_position:
        return
    for entry in about_rights:
        detail = entry["detail"]
        if actor.key_prefix is not None and detail.get("prefix") == actor.key_prefix:
            return
        if actor.username is not None and detail.get("username") == actor.username:
            return
    current = actor.read_again()
    if current.rights != actor.rights:
        raise RightsChanged(current)


class _Open(threading.local):
    transaction: OpenTransaction | None = None
    """The open transaction of this thread."""


_open: Final = _Open()
_PROTECTED: Final = (models.ProtectedError, models.RestrictedError)


@contextmanager
def transaction() -> Iterator[None]:
    """Open a transaction whose recorded entries are written to the log, or join the open one.

    If a joined transaction fails, its entries are dropped together with its changes. Use this for savepoints:
    a bare `atomic()` inside rolls back rows but not entries. Raises `WorkspaceDeleted` if the workspace of an
    entry was deleted by another transaction, and `InUse` if other rows protect a deleted one (`PROTECT`,
    `RESTRICT`).
    """
    opened = _open.transaction
    if opened is not None:
        entry_count, condition_count = len(opened.entries), len(opened.conditions)
        opened.depth += 1
        try:
            with database.atomic():
                yield
        except BaseException as error:
            del opened.entries[entry_count:]
            del opened.conditions[condition_count:]
            _raise_in_use(error)
            raise
        finally:
            opened.depth -= 1
        return
    begun = _open.transaction = OpenTransaction()
    try:
        with database.atomic():
            yield
            if begun.entries:
                for step in _before_entries:
                    step()
            begun.write()
    except (IntegrityError, *_PROTECTED) as error:
        _raise_in_use(error)
        # Nothing can refer to a workspace that was deleted in the meantime.
        workspace_ids = {entry["workspace_id"] for entry in begun.entries} - {""}
        workspaces = apps.get_model("versioning.Workspace")._default_manager
        if workspaces.filter(pk__in=workspace_ids).count() < len(workspace_ids):
            raise WorkspaceDeleted from None
        raise
    finally:
        _open.transaction = None
    if begun.entries:
        storage.note_saved()


def _raise_in_use(error: BaseException) -> None:
    """Raise `InUse` if rows could not be deleted because others, such as a project's own, refer to them."""
    if isinstance(error, _PROTECTED):
        rows = (
            error.protected_objects if isinstance(error, models.ProtectedError) else error.restricted_objects
        )
        names = sorted({str(row._meta.verbose_name_plural) for row in rows})
        message = Message("It cannot be deleted: other rows refer to it ({names}).", names=", ".join(names))
        raise InUse(message, hidden_count=len(rows)) from error


def record(
    event_type: str,
    *,
    by: Caller,
    workspace_id: str | None,
    resource: Target | None = None,
    version: VersionName | None = None,
    previous_version_id: object = None,
    label: str | None = None,
    audience: Audience | None = None,
    seen_in: Iterable[Target] = (),
    **detail: Any,
) -> uuid.UUID:
    """Record a change, and return the id of its entry; it is written when the outermost `transaction()` ends.

    `resource` describes who could read it before the change. `audience` defaults to that of the type.
    `seen_in` are the published agents that show the text in question: readers of such an agent who are not
    members of the workspace get an event about that agent at the same position. `detail` is JSON and must
    never contain the text of a prompt or a secret. Raises `RuntimeError` outside of `transaction()`,
    `KeyError` for an undeclared type, and `TypeError` for a `resource` that is not a `Target`.
    """
    opened = _open.transaction
    if opened is None:
        raise RuntimeError("record() needs an open events.transaction(), which writes the entry")
    if resource is not None and not isinstance(resource, Target):
        raise TypeError(
            "record(resource=…) takes a Target, which versioning.serving.grants.target_of(resource, "
            f"get_editor().code) makes, and not an object of {type(resource).__name__}"
        )
    opened.actors[id(by)] = by
    entry = make_entry(
        event_type,
        audience or find_audience(event_type),
        by,
        resource,
        version,
        workspace_id=workspace_id or "",
        previous_version_id=str(previous_version_id or ""),
        label=label or "",
        detail=detail,
    )
    opened.entries.append(entry)
    for ordinal, agent in enumerate(seen_in, start=1):
        # Members of the workspace do not see these, because they see the entry about the block. They omit the
        # author of the change, because readers of the agent cannot read the block.
        values: dict[str, Any] = {"workspace_id": agent.workspace_id, "hidden_from": workspace_id or ""}
        values |= {"detail": {"fields": ["instructions"]}, "ordinal": ordinal, "actor": "", "key_prefix": ""}
        opened.entries.append(
            make_entry(f"{agent.kind}.updated", Audience.READERS, by, agent, None, **values)
        )
    if resource is not None:
        for watcher in _watchers.get(event_type, ()):
            watcher(by, resource, version, detail)
    entry_id: uuid.UUID = entry["uuid"]
    return entry_id


def make_entry(
    event_type: str,
    audience: Audience,
    by: Caller,
    resource: Target | None,
    version: VersionName | None,
    **columns: Any,
) -> Entry:
    """Return the entry for a change; `columns` are further columns that are not empty."""
    return {
        "uuid": uuid.uuid4(),
        "ordinal": 0,
        "type": event_type,
        "workspace_id": "",
        "resource_kind": "" if resource is None else resource.kind,
        "resource_id": "" if resource is None else resource.id,
        "resource_uuid": None if resource is None else resource.identity,
        "reach": (Reach.EDITORS if resource is None else resource.reach).value,
        "version_id": "" if version is None else version.version_id,
        "version_number": None if version is None else version.number,
        "previous_version_id": "",
        "label": "",
        "actor": by.username or "",
        "via": by.via.value,
        "key_prefix": by.key_prefix or "",
        "audience": audience.value,
        "hidden_from": "",
        "trace": telemetry.parent(),
        **columns,
    }


def watch(event_type: str, watcher: Watcher) -> None:
    """Call a function in the transaction of every change of this type, when the change is recorded.

    A deletion is recorded before its rows are deleted. If the watcher raises, the change is not made.
    """
    _watchers.setdefault(event_type, []).append(watcher)


def before_entries(step: Callable[[], object]) -> None:
    """Call a function in every transaction that writes entries, before it takes their positions."""
    _before_entries.append(step)


@contextmanager
def together() -> Iterator[None]:
    """Give everything recorded within the block one position, so that every follower sees it at once.

    The block begins and ends within one `transaction()`; raises `RuntimeError` outside of any.
    """
    opened = _open.transaction
    if opened is None:
        raise RuntimeError("together() needs an open events.transaction()")
    entry_count = len(opened.entries)
    yield
    for ordinal, entry in enumerate(opened.entries[entry_count:]):
        entry["ordinal"] = ordinal


def is_open() -> bool:
    """Return whether this thread is inside `transaction()`."""
    return _open.transaction is not None


def at_end(step: Callable[[], object]) -> None:
    """Call a step at the end of the open `transaction()`, together with writing the entries.

    This saves a round trip to PostgreSQL. The step only writes, and nothing later in the transaction may
    depend on it. In a transaction that was joined it runs at once.
    """
    opened = _open.transaction
    if opened is None or opened.depth > 1:
        step()
    else:
        opened.steps.append(step)


def at_commit(condition: Condition) -> None:
    """Check a condition right before the commit, while no other transaction can commit.

    For conditions on rights or policies, which others may have changed since they were read: the condition
    receives the position of the newest such change, and raises to roll everything back. Raises `RuntimeError`
    outside of `transaction()`.
    """
    if _open.transaction is None:
        raise RuntimeError("at_commit() needs an open events.transaction()")
    _open.transaction.conditions.append(condition)


def acts(by: Caller) -> None:
    """Name the caller of a change without an entry, so that their rights are checked before the commit.

    Outside of `transaction()` nothing is checked.
    """
    if _open.transaction is not None:
        _open.transaction.actors[id(by)] = by


def touch(*, unless_logged: bool = False) -> None:
    """Advance the log by one position without an entry, after a change that answers depend on.

    A follower that finds no entry at a position assumes that everything has changed. `unless_logged` is for
    changes that the verbs log themselves: then the entries of the transaction are enough.
    """
    opened = _open.transaction
    if opened is None:
        with database.atomic(savepoint=False):
            take_positions_and_insert((), 1, is_about_rights=True)
    elif unless_logged:
        opened.is_touched_unless_logged = True
    else:
        opened.is_touched = True


@dataclass(frozen=True)
class Extent:
    """The range of positions in the log."""

    newest: int
    """The position of the newest entry; 0 if there is none."""
    oldest: int
    """The position after which no entry has been pruned."""
    epoch: str
    """Changes with a restore, when positions mean other entries; empty without a log."""


def extent() -> Extent:
    """Return the range of positions, in one statement."""
    row = LogPosition.objects.values_list("position", "pruned_to", "epoch").first()
    return Extent(*(row or (0, 0, "")))


def position() -> int:
    """Return the position of the newest entry; 0 if there is none."""
    return extent().newest


def newest_at() -> datetime.datetime | None:
    """Return when the newest entry was written; None if there is none."""
    return Event.objects.order_by("-position").values_list("created_at", flat=True).first()


def entries(after: int, limit: int = 1000) -> list[Event]:
    """Return the entries after a position, in order, regardless of who can see them.

    Returns about `limit` entries: those that share a position are never split. A reader whose position is
    before `extent().oldest` has missed entries that were pruned. For the events of one caller use
    `editor.event.page`.
    """
    newer = Event.objects.filter(position__gt=after).order_by("position", "ordinal")
    rows = list(newer[:limit])
    if len(rows) == limit:
        last = rows[-1]
        rows += newer.filter(position=last.position, ordinal__gt=last.ordinal)
    return rows


class Change(NamedTuple):
    """The part of an entry that caches need."""

    position: int
    type: str
    resource_kind: str
    resource_id: str


def changes(after: int, until: int, limit: int) -> list[Change]:
    """Return the changes after one position and up to another, in order, at most `limit`.

    Every process calls this after every write, so Django does not build the statement each time.
    """
    with prepared_cursor() as cursor:
        cursor.execute(_CHANGES, [after, until, limit])
        return [Change(*row) for row in cursor.fetchall()]


_TAKEN: Final = (
    "INSERT INTO {log} AS log (id, position, pruned_to, rights_position) VALUES (1, %s, 0, %s)"
    " ON CONFLICT (id) DO UPDATE SET position = log.position + EXCLUDED.position, rights_position ="
    " CASE WHEN EXCLUDED.rights_position = 0 THEN log.rights_position"
    " ELSE log.position + EXCLUDED.position END RETURNING position, rights_position"
)


@cache
def _taken() -> str:
    return _TAKEN.format(log=quoted_table(LogPosition))


def take_positions_and_insert(
    entries: Sequence[Entry],
    number: int,
    *,
    is_about_rights: bool,
    steps: Iterable[Callable[[], object]] = (),
) -> int:
    """Take positions and insert the entries, whose own positions are relative to the previous entry.

    The last `steps` of the transaction run before that. PostgreSQL does all of it in one round trip, so that
    the row of the position is locked for no longer than the commit takes.

    Returns the position of the newest change of any rights, which is the last of these positions if the
    entries are about rights.
    """
    increments = [number, number if is_about_rights else 0]
    if connection.vendor == "postgresql" and 0 < len(entries) <= ROWS_AT_ONCE:
        with prepared_cursor() as cursor:
            with one_round_trip():
                _prepare(steps)
                parameters = [*increments, number, *row_values(inserted_columns(Event), entries)]
                cursor.execute(_both(len(entries)), parameters)
            return int(cursor.fetchone()[0])
    _prepare(steps)
    with prepared_cursor() as cursor:
        cursor.execute(_taken(), increments)
        position, rights_position = cursor.fetchone()
    for entry in entries:
        entry["position"] += position - number
    insert(Event, entries)
    return int(rights_position)


def _prepare(steps: Iterable[Callable[[], object]]) -> None:
    """Do everything that must precede taking the position.

    Django defers the checks of foreign keys to the commit, and they lock the referenced rows. A transaction
    that has a position must not wait for others, which may be waiting for the position. Within a transaction
    opened by other code they stay deferred, because its later statements may need that.
    """
    for step in steps:
        step()
    if connection.vendor == "postgresql" and not connection.savepoint_ids:
        with prepared_cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@lru_cache(maxsize=64)
def _both(rows: int) -> str:
    fields, names = inserted_fields(Event), column_names(Event)
    row = f"({', '.join(f'CAST(%s AS {field.db_type(connection)})' for field in fields)})"
    position = connection.ops.quote_name("position")
    selected = ", ".join(
        f"taken.position - %s + entry.{position}" if field.name == "position" else f"entry.{name}"
        for field, name in zip(fields, names, strict=True)
    )
    columns = ", ".join(names)
    # Only the names of the tables and columns are inserted.
    return (
        f"WITH taken AS ({_taken()})"  # noqa: S608
        f" INSERT INTO {quoted_table(Event)} ({columns}) SELECT {selected}"
        f" FROM taken, (VALUES {', '.join([row] * rows)}) AS entry ({columns})"
        " RETURNING (SELECT rights_position FROM taken)"
    )


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
    newest = position()  # before anything else, so that entries written in the meantime come after it
    first_kept = Event.objects.filter(created_at__gte=before).aggregate(first=Min("position"))["first"]
    last = newest if first_kept is None else min(newest, first_kept - 1)
    last = min([last, *(read for reader in _readers if (read := reader()) is not None)])
    LogPosition.objects.filter(pruned_to__lt=last).update(pruned_to=last)
    pruned_to = extent().oldest
    expired = Event.objects.filter(position__lte=pruned_to).order_by("position")
    removed, more = 0, True
    while more:
        last = expired.values_list("position", flat=True)[AT_ONCE - 1 : AT_ONCE].first()
        more = last is not None
        batch = expired.filter(position__lte=last) if more else expired
        removed += unguard(batch.order_by()).delete()[0]
    return removed
