"""The types of events in the log, and who sees them. Pure.

An application that writes events of its own declares each type once, with the words in which people are told
of it (`EditorApp.events`); the API, the studio and their filters know it from then on.
`versioning.models.events` writes and reads events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

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
    """Nothing was published: those who may read drafts."""
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


@dataclass(frozen=True, kw_only=True)
class EventType:
    """A type of event."""

    name: str
    """The second half of the type, such as `published`."""
    title: object = ""
    """What it is called beside its subject, lazily translated; without, it is called by its name."""
    sentence: Callable[[Any, Any], Any] | None = None
    """Tells people of an event. It is given the event and the `studio.activity.names.Names` of what the event
    names, and returns a `studio.activity.fragments.Sentence`."""


@dataclass(frozen=True, kw_only=True)
class EventSubject:
    """What events are about, and the types of them: `EventSubject(name="release", …)`."""

    name: str
    """The first half of the types."""
    audience: Audience
    types: Sequence[EventType]
    changes_rights: bool = True
    """Whether an event without a resource can change what callers may do. Because of those that cannot,
    nothing is checked again at the commit."""
    noun: object = ""
    """Within a sentence, lazily translated: `prompt block`."""
    title: object = ""
    """Several of them, at the head of a group: `Prompt blocks`."""
    anything: object = ""
    """The choice that stands for all events about them."""


_SUBJECTS: Final[dict[str, EventSubject]] = {}
_DECLARED: Final[dict[str, EventType]] = {}


def declare(subject: EventSubject) -> None:
    """Declare the types of events about a subject.

    Raises `ValueError` for a subject that is declared already, and for what is no type: a subject and a name,
    each of ASCII letters.
    """
    require_instance(subject, EventSubject, by="events")
    require_instance(subject.audience, Audience, by="EventSubject(audience=…)")
    if subject.name in _SUBJECTS or subject.name in KINDS_BY_SLUG:
        raise ValueError(f"events about {subject.name!r} are declared already")
    declared = {f"{subject.name}.{one.name}": one for one in subject.types}
    for event_type in declared:
        if not _TYPE.fullmatch(event_type) or len(event_type) > MAX_LENGTH:
            raise ValueError(f"{event_type!r} is no type of event")
    _SUBJECTS[subject.name] = subject
    _DECLARED.update(declared)


def declared(event_type: str) -> EventType | None:
    """Return what is declared of a type; None for those of the kinds, and for unknown ones."""
    return _DECLARED.get(event_type)


def subject_of(event_type: str) -> EventSubject | None:
    """Return what is declared of the subject of a type; None for the kinds, and for unknown ones."""
    return _SUBJECTS.get(event_type.partition(".")[0])


def types() -> Mapping[str, Audience]:
    """Return the audience of each declared type, those of the kinds first."""
    of_kinds = {f"{kind.slug}.{name}": audience for kind in KINDS for name, audience in _OF_KINDS.items()}
    return of_kinds | {name: _SUBJECTS[name.partition(".")[0]].audience for name in _DECLARED}


def audience_of(event_type: str) -> Audience:
    """Return the audience of a type; raises `KeyError` if the type is not declared."""
    subject, _, name = event_type.partition(".")
    if subject in KINDS_BY_SLUG:
        return _OF_KINDS[name]
    if event_type not in _DECLARED:
        raise KeyError(event_type)
    return _SUBJECTS[subject].audience


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


for _subject, _audience, _names in (
    ("workspace", Audience.ADMINS, ("created", "updated", "deleted")),
    ("member", Audience.ADMINS, ("added", "roleChanged", "removed")),
    ("invitation", Audience.ADMINS, ("created", "withdrawn")),
    ("key", Audience.ADMINS, ("created", "revoked")),
):
    declare(EventSubject(name=_subject, audience=_audience, types=[EventType(name=name) for name in _names]))
