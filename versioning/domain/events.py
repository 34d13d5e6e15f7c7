"""The types of events in the log, and who sees them. Pure.

An application of Django that writes events of its own declares their types in `AppConfig.ready()`; the
API, the studio and their filters know them from then on. `versioning.models.events` writes and reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import KINDS, KINDS_BY_SLUG
from versioning.domain.registering import require_instance

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
    """The slug of its kind, such as `agent`, as everywhere in the API."""
    id: str
    identity: UUID
    """Distinguishes it from a later resource with the same id."""
    workspace_id: str
    reach: Reach
    """Who could read it until the event, and is therefore told of the event."""


class VersionName(Protocol):
    """What names the version that an event is about: a version, or what remembers one."""

    @property
    def version_id(self) -> str:
        """Its id, as callers write it."""

    @property
    def number(self) -> int | None:
        """Its number."""


MAX_LENGTH: Final = 64
"""How many characters a type has at most."""
_TYPE: Final = re.compile(r"[a-zA-Z]+\.[a-zA-Z]+")
_AUDIENCES: dict[str, Audience] = {}
_OF_KINDS: Final = {
    "created": Audience.EDITORS,
    "versionCreated": Audience.EDITORS,
    "published": Audience.READERS,
    "unpublished": Audience.READERS,
    # Moving a released label concerns readers: the caller of `record` says so.
    "labelMoved": Audience.EDITORS,
    "labelRemoved": Audience.EDITORS,
    "versionDeleted": Audience.EDITORS,
    "updated": Audience.READERS,
    "deleted": Audience.READERS,
}
"""What happens to resources of every kind."""


def register(subject: str, audience: Audience, *names: str) -> None:
    """Declare the types of events about a subject: `register("agent", Audience.READERS, "published")`.

    Raises `ValueError` for a type that is declared with another audience, and for what is no type: a
    subject and a name, each of ASCII letters.
    """
    require_instance(audience, Audience, by="events.register()")
    for name in names:
        event_type = f"{subject}.{name}"
        if not _TYPE.fullmatch(event_type) or len(event_type) > MAX_LENGTH:
            raise ValueError(f"{event_type!r} is no type of event")
        if types().get(event_type, audience) != audience:
            raise ValueError(f"{event_type!r} is declared with another audience")
        _AUDIENCES[event_type] = audience


def types() -> Mapping[str, Audience]:
    """Return the audience of each declared type, those of the kinds first."""
    of_kinds = {f"{kind.slug}.{name}": audience for kind in KINDS for name, audience in _OF_KINDS.items()}
    return of_kinds | _AUDIENCES


def audience_of(event_type: str) -> Audience:
    """Return the audience of a type; raises `KeyError` if the type is not declared."""
    subject, _, name = event_type.partition(".")
    return _OF_KINDS[name] if subject in KINDS_BY_SLUG else _AUDIENCES[event_type]


def matching(patterns: Iterable[str]) -> set[str]:
    """Return the types that match the patterns; a pattern is a type or `<subject>.*`.

    Raises `Invalid` for a pattern that matches nothing.
    """
    found: set[str] = set()
    for pattern in patterns:
        named = {known for known in types() if known == pattern or _is_about(known, pattern)}
        if not named:
            raise Invalid.field("type", Message("{type!r} is no type of event", type=pattern))
        found |= named
    return found


def _is_about(event_type: str, pattern: str) -> bool:
    return pattern.endswith(ALL_OF) and event_type.rpartition(".")[0] == pattern.removesuffix(ALL_OF)


register("workspace", Audience.ADMINS, "created", "updated", "deleted")
register("member", Audience.ADMINS, "added", "roleChanged", "removed")
register("invitation", Audience.ADMINS, "created", "withdrawn")
register("key", Audience.ADMINS, "created", "revoked")
register(
    "review", Audience.EDITORS, "requested", "approved", "changesRequested", "withdrawn", "bypassed", "closed"
)
register("comment", Audience.EDITORS, "added", "changed", "resolved", "reopened", "deleted")
register("release", Audience.EDITORS, "created", "changed", "published", "reverted", "deleted")
register("schedule", Audience.EDITORS, "created", "changed", "cancelled", "done", "failed")
register("rollout", Audience.READERS, "started", "changed", "stopped", "completed")
register("webhook", Audience.ADMINS, "created", "changed", "disabled", "deleted")
