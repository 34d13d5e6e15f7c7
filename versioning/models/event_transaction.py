"""What a transaction writes to the log at its end; `versioning.models.events` opens it.

Entries are dictionaries by column until they are inserted: creating an instance of the model would take
longer than inserting the row. The statements are constant, so Django does not build them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from versioning.domain import telemetry
from versioning.domain.access import Caller, RightsChanged
from versioning.domain.events import Audience, Reach, Target, VersionName, subject_of
from versioning.models.log import Event, LogPosition
from versioning.models.statements import (
    ROWS_AT_ONCE,
    columns_of,
    fields_of,
    insert,
    names_of,
    one_round_trip,
    prepared_cursor,
    table_of,
    values_of,
)

Entry = dict[str, Any]

_EMPTY: Final[Entry] = {
    "ordinal": 0,
    "workspace_id": "",
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
    "trace": None,
}


def entry_of(
    event_type: str,
    audience: Audience,
    by: Caller,
    resource: Target | None,
    version: VersionName | None,
    **columns: Any,
) -> Entry:
    """Return the entry for a change; `columns` are further columns that are not empty."""
    entry = {
        **_EMPTY,
        "uuid": uuid.uuid4(),
        "type": event_type,
        "audience": audience.value,
        "actor": by.username or "",
        "via": by.via.value,
        "key_prefix": by.key_prefix or "",
        "trace": telemetry.parent(),
        **columns,
    }
    if version is not None:
        entry |= {"version_id": version.version_id, "version_number": version.number}
    return entry if resource is None else entry | _about(resource)


def entry_for_readers(agent: Target, ordinal: int, by: Caller, workspace_id: str) -> Entry:
    """Return the entry that informs readers of an agent about a change of a block that the agent shows.

    Members of the workspace do not see it, because they see the entry about the block. It does not say who
    made the change, because readers of the agent cannot read the block.
    """
    return {
        **_EMPTY,
        "uuid": uuid.uuid4(),
        "ordinal": ordinal,
        "type": f"{agent.kind}.updated",
        "workspace_id": agent.workspace_id,
        "detail": {"fields": ["instructions"]},
        "audience": Audience.READERS.value,
        "via": by.via.value,
        "hidden_from": workspace_id,
        "trace": telemetry.parent(),
        **_about(agent),
    }


def changes_rights(entry: Entry) -> bool:
    """Return whether an entry can affect callers' rights; entries without a resource usually can."""
    if entry["resource_kind"]:
        return False
    subject = subject_of(entry["type"])
    return subject is None or subject.changes_rights


def _about(resource: Target) -> Entry:
    return {
        "resource_kind": resource.kind,
        "resource_id": resource.id,
        "resource_uuid": resource.identity,
        "reach": resource.reach.value,
    }


Condition = Callable[[int], object]
"""Receives the position of the newest change of any rights or policy; raises to roll back."""


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
        self.actors: list[Caller] = []
        """The callers who changed something, without duplicates."""
        self.is_touched = False
        """Whether something without an entry changed."""
        self.is_touched_unless_logged = False
        """Whether something changed that has no entry of its own, which matters only if there are no entries
        at all."""

    def acts(self, by: Caller) -> None:
        """Record that a caller changes something."""
        if not any(by is actor for actor in self.actors):
            self.actors.append(by)

    def write(self) -> None:
        """Take the positions, write the entries, and check the rights of the callers who acted."""
        now = timezone.now()
        untold = self.is_touched or (self.is_touched_unless_logged and not self.entries)
        number = int(untold)
        for entry in self.entries:
            number += entry["ordinal"] == 0
            entry["created_at"] = now
            entry["position"] = number  # relative to the previous entry: the statement adds the position
        if not number:
            for step in self.steps:
                step()
            return
        rights_position = take_positions_and_insert(
            self.entries,
            number,
            is_about_rights=untold or any(map(changes_rights, self.entries)),
            steps=self.steps,
        )
        check_rights(self.actors, rights_position, self.entries)
        for condition in self.conditions:
            condition(rights_position)


def check_rights(actors: Iterable[Caller], rights_position: int, entries: Sequence[Entry]) -> None:
    """Raise `RightsChanged` if a caller's rights are no longer those with which they acted.

    A caller has the rights of the moment at which they were read. Before the commit an admin may have lowered
    a role, or revoked the key. So they are compared with the stored rights once the transaction has taken its
    position: a change of rights either was committed before and is seen, or waits for the row of the position
    and commits afterwards (docs/decisions/0020).

    Raises `Unauthorized` if a caller has lost all access. `rights_position` is the position of the newest
    change of rights, including this transaction's `entries`, which are exempt: admins may leave.
    """
    for actor in actors:
        if actor.read_again is None or actor.rights_position == rights_position:
            continue
        if any(_is_about_rights_of(actor, entry) for entry in entries):
            continue
        current = actor.read_again()
        if current.rights != actor.rights:
            raise RightsChanged(current)


def _is_about_rights_of(actor: Caller, entry: Entry) -> bool:
    """Return whether an entry is about the actor's own rights."""
    if not changes_rights(entry):
        return False
    detail = entry["detail"]
    own_key = actor.key_prefix is not None and detail.get("prefix") == actor.key_prefix
    return own_key or (actor.username is not None and detail.get("username") == actor.username)


_TAKEN: Final = (
    "INSERT INTO {log} AS log (id, position, pruned_to, rights_position) VALUES (1, %s, 0, %s)"
    " ON CONFLICT (id) DO UPDATE SET position = log.position + EXCLUDED.position, rights_position ="
    " CASE WHEN EXCLUDED.rights_position = 0 THEN log.rights_position"
    " ELSE log.position + EXCLUDED.position END RETURNING position, rights_position"
)


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
    taken = [number, number if is_about_rights else 0]
    if connection.vendor == "postgresql" and 0 < len(entries) <= ROWS_AT_ONCE:
        with prepared_cursor() as cursor:
            with one_round_trip():
                _prepare(steps)
                parameters = [*taken, number, *values_of(columns_of(Event), entries)]
                cursor.execute(_both(len(entries)), parameters)
            return int(cursor.fetchone()[0])
    _prepare(steps)
    with prepared_cursor() as cursor:
        cursor.execute(_TAKEN.format(log=table_of(LogPosition)), taken)
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
    fields, names = fields_of(Event), names_of(Event)
    row = f"({', '.join(f'CAST(%s AS {field.db_type(connection)})' for field in fields)})"
    position = connection.ops.quote_name("position")
    selected = ", ".join(
        f"taken.position - %s + entry.{position}" if field.name == "position" else f"entry.{name}"
        for field, name in zip(fields, names, strict=True)
    )
    columns = ", ".join(names)
    # Only the names of the tables and columns are inserted.
    return (
        f"WITH taken AS ({_TAKEN.format(log=table_of(LogPosition))})"  # noqa: S608
        f" INSERT INTO {table_of(Event)} ({columns}) SELECT {selected}"
        f" FROM taken, (VALUES {', '.join([row] * rows)}) AS entry ({columns})"
        " RETURNING (SELECT rights_position FROM taken)"
    )
