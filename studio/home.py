"""The home page: what needs me, what was published, what I did, and the search over everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from studio.kinds import KINDS, StudioKind
from studio.lists import may_create
from studio.pages import StudioPage
from studio.rows import Row, Rows, Wanted, light, readable, rows_of, sliced
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import subject_of
from versioning.models import Version, VersionedResource
from versioning.models.querysets import within
from versioning.models.search import MAX_LENGTH

SHOWN: Final = 8
FOUND: Final = 20
LOOKED_AT: Final = 40
"""How many of my versions are looked at: several can be of the same resource."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line on the home page."""

    kind: StudioKind
    row: Row
    at: datetime
    by: str | None
    message: str = ""

    @property
    def comparison(self) -> str:
        """The address of the page that shows what would change."""
        return self.kind.address("compare", self.row.summary.resource_id)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search finds of one kind."""

    kind: StudioKind
    rows: list[Row]
    more: bool
    """Whether there is more than what is shown."""

    @property
    def list_address(self) -> str:
        """The address of the whole list."""
        return self.kind.address("changelist")


class HomePage(StudioPage):
    """Where everybody starts."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show what is going on, or what was found."""
        text = request.GET.get("q", "").replace("\x00", "").strip()
        if len(text) > MAX_LENGTH:
            return self.page("studio/search.html", title="Search", longest=MAX_LENGTH)
        if text:
            return self.page(
                "studio/search.html", title=f"Search: {text}", search_text=text, found=self._found(text)
            )
        return self.page(
            "studio/home.html",
            title="Home",
            needing=_newest(entry for kind in KINDS for entry in needing(kind, self.caller)),
            published=_newest(entry for kind in KINDS for entry in published(kind, self.caller)),
            mine=_newest(entry for kind in KINDS for entry in edited_by(kind, self.caller)),
            works=may_create(self.caller),
            may_publish=bool(self.caller.everywhere or self.caller.scope(Right.PUBLISH)),
            kinds=[(kind, kind.address("add")) for kind in KINDS],
        )

    def _found(self, text: str) -> list[Found]:
        results = []
        for kind in KINDS:
            rows = Rows(kind, self.caller, Wanted(text=text), order="-updated_at")[: FOUND + 1]
            results.append(Found(kind=kind, rows=rows[:FOUND], more=len(rows) > FOUND))
        return results


def needing(kind: StudioKind, caller: Caller) -> Iterator[Entry]:
    """Yield the newest drafts that are not published, in the workspaces where the caller works on them."""
    waiting = Q(active_version__isnull=True) | ~Q(active_version=F("latest_version"))
    in_mine = within("workspace_id", caller.scope(Right.SAVE))
    rows = light(readable(kind, caller)).filter(waiting, in_mine).order_by("-updated_at", "id")
    resources = [*sliced(rows, 0, SHOWN), *beside(kind, caller, lambda found: found.has_draft, Right.SAVE)]
    for _, row in _with_rows(kind, resources, caller):
        if row.shown is not None:
            yield Entry(
                kind=kind,
                row=row,
                at=row.shown.created_at,
                by=row.shown.author_name,
                message=subject_of(row.shown.change_message),
            )


def published(kind: StudioKind, caller: Caller) -> Iterator[Entry]:
    """Yield what was published last."""
    rows = light(readable(kind, caller)).filter(published_at__isnull=False)
    rows = rows.select_related("published_by").order_by("-published_at", "id")
    resources = [*sliced(rows, 0, SHOWN), *beside(kind, caller, lambda found: found.active is not None)]
    for resource, row in _with_rows(kind, resources, caller):
        at, by = _publication(resource)
        yield Entry(kind=kind, row=row, at=at, by=by)


def edited_by(kind: StudioKind, caller: Caller) -> Iterator[Entry]:
    """Yield what the caller saved last, each resource once."""
    versions: QuerySet[Any] = kind.model.version_model._default_manager.filter(author_id=caller.user_id)
    versions = versions.filter(within("resource__workspace_id", caller.scope(Right.READ_DRAFTS)))
    newest: dict[str, Version] = {}
    for version in versions.defer("config_json", "search_text").order_by("-created_at")[:LOOKED_AT]:
        newest.setdefault(version.resource_id, version)
    rows = light(readable(kind, caller)).filter(pk__in=list(newest)[:SHOWN])
    resources = [*rows, *beside(kind, caller, lambda found: found.pk in newest)]
    for resource, row in _with_rows(kind, resources, caller):
        version = newest[resource.pk]
        yield Entry(
            kind=kind,
            row=row,
            at=version.created_at,
            by=caller.username,
            message=subject_of(version.change_message),
        )


def beside(
    kind: StudioKind,
    caller: Caller,
    wanted: Callable[[VersionedResource], bool],
    right: Right = Right.READ,
) -> list[VersionedResource]:
    """Return the wanted ones of the overrides that files hold; they are few."""
    found = kind.collection.unstored(by=caller)
    return [one for one in found if caller.may(right, one.workspace_id) and wanted(one)]


def _publication(resource: Any) -> tuple[datetime, str | None]:
    """Return when what is published became so, and by whom; a file knows that of its commit alone."""
    if resource.published_since is None:
        return resource.active.created_at, resource.active.author_name
    by = resource.published_by
    return resource.published_since, by.get_username() if by else None


def _with_rows(kind: StudioKind, resources: Iterable[Any], caller: Caller) -> Iterable[tuple[Any, Row]]:
    found = list(resources)
    return zip(found, rows_of(kind, found, caller), strict=True)


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.at, reverse=True)[:SHOWN]
