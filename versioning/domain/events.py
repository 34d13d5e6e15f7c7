"""The types of events in the log, and their audiences. Pure.

An application that writes its own events declares each type once, with its wording for people
(`EditorApp.events`); the API, the studio and their filters then support it. `versioning.models.events` writes
and reads events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import KINDS, KINDS_BY_SLUG
from versioning.domain.registering import require_instance

if TYPE_CHECKING:
    from uuid import UUID

ALL_OF: Final = ".*"
"""The suffix that stands for all types of a subject, as in `agent.*`."""


class Audience(StrEnum):
    """The people who see an event, unless the event itself restricts it further."""

    READERS = "readers"
    """About published versions: everyone who can read the resource, or could until the event."""
    EDITORS = "editors"
    """About drafts: everyone who can read the drafts of the workspace."""
    ADMINS = "admins"
    """About the workspace: its admins."""


class Reach(IntEnum):
    """The readers of a resource's published version at the time of the event."""

    EDITORS = 0
    """Nothing was published: users with access to drafts."""
    MEMBERS = 1
    """The members of its workspace."""
    EVERYBODY = 2
    """Every signed-in user."""


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
    """The readers until the event, who therefore see the event."""


class VersionName(Protocol):
    """The name of the version that an event is about: a version, or an object that remembers one."""

    @property
    def version_id(self) -> str:
        """The id in its external form."""

    @property
    def number(self) -> int | None:
        """Its number."""


MAX_LENGTH: Final = 64
"""The maximum length of a type, in characters."""
_TYPE: Final = re.compile(r"[a-zA-Z]+\.[a-zA-Z]+")
_OF_KINDS: Final = {
    "created": Audience.EDITORS,
    "versionCreated": Audience.EDITORS,
    "published": Audience.READERS,
    "unpublished": Audience.READERS,
    # Moving a released label concerns readers, too: the caller of `record` passes the audience.
    "labelMoved": Audience.EDITORS,
    "labelRemoved": Audience.EDITORS,
    "versionDeleted": Audience.EDITORS,
    "updated": Audience.READERS,
    "deleted": Audience.READERS,
}
"""The events of resources of every kind."""


@dataclass(frozen=True, kw_only=True)
class EventType:
    name: str
    """The second half of the type, such as `published`."""
    title: object = ""
    """The title next to its subject, lazily translated; the default is the name."""
    sentence: Callable[[Any, Any], Any] | None = None
    """Describes an event to people. It receives the event and the `studio.activity.sentences.Names` that it
    mentions, and returns a `studio.activity.sentences.Sentence`."""


@dataclass(frozen=True, kw_only=True)
class EventSubject:
    """The subject of events, and its types: `EventSubject(name="release", …)`."""

    name: str
    """The first half of the types."""
    audience: Audience
    types: Sequence[EventType]
    changes_rights: bool = True
    """Whether an event without a resource can change callers' rights. Events that cannot
    cause no check at the commit."""
    is_personal: bool = False
    """Whether the person in `username` of an event's detail sees it in addition to the audience."""
    noun: object = ""
    """Within a sentence, lazily translated: `prompt block`."""
    title: object = ""
    """The plural at the head of a group: `Prompt blocks`."""
    anything: object = ""
    """The label for all events of the subject."""


_SUBJECTS: Final[dict[str, EventSubject]] = {}
_DECLARED: Final[dict[str, EventType]] = {}


def declare(subject: EventSubject) -> None:
    """Declare the types of events of a subject.

    Raises `ValueError` for a subject that is already declared, and for an invalid type: a subject and a name
    must consist of ASCII letters.
    """
    require_instance(subject, EventSubject, by="events")
    require_instance(subject.audience, Audience, by="EventSubject(audience=…)")
    if subject.name in _SUBJECTS or subject.name in KINDS_BY_SLUG:
        raise ValueError(f"events about {subject.name!r} are declared already")
    declared = {f"{subject.name}.{event_type.name}": event_type for event_type in subject.types}
    for event_type in declared:
        if not _TYPE.fullmatch(event_type) or len(event_type) > MAX_LENGTH:
            raise ValueError(f"{event_type!r} is not a type of event")
    _SUBJECTS[subject.name] = subject
    _DECLARED.update(declared)


def find_type(event_type: str) -> EventType | None:
    """Return the declaration of a type; None for types of the kinds, and for unknown ones."""
    return _DECLARED.get(event_type)


def find_subject(event_type: str) -> EventSubject | None:
    """Return the declaration of the type's subject; None for the kinds, and for unknown ones."""
    return _SUBJECTS.get(event_type.partition(".")[0])


def personal_types() -> list[str]:
    """Return the types that are about one person each."""
    return [name for name in _DECLARED if _SUBJECTS[name.partition(".")[0]].is_personal]


def types() -> Mapping[str, Audience]:
    """Return the audience of each declared type, the types of the kinds first."""
    of_kinds = {f"{kind.slug}.{name}": audience for kind in KINDS for name, audience in _OF_KINDS.items()}
    return of_kinds | {name: _SUBJECTS[name.partition(".")[0]].audience for name in _DECLARED}


@cache
def find_audience(event_type: str) -> Audience:
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
    matches: set[str] = set()
    for pattern in patterns:
        group = pattern.removesuffix(ALL_OF) if pattern.endswith(ALL_OF) else None
        event_types = {name for name in types() if name == pattern or name.rpartition(".")[0] == group}
        if not event_types:
            raise Invalid.field("type", Message("{type!r} is not a type of event", type=pattern))
        matches |= event_types
    return matches


for _subject, _audience, _names in (
    ("workspace", Audience.ADMINS, ("created", "updated", "deleted")),
    ("member", Audience.ADMINS, ("added", "roleChanged", "removed")),
    ("invitation", Audience.ADMINS, ("created", "withdrawn")),
    ("key", Audience.ADMINS, ("created", "revoked")),
    ("person", Audience.ADMINS, ("erased",)),
):
    declare(EventSubject(name=_subject, audience=_audience, types=[EventType(name=name) for name in _names]))
