"""What a transaction writes to the log at its end; `versioning.models.events` opens it."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from versioning.domain.access import Caller
from versioning.models import rights
from versioning.models.event_entries import Entry, changes_rights
from versioning.models.event_statements import take_positions_and_insert
from versioning.models.log import Event, LogPosition

Condition = Callable[[int], object]
"""Is given the position of the newest change of anybody's rights, or of a policy; raises to roll back."""


class OpenTransaction:
    """The entries of a transaction, and what else happens when it ends."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.depth = 1
        """How many blocks have joined it, with the one that began it."""
        self.steps: list[Callable[[], object]] = []
        """What is done right before the entries are written."""
        self.conditions: list[Condition] = []
        """What is checked at the very end, when the position is taken."""
        self.actors: list[Caller] = []
        """Whoever changed something, each once."""
        self.is_touched = False
        """Whether something changed that has no entry."""
        self.is_touched_unless_logged = False
        """Whether something changed that has no entry of its own, which matters only if there are no entries
        at all."""

    def acts(self, by: Caller) -> None:
        """Note that a caller changes something."""
        if not any(by is actor for actor in self.actors):
            self.actors.append(by)

    def write(self) -> None:
        """Take the positions, write the entries, and check the rights of whoever acted."""
        now = timezone.now()
        untold = self.is_touched or (self.is_touched_unless_logged and not self.entries)
        number = int(untold)
        for entry in self.entries:
            number += entry["ordinal"] == 0
            entry["created_at"] = now
            entry["position"] = number  # from the position before: the statement adds it
        if not number:
            for step in self.steps:
                step()
            return
        rights_position = take_positions_and_insert(
            Event,
            LogPosition,
            self.entries,
            number,
            is_about_rights=untold or any(map(changes_rights, self.entries)),
            steps=self.steps,
        )
        rights.check(self.actors, rights_position, self.entries)
        for condition in self.conditions:
            condition(rights_position)
