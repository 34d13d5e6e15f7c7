"""What the home page shows: drafts that wait, what a person had in hand lately, and what they starred."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from studio.kinds import KINDS, StudioKind
from studio.preferences.recent import Opened
from studio.resources.rows import Row
from studio.resources.stars import Star, stars_of
from studio.versions import message_of
from versioning.domain.access import Caller
from versioning.domain.kinds import KINDS as ALL_KINDS
from versioning.editor.catalog import Entry
from versioning.models import Event, Favorite, VersionedResource

WAITING: Final = 5
RECENT: Final = 8
STARRED: Final = 12
_EVENTS: Final = 2000
"""How far back in the log somebody's own edits are looked for."""

Key = tuple[str, str]
"""The word of a kind, and an id."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A resource on the home page."""

    kind: StudioKind
    row: Row
    star: Star
    author: str = ""
    """Who saved its newest version, as far as the person may read that; empty for the application."""
    message: str = ""
    saved_at: datetime.datetime | None = None
    edited_at: datetime.datetime | None = None
    """When the person edited it last; in a list of recent ones, if that was later than opening it."""
    opened_at: datetime.datetime | None = None

    @property
    def comparison(self) -> str:
        """The address of the page that shows what would change."""
        return self.kind.address("compare", self.row.summary.resource_id)


@dataclass(frozen=True, kw_only=True)
class Sections:
    """The lists of resources on the home page, each of which has its limit."""

    waiting: Sequence[Line]
    recent: Sequence[Line]
    starred: Sequence[Line]
    starred_count: int
    """How many the person has starred and may read, up to one more than is shown."""


def sections(waiting: Sequence[Key], opened: Sequence[Opened], newest: int, caller: Caller) -> Sections:
    """Return the lists; the number of queries depends on nothing.

    `waiting` are the drafts to show, `opened` is what the person opened last, and `newest` is a position of
    the log, from which on their own edits are looked for backwards.
    """
    recent = _recent(opened, newest, caller)
    starred = _starred(caller)
    lines = _lines({*waiting, *recent, *starred}, caller)
    found = [lines[key] for key in starred if key in lines]
    return Sections(
        waiting=[lines[key] for key in waiting if key in lines],
        recent=[_with_last_time(lines[key], *recent[key]) for key in recent if key in lines][:RECENT],
        starred=found[:STARRED],
        starred_count=len(found),
    )


def _starred(caller: Caller) -> list[Key]:
    if caller.user_id is None:
        return []
    rows = Favorite.objects.filter(user_id=caller.user_id).order_by("-pk")
    # Some may have become unreadable since.
    return list(rows.values_list("kind", "resource_id")[: 2 * STARRED])


def _recent(
    opened: Sequence[Opened], newest: int, caller: Caller
) -> dict[Key, tuple[datetime.datetime | None, datetime.datetime | None]]:
    """Return what was edited or opened last, the latest first: when it was edited, and when it was opened."""
    edits = Event.objects.filter(
        position__gt=newest - _EVENTS,
        actor=caller.username or "",
        type__in=[f"{kind.word}.{what}" for kind in ALL_KINDS for what in ("created", "versionCreated")],
    ).order_by("-position")
    edited: dict[Key, datetime.datetime] = {}
    for word, resource_id, at in edits.values_list("resource_kind", "resource_id", "created_at")[
        : 5 * RECENT
    ]:
        edited.setdefault((word, resource_id), at)
    seen = {(one.kind, one.id): one.at for one in opened}
    both = {key: (edited.get(key), seen.get(key)) for key in {*edited, *seen}}
    last = sorted(both, key=lambda key: max(at for at in both[key] if at is not None), reverse=True)
    return {key: both[key] for key in last[: 2 * RECENT]}


def _with_last_time(line: Line, edited: datetime.datetime | None, opened: datetime.datetime | None) -> Line:
    is_edit = edited is not None and (opened is None or edited >= opened)
    more = {"edited_at": edited} if is_edit else {"opened_at": opened}
    return Line(**{**vars(line), **more})


def _lines(wanted: Iterable[Key], caller: Caller) -> dict[Key, Line]:
    """Return a line about each of the resources that are there and that the caller may read."""
    lines: dict[Key, Line] = {}
    for kind in KINDS:
        ids = [resource_id for word, resource_id in wanted if word == kind.word]
        found = kind.catalog(caller).some(ids)
        stars = stars_of(kind, [resource.pk for resource, _ in found], caller)
        for resource, entry in found:
            lines[kind.word, resource.pk] = _line(kind, resource, entry, stars[resource.pk])
    return lines


def _line(kind: StudioKind, resource: VersionedResource, entry: Entry, star: Star) -> Line:
    version = entry.version
    return Line(
        kind=kind,
        row=Row.of(kind, entry),
        star=star,
        author=(version.author_name or "") if version else "",
        message=message_of(version) if version else "",
        saved_at=version.created_at if version else resource.updated_at,
    )
