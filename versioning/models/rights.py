"""Rights of callers, checked again before their changes are committed.

A caller has the rights of the moment at which they were read. Until the commit an admin may have lowered a
role, or revoked the key. So after a transaction has taken its position, and before it is committed, the
rights of everybody who acted in it are compared with what is stored by then. The row of the position is
locked: whoever changes rights has committed before and is heard, or commits afterwards. That makes a change
by somebody without the right to it as impossible as if each followed the other: docs/decisions/0020.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from versioning.domain.access import Caller, RightsChanged
from versioning.models.event_entries import Entry, changes_rights


def check(actors: Iterable[Caller], rights_position: int, entries: Sequence[Entry]) -> None:
    """Raise `RightsChanged` if somebody's rights are no longer those with which they acted.

    Raises `Unauthorized` if somebody may not call at all any more. `rights_position` is that of the newest
    change of rights, with those of this transaction, whose `entries` are excepted: admins may leave.
    """
    for actor in actors:
        if actor.read_again is None or actor.rights_position == rights_position:
            continue
        if any(_is_about(actor, entry) for entry in entries):
            continue
        current = actor.read_again()
        if current.rights != actor.rights:
            raise RightsChanged(current)


def _is_about(actor: Caller, entry: Entry) -> bool:
    """Say whether an entry is about what the actor may do."""
    if not changes_rights(entry):
        return False
    detail = entry["detail"]
    own_key = actor.key_prefix is not None and detail.get("prefix") == actor.key_prefix
    return own_key or (actor.username is not None and detail.get("username") == actor.username)
