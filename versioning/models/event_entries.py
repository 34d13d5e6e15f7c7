"""Entries of the log before they are written: dictionaries by column.

To make an instance of the model would take longer than to insert the row.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from versioning.domain.access import Caller
from versioning.domain.events import Audience, Reach, Target, VersionName

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
}

_ABOUT_NO_RIGHTS: Final = frozenset({"release", "schedule"})
"""Subjects of entries about no resource that change nobody's rights: what goes live with them is not checked
again at the commit because of its own entry."""


def entry_of(
    event_type: str,
    audience: Audience,
    by: Caller,
    resource: Target | None,
    version: VersionName | None,
    **columns: Any,
) -> Entry:
    """Return the entry about a change; `columns` are the further ones, those that are not empty."""
    entry = {
        **_EMPTY,
        "uuid": uuid.uuid4(),
        "type": event_type,
        "audience": audience.value,
        "actor": by.username or "",
        "via": by.via.value,
        "key_prefix": by.key_prefix or "",
        **columns,
    }
    if version is not None:
        entry |= {"version_id": version.version_id, "version_number": version.number}
    return entry if resource is None else entry | _about(resource)


def entry_for_readers(agent: Target, ordinal: int, by: Caller, workspace_id: str) -> Entry:
    """Return the entry that tells readers of an agent of a change of a block that the agent shows.

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
        **_about(agent),
    }


def changes_rights(entry: Entry) -> bool:
    """Say whether an entry can be about what somebody may do: most can that are about no resource."""
    return not entry["resource_kind"] and entry["type"].partition(".")[0] not in _ABOUT_NO_RIGHTS


def _about(resource: Target) -> Entry:
    return {
        "resource_kind": resource.kind,
        "resource_id": resource.id,
        "resource_uuid": resource.identity,
        "reach": resource.reach.value,
    }
