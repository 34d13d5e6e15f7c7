"""The types of events in the log, and who sees them. Pure.

A capability with events of its own declares them with `register`; the API, the studio and the filters know
them from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final

from versioning.domain.errors import Invalid
from versioning.domain.kinds import KINDS

if TYPE_CHECKING:
    from uuid import UUID

ALL_OF: Final = ".*"
"""The suffix that stands for all types of a subject, as in `agent.*`."""


class Audience(StrEnum):
    """Who sees an event, unless the event itself narrows it further."""

    READERS = "readers"
    """About something published: everybody who may read the resource, or could until the event."""
    EDITORS = "editors"
    """About drafts: everybody who may read the drafts of the workspace."""
    ADMINS = "admins"
    """About the workspace: its admins."""


class Reach(IntEnum):
    """Who could read the published version of a resource at the time of the event."""

    EDITORS = 0
    """Nothing was published: whoever may read drafts."""
    MEMBERS = 1
    """The members of its workspace."""
    EVERYBODY = 2
    """Everybody who is signed in."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The resource that an event is about, as it was before the change."""

    kind: str
    """`agent` or `promptBlock`, as everywhere in the API."""
    id: str
    identity: UUID
    """Distinguishes it from a later resource with the same id."""
    workspace_id: str
    reach: Reach
    """Who could read it until the event, and is therefore told of the event."""


_AUDIENCES: dict[str, Audience] = {}


def register(subject: str, audience: Audience, *names: str) -> None:
    """Declare the types of events about a subject: `register("agent", Audience.READERS, "published")`."""
    _AUDIENCES.update({f"{subject}.{name}": audience for name in names})


def types() -> Mapping[str, Audience]:
    """Return the audience of each declared type, in the order of declaration."""
    return _AUDIENCES


def audience_of(event_type: str) -> Audience:
    """Return the audience of a type; raises `KeyError` if the type is not declared."""
    return _AUDIENCES[event_type]


def matching(patterns: Iterable[str]) -> set[str]:
    """Return the types that match the patterns; a pattern is a type or `<subject>.*`.

    Raises `Invalid` for a pattern that matches nothing.
    """
    found: set[str] = set()
    for pattern in patterns:
        named = {known for known in _AUDIENCES if known == pattern or _is_about(known, pattern)}
        if not named:
            raise Invalid.field("type", f"{pattern!r} is no type of event")
        found |= named
    return found


def _is_about(event_type: str, pattern: str) -> bool:
    return pattern.endswith(ALL_OF) and event_type.rpartition(".")[0] == pattern.removesuffix(ALL_OF)


for _word in (kind.word for kind in KINDS):
    register(_word, Audience.EDITORS, "created", "versionCreated")
    register(_word, Audience.READERS, "published", "unpublished")
    # Moving a released label concerns readers: the caller of `record` says so.
    register(_word, Audience.EDITORS, "labelMoved", "labelRemoved", "versionDeleted")
    register(_word, Audience.READERS, "updated", "deleted")
register("workspace", Audience.ADMINS, "created", "updated", "deleted")
register("member", Audience.ADMINS, "added", "roleChanged", "removed")
register("invitation", Audience.ADMINS, "created", "withdrawn")
register("key", Audience.ADMINS, "created", "revoked")
register(
    "review", Audience.EDITORS, "requested", "approved", "changesRequested", "withdrawn", "bypassed", "closed"
)
register("comment", Audience.EDITORS, "added", "resolved")
register("release", Audience.EDITORS, "created", "published", "reverted", "deleted")
register("schedule", Audience.EDITORS, "created", "changed", "cancelled", "done", "failed")
register("rollout", Audience.READERS, "started", "changed", "stopped", "completed")
register("webhook", Audience.ADMINS, "created", "changed", "disabled", "deleted")
