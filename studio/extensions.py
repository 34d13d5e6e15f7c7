"""Extensions of the studio by other applications: pages, panels on its own pages, and notices.

An application declares them with `EditorApp.studio`; the studio does not depend on it. Its pages subclass
`studio.workspaces.views.WorkspacePage` or `studio.resources.base.ResourcePage`, which check the rights and
draw the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from studio.kinds import StudioKind
from studio.navigation import Link, MainPage
from studio.panels import Panel, SubjectOnPage, VersionOnPage
from studio.sign_in_methods import SignInExtension
from studio.tasks import TaskGroup
from versioning.domain.access import Caller, Right
from versioning.domain.errors import VersioningError
from versioning.domain.registering import require_instance
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, kw_only=True)
class WorkspaceTab:
    """A link at the top of every page of a workspace."""

    page: str
    """The name of its address, without `versioning_workspace_`."""
    title: str | Promise
    """The title; lazily translated, if the application is translated."""
    right: Right = Right.ADMINISTER
    """The right required to open it."""
    place: int = 100
    """Its place among the tabs of applications: in ascending order."""
    is_setting: bool = False
    """Whether it is for administering the workspace: then it is below the tab *Settings*."""


@dataclass(frozen=True, kw_only=True)
class ResourceTab:
    """A link at the top of every page of a resource."""

    page: str
    title: str | Promise
    reading_title: str | Promise = ""
    """The title for people who cannot save; empty for the same."""
    right: Right | None = None
    """The right required to open it; None requires only reading the resource."""
    kinds: Callable[[StudioKind], bool] | None = None
    """The kinds that have the page; None for all."""
    needs_record: bool = False
    """Whether it is hidden for an agent that only code defines."""


@dataclass(frozen=True, kw_only=True)
class Notice:
    """A notice that needs attention; it is shown above the pages until its cause is resolved."""

    text: str
    address: str
    """The address of the page that can fix it."""
    link: str
    """The text of the link."""


Notices = Callable[[Caller, str | None], Iterable[Notice]]
"""Returns the notices for a caller about a workspace; with None, about all readable workspaces."""


Panels = Callable[[VersionOnPage], Iterable[Panel]]
"""Returns an application's panels on a page about a version."""
Concerns = Callable[[Mapping[str, Any]], Sequence[QuerySet[Any]]]
"""Returns the rows of an application about a resource.

It receives the values of the columns that identify the resource, by their usual names: `kind`, `resource_id`
and `identity`. They are expressions, because one statement, compiled once, searches the rows of all
applications.
"""
SubjectPanels = Callable[[SubjectOnPage], Iterable[Panel]]
"""Returns an application's panels on another application's page that is not about a version."""


@dataclass(frozen=True, kw_only=True)
class VersionButton:
    """A link next to the buttons of pages about a version, to a page of the resource about this version."""

    page: str
    """The page, like that of a `ResourceTab`; its address has the query `version`."""
    template: str
    """The template of the button, with its `address`, its `page`, and the `state`."""
    right: Right
    on: Collection[str] = ()
    """The pages with the button (`VersionOnPage.page`), if not all."""
    off: Collection[str] = ()
    """The pages without the button."""
    stylesheets: Sequence[str] = ()
    for_live: bool = False
    """Whether it is also on pages about the live version."""
    with_panels: bool = False
    """Whether it is also on pages that have the application's panels."""
    applies: Callable[[VersionOnPage], bool] | None = None
    """Returns whether the version can have it; None if any can."""


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """A suggested action for a version that was just saved."""

    title: str
    address: str
    """The address of the action."""


NextSteps = Callable[[Caller, StudioKind, VersionedResource, Snapshot], Iterable[NextStep]]
"""Returns the suggested actions after a version was saved, for the caller who saved it."""
AfterSaving = Callable[[Caller, StudioKind, VersionedResource, Snapshot], str]
"""Performs the further action of a button of the edit page, and returns the address of the next page."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """An entry of a menu, or a button for resources chosen in a list."""

    title: str
    address: str
    """The address of the link; for chosen resources, where the form of the list is sent."""
    then: str = ""
    """On the edit page, a button with this value in `after_saving` instead, which saves the typed text first.
    """


Actions = Callable[[Caller, StudioKind, VersionedResource, Snapshot], Iterable[Action]]
"""Returns the actions on a version: the latest in the menu of a resource, each in the history.

It must not query the database, because a history calls it for every version.
"""


Links = Callable[
    [Caller, Sequence[tuple[VersionedResource, Snapshot]]], Mapping[tuple[str, str], Sequence[Action]]
]
"""Returns links next to versions of several resources, by the slug of the kind and the id.

For callers who can read their drafts; the number of queries does not depend on the number of versions.
"""


class ChosenOn(StrEnum):
    """The lists in which resources can be chosen."""

    LIST = "list"
    WAITING = "waiting"


ChosenActions = Callable[[Caller, ChosenOn], Iterable[Action]]
"""Returns the actions on the resources chosen in a list."""


AnswerActions = Callable[[Caller], Iterable[Action]]
"""Returns the actions on an answer. For a tried answer, their addresses get `tried`, as JSON, and `output`;
for an answer with feedback, `about`, a JSON object with its data."""


Tasks = Callable[[Caller], Iterable[TaskGroup]]
"""Returns the tasks and the news of the caller, a person; the number of queries is constant."""
Notes = Callable[
    [Caller, StudioKind, VersionedResource, Sequence[Snapshot]], Mapping[str, Sequence[SafeString]]
]
"""Returns further notes of the history on versions, by their ids; for callers with access to drafts.

The number of queries does not depend on the number of versions.
"""
ListNotes = Callable[[Caller, StudioKind, Mapping[str, str]], Mapping[str, Sequence[SafeString]]]
"""Returns further notes of a kind's list on resources, by their ids.

It receives their ids with their workspaces; the number of queries does not depend on the number of resources.
"""
PublishBlockers = Callable[[Caller, Sequence[VersionedResource]], Mapping[tuple[str, str], str]]
"""Returns why newest versions would be refused: a sentence, by the slug of the kind and the id.

For lists: the number of queries does not depend on the number of resources. It must agree with the
application's check at the gate.
"""
EventAddress = Callable[[StudioKind, Event], str]
"""Returns the address of an event's subject, such as a review; empty without a page."""


@dataclass(frozen=True, kw_only=True)
class NamedInEvent:
    """An object of an application that events name, such as a release."""

    title: str
    address: str


NamedInEvents = Callable[[Caller, Sequence[Event]], Mapping[tuple[int, int], NamedInEvent]]
"""Returns the objects besides resources that events name, by position and ordinal.

It is called for events of workspaces whose drafts the caller may read, and the number of queries does not
depend on the number of events.
"""


def rows_in_events(events: Iterable[Event], member: str, rows: QuerySet[M]) -> dict[tuple[int, int], M]:
    """Return the rows that a member of the events' details names, by position and ordinal; one query."""
    ids = {
        (event.position, event.ordinal): rows.model._meta.pk.to_python(event.detail[member])
        for event in events
        if event.detail.get(member)
    }
    rows_by_pk = rows.in_bulk(set(ids.values()))
    return {key: rows_by_pk[pk] for key, pk in ids.items() if pk in rows_by_pk}


WayOut = Callable[[StudioKind, str, VersioningError], Action | None]
"""Returns the address of a page that can resolve an error of the application about a resource."""


@dataclass(frozen=True, kw_only=True)
class OverlayWords:
    """The words on the pages *Preview* and *Try* about an overlay (`versioning.serving.overlays`)."""

    column: str | Promise
    """The title of the column with the overlay: “With the release”."""
    heading: str | Promise
    preview: str | Promise
    """A sentence about the preview."""
    trial: str | Promise
    """A sentence about the answering version."""
    without: str | Promise
    """The link to the same page without the overlay."""


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The additions of an application."""

    urls: str = ""
    """The module with its `urlpatterns`, which are below the address of a workspace."""
    own_urls: str = ""
    """The module with the URLs of pages outside workspaces, directly below the studio."""
    resource_urls: str = ""
    """The path of a function that takes a `StudioKind` and returns the URLs below those of its resources,
    such as `<str:resource>/reviews/`."""
    pages: Sequence[MainPage] = ()
    """Its pages at the top of the studio, whose URLs are among the `own_urls`."""
    tabs: Sequence[WorkspaceTab] = ()
    resource_tabs: Sequence[ResourceTab] = ()
    notices: Notices = lambda _caller, _workspace_id: ()
    panels: Panels | None = None
    panels_on: Collection[str] = ()
    """The pages with panels of it (`VersionOnPage.page`), if not all."""
    panels_need: Right = Right.READ
    """The right that its panels and buttons require."""
    concerns: Concerns | None = None
    """The rows that make its panels necessary: they are not called for a resource without such a row."""
    buttons: Sequence[VersionButton] = ()
    subject_panels: SubjectPanels = lambda _shown: ()
    next_steps: NextSteps = lambda _caller, _kind, _resource, _version: ()
    after_saving: Mapping[str, AfterSaving] = field(default_factory=dict)
    """By the value of a button of the edit page's form, which is named `then`."""
    tasks: Tasks = lambda _caller: ()
    notes: Notes = lambda _caller, _kind, _resource, _versions: {}
    list_notes: ListNotes = lambda _caller, _kind, _resources: {}
    publish_blockers: PublishBlockers = lambda _caller, _resources: {}
    actions: Actions | None = None
    chosen: ChosenActions = lambda _caller, _page: ()
    answer_actions: AnswerActions = lambda _caller: ()
    links: Links = lambda _caller, _versions: {}
    event_address: EventAddress = lambda _kind, _event: ""
    named_in_events: NamedInEvents = lambda _caller, _events: {}
    way_out: WayOut = lambda _kind, _resource_id, _error: None
    reasons: Mapping[str, str | Promise] = field(default_factory=dict)
    """The labels of the buttons of forms for reasons, by the code of the refusal that an admin may overrule:
    “Publish without a review”."""
    sign_in: SignInExtension | None = None
    """Its additions to signing in."""
    account_pages: Sequence[MainPage] = ()
    """Its pages in the menu of the signed-in person, whose URLs are among the `own_urls`."""
    account_links: Callable[[], Sequence[Link]] = lambda: ()
    """Returns links of the page about the person's own account."""
    sends_invitations: Callable[[], bool] = lambda: False
    """Whether it sends the link of an invitation to the mail address that the inviter gives."""
    overlays: Mapping[str, OverlayWords] = field(default_factory=dict)
    """The overlays that can be previewed and tried, by the names of their selectors."""


REGISTERED: Final[list[Extension]] = []
"""The extensions, in the order of the applications."""


def register(extension: Extension) -> None:
    """Add an application's extension, before the first request."""
    require_instance(extension, Extension, by="extensions.register()")
    REGISTERED.append(extension)
