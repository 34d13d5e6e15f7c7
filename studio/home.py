"""The home page: tasks, news, and the lists of waiting, recently used and starred resources."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions
from studio.activity.lines import lines_of
from studio.activity.live import latest_news
from studio.activity.views import latest
from studio.kinds import KINDS
from studio.preferences import RecentlyOpened, preferences_of, recently_opened
from studio.resources.rows import ResourceRow, Star, find_stars
from studio.translation import message_of
from studio.views import StudioPage
from studio.workspaces.names import names_of_several, role_name
from versioning.domain.access import Caller
from versioning.domain.kinds import KINDS as ALL_KINDS
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.editor.catalog import Ownership, Waiting
from versioning.models import Event, Favorite, VersionedResource

WAITING: Final = 5
RECENT: Final = 8
STARRED: Final = 12
_EVENTS: Final = 2000
"""The number of log entries to search for a person's own edits."""

Key = tuple[str, str]
"""The slug of a kind, and an id."""


@dataclass(frozen=True, kw_only=True)
class ResourceLine:
    resource: VersionedResource
    row: ResourceRow
    star: Star
    edited_at: datetime.datetime | None = None
    """When the person last edited it; in a list of recent ones, only if later than opening it."""
    opened_at: datetime.datetime | None = None

    @property
    def version(self) -> Snapshot | None:
        """The newest version that the person may read; None if only code defines the agent."""
        return self.row.entry.version

    @property
    def message(self) -> str:
        return message_of(self.version) if self.version else ""

    @property
    def saved_at(self) -> datetime.datetime | None:
        return self.version.created_at if self.version else self.resource.seen_at

    @property
    def comparison(self) -> str:
        return self.row.kind.address("compare", self.row.entry.id)


@dataclass(frozen=True, kw_only=True)
class Sections:
    """The lists of resources on the home page, each with its limit."""

    waiting: Sequence[ResourceLine]
    recent: Sequence[ResourceLine]
    starred: Sequence[ResourceLine]
    starred_count: int
    """The number of starred resources that the person can read, up to one more than is shown."""

    def without(self, addresses: Collection[str]) -> Sections:
        """Return the same without those recent resources that the page links to already."""
        return replace(self, recent=[line for line in self.recent if line.row.address not in addresses])


def sections(
    waiting: Sequence[Key], opened: Sequence[RecentlyOpened], newest: int, caller: Caller
) -> Sections:
    """Return the lists; the number of queries is constant.

    `waiting` are the drafts to show, `opened` are the resources that the person opened last, and `newest` is
    the position of the log from which their own edits are searched backwards.
    """
    recent = _recent(opened, newest, caller)
    rows = Favorite.objects.filter(user_id=caller.user_id or 0).order_by("-pk")
    # Some may have become unreadable since.
    starred = [*rows.values_list("kind", "resource_id")[: 2 * STARRED]] if caller.user_id is not None else []
    lines = _lines({*waiting, *recent, *starred}, caller)
    starred_lines = [lines[key] for key in starred if key in lines]
    timed = [_with_last_time(lines[key], touched) for key, touched in recent.items() if key in lines]
    return Sections(
        waiting=[lines[key] for key in waiting if key in lines],
        recent=[line for line in timed if line.edited_at or line.opened_at][:RECENT],
        starred=starred_lines[:STARRED],
        starred_count=len(starred_lines),
    )


class _LastUse(NamedTuple):
    """When the person last edited and last opened the resource with an id."""

    edited_at: datetime.datetime | None
    identity: UUID | None
    """The identity of the edited resource."""
    opened_at: datetime.datetime | None

    @property
    def at(self) -> datetime.datetime:
        return max(at for at in (self.edited_at, self.opened_at) if at is not None)


def _recent(opened: Sequence[RecentlyOpened], newest: int, caller: Caller) -> dict[Key, _LastUse]:
    edits = Event.objects.filter(
        position__gt=newest - _EVENTS,
        actor=caller.username or "",
        type__in=[f"{kind.slug}.{change}" for kind in ALL_KINDS for change in ("created", "versionCreated")],
    ).order_by("-position")
    edited: dict[Key, tuple[datetime.datetime, UUID | None]] = {}
    rows = edits.values_list("resource_kind", "resource_id", "created_at", "resource_uuid")
    for slug, resource_id, at, identity in rows[: 5 * RECENT]:
        edited.setdefault((slug, resource_id), (at, identity))
    opened_at = {(opening.kind, opening.id): opening.at for opening in opened}
    touched = {}
    for key in dict.fromkeys([*edited, *opened_at]):  # in a fixed order where times are equal
        edited_at, identity = edited.get(key, (None, None))
        touched[key] = _LastUse(edited_at, identity, opened_at.get(key))
    last = sorted(touched, key=lambda key: touched[key].at, reverse=True)
    return {key: touched[key] for key in last[: 2 * RECENT]}


def _with_last_time(line: ResourceLine, touched: _LastUse) -> ResourceLine:
    """Return the line with the last time; without one if the event was about another resource with its id."""
    edited_at, identity, opened_at = touched
    if identity not in {line.resource.uuid, IN_CODE}:
        edited_at = None
    if opened_at is not None and opened_at < line.resource.created_at:
        opened_at = None
    is_edit = edited_at is not None and (opened_at is None or edited_at >= opened_at)
    return replace(line, edited_at=edited_at) if is_edit else replace(line, opened_at=opened_at)


def _lines(keys: Iterable[Key], caller: Caller) -> dict[Key, ResourceLine]:
    lines: dict[Key, ResourceLine] = {}
    for kind in KINDS:
        ids = [resource_id for slug, resource_id in keys if slug == kind.slug]
        entries = kind.catalog(caller).some(ids)
        stars = find_stars(kind, [resource.pk for resource, _ in entries], caller)
        for resource, entry in entries:
            row = ResourceRow(kind=kind, entry=entry)
            lines[kind.slug, resource.pk] = ResourceLine(resource=resource, row=row, star=stars[resource.pk])
    return lines


WORKSPACES: Final = 6
"""The maximum number of workspaces in the introduction."""


def introduce(caller: Caller) -> dict[str, Any] | None:
    """Return the introduction for the caller; None for a person without a role."""
    if caller.everywhere is not None:
        return {"role_name": role_name(caller.everywhere), "role": caller.everywhere}
    if not caller.roles:
        return None
    roles = sorted(caller.roles.items(), key=lambda item: (-item[1].rank, item[0]))
    return {
        "role": roles[0][1],
        "role_name": role_name(roles[0][1]),
        "by_workspace": [(workspace, role_name(role)) for workspace, role in roles[:WORKSPACES]],
        "more": max(len(roles) - WORKSPACES, 0),
        "differs": len(set(caller.roles.values())) > 1,
    }


SHOWN: Final = 8
NEWS: Final = 5
"""The number of shown events that concern the person; the notifications have all."""


class HomePage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        if "q" in request.GET:  # the former address of the search
            return self.go(f"{reverse('studio:search')}?{request.GET.urlencode()}")
        self.listen({})
        caller, works = self.caller, any(kind.admin.has_add_permission(request) for kind in KINDS)
        catalogs = [kind.catalog(caller) for kind in KINDS]
        waiting = Waiting(catalogs, Ownership.OTHERS, self.editor.cache) if works else None
        news = latest_news(request, NEWS)
        lines = lines_of([*news, *latest(self.editor, caller, SHOWN)], caller)
        groups = additions.tasks(caller)
        lists = sections(
            waiting.keys(0, WAITING) if waiting is not None else [],
            recently_opened(self.request),
            self.position,
            caller,
        )
        return self.page(
            "studio/home/home.html",
            title=_("Home"),
            counts={whose.value: n for whose, n in waiting.counts.items()} if waiting is not None else {},
            groups=groups,
            workspace_names=names_of_several(caller),
            news=lines[: len(news)],
            news_seen=preferences_of(request).seen_position,
            sections=lists.without({task.address for group in groups for task in group.tasks}),
            lines=lines[len(news) :],
            notices=additions.collect(lambda extension: extension.notices(caller, None)),
            introduction=introduce(caller),
            works=works,
            may_publish=any(kind.admin.has_publish_permission(request) for kind in KINDS),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )
