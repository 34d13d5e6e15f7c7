"""Extensions of the studio by other applications: pages, panels on its own pages, and notices.

An application declares them with `EditorApp.studio`; the studio does not depend on it. Its pages subclass
`studio.workspaces.base.WorkspacePage` or `studio.resources.base.ResourcePage`, which check the rights and
draw the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from studio.for_you import TaskGroup, in_order
from studio.kinds import StudioKind
from studio.navigation import MainPage
from studio.panels import Panel, SubjectOnPage, VersionOnPage
from studio.ways_in import SignInExtension
from versioning.domain.access import Caller, Right
from versioning.domain.errors import VersioningError
from versioning.domain.registering import require_instance
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource


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
    """The title for people who may not save; empty for the same."""
    right: Right | None = None
    """The right required to open it; None requires only reading the resource."""
    kinds: Callable[[StudioKind], bool] = lambda _kind: True
    """Which kinds have the page."""
    needs_record: bool = False
    """Whether it is hidden for an agent that only code defines."""


@dataclass(frozen=True, kw_only=True)
class Notice:
    """A notice that needs attention; it stays above the pages until its cause is gone."""

    text: str
    address: str
    """The address of the page that can fix it."""
    link: str
    """The text of the link."""


Notices = Callable[[Caller, str | None], Iterable[Notice]]
"""Returns the notices for a caller about a workspace; with None, about all that the caller may know."""


Panels = Callable[[VersionOnPage], Iterable[Panel]]
"""Returns an application's panels on a page about a version."""
SubjectPanels = Callable[[SubjectOnPage], Iterable[Panel]]
"""Returns an application's panels on another application's page that is not about a version."""


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


Actions = Callable[[Caller, StudioKind, VersionedResource, Snapshot], Iterable[Action]]
"""Returns the actions on a version: the latest in the menu of a resource, each in the history.

It must not query the database, because a history calls it for every version.
"""


Links = Callable[
    [Caller, Sequence[tuple[VersionedResource, Snapshot]]], Mapping[tuple[str, str], Sequence[Action]]
]
"""Returns links next to versions of several resources, by the slug of the kind and the id.

For callers who may read their drafts; the number of queries does not depend on the number of versions.
"""


class ChosenOn(StrEnum):
    """The lists in which resources can be chosen."""

    LIST = "list"
    WAITING = "waiting"


ChosenActions = Callable[[Caller, ChosenOn], Iterable[Action]]
"""Returns the actions on the resources chosen in a list."""


ForYou = Callable[[Caller], Iterable[TaskGroup]]
"""Returns what is for the caller, a person, to do or to know; the number of queries is constant."""
Notes = Callable[
    [Caller, StudioKind, VersionedResource, Sequence[Snapshot]], Mapping[str, Sequence[SafeString]]
]
"""Returns further notes of the history on versions, by their ids; for callers who may read drafts.

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
"""Returns the address of what an event is about, such as a review; empty if there is no page."""


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
WayOut = Callable[[StudioKind, str, VersioningError], Action | None]
"""Returns the address of a page that can resolve an error of the application about a resource."""


@dataclass(frozen=True, kw_only=True)
class OverlayWords:
    """The words on the pages *Preview* and *Try* about an overlay (`versioning.serving.overlays`)."""

    column: str | Promise
    """The title of the column with the overlay: “With the release”."""
    heading: str | Promise
    preview: str | Promise
    """A sentence about what the preview shows."""
    trial: str | Promise
    """A sentence about what answers."""
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
    """The path of a function that is given a `StudioKind`, and returns the URLs below those of its
    resources, such as `<str:resource>/reviews/`."""
    pages: Sequence[MainPage] = ()
    """Its pages at the top of the studio, whose URLs are among the `own_urls`."""
    tabs: Sequence[WorkspaceTab] = ()
    resource_tabs: Sequence[ResourceTab] = ()
    notices: Notices = lambda _caller, _workspace_id: ()
    panels: Panels = lambda _shown: ()
    subject_panels: SubjectPanels = lambda _shown: ()
    next_steps: NextSteps = lambda _caller, _kind, _resource, _version: ()
    after_saving: Mapping[str, AfterSaving] = field(default_factory=dict)
    """By the value of a button of the edit page's form, which is named `then`."""
    for_you: ForYou = lambda _caller: ()
    notes: Notes = lambda _caller, _kind, _resource, _versions: {}
    list_notes: ListNotes = lambda _caller, _kind, _resources: {}
    publish_blockers: PublishBlockers = lambda _caller, _resources: {}
    actions: Actions = lambda _caller, _kind, _resource, _version: ()
    chosen: ChosenActions = lambda _caller, _page: ()
    links: Links = lambda _caller, _versions: {}
    event_address: EventAddress = lambda _kind, _event: ""
    named_in_events: NamedInEvents = lambda _caller, _events: {}
    way_out: WayOut = lambda _kind, _resource_id, _error: None
    reason_forms: Mapping[str, str] = field(default_factory=dict)
    """By the code of a refusal of the gate, the template of the form in which an admin gives the reason to
    overrule it; the context has a `studio.publishing.obstacles.ReasonForm` as `reason_form`.
    """
    sign_in: SignInExtension | None = None
    """Its part in signing in."""
    account_pages: Sequence[MainPage] = ()
    """Its pages in the menu of the signed-in person, whose URLs are among the `own_urls`."""
    overlays: Mapping[str, OverlayWords] = field(default_factory=dict)
    """The overlays that can be previewed and tried, by the names of their selectors."""


_registered: list[Extension] = []


def register(extension: Extension) -> None:
    """Add an application's extension, before the first request."""
    require_instance(extension, Extension, by="extensions.register()")
    _registered.append(extension)


def registered() -> Sequence[Extension]:
    """Return the extensions, in the order of the applications."""
    return _registered


def resource_urls(kind: StudioKind) -> list[URLPattern]:
    """Return the added URLs below those of the resources of a kind."""
    found = (import_string(one.resource_urls) for one in _registered if one.resource_urls)
    return [added for urls in found for added in urls(kind)]


def main_pages() -> list[MainPage]:
    """Return the added pages at the top of the studio."""
    return sorted((page for one in _registered for page in one.pages), key=lambda page: page.place)


def account_pages() -> list[MainPage]:
    """Return the added pages in the menu of the signed-in person."""
    return sorted((page for one in _registered for page in one.account_pages), key=lambda page: page.place)


def tabs() -> list[WorkspaceTab]:
    """Return the added tabs of workspaces."""
    return sorted((tab for one in _registered for tab in one.tabs), key=lambda tab: tab.place)


def resource_tabs() -> list[ResourceTab]:
    """Return the added tabs of resources."""
    return [tab for extension in _registered for tab in extension.resource_tabs]


def reason_forms() -> dict[str, str]:
    """Return the templates of the forms for reasons, by the code of the refusal."""
    return {code: template for one in _registered for code, template in one.reason_forms.items()}


def overlays() -> dict[str, OverlayWords]:
    """Return the overlays that can be previewed and tried, by the names of their selectors."""
    return {name: words for one in _registered for name, words in one.overlays.items()}


def notices(caller: Caller, workspace_id: str | None = None) -> list[Notice]:
    """Return the notices for the caller, about one workspace or all."""
    return [notice for extension in _registered for notice in extension.notices(caller, workspace_id)]


def panels(shown: VersionOnPage) -> list[Panel]:
    """Return the panels on a page about a version, in the order of the applications."""
    return [panel for extension in _registered for panel in extension.panels(shown)]


def subject_panels(shown: SubjectOnPage) -> list[Panel]:
    """Return other applications' panels on an application's page that is not about a version."""
    return [panel for extension in _registered for panel in extension.subject_panels(shown)]


def next_steps(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> list[NextStep]:
    """Return the suggested actions after a version was saved."""
    return [step for one in _registered for step in one.next_steps(caller, kind, resource, version)]


def after_saving(then: str) -> AfterSaving | None:
    """Return the next address after this button of the edit page; None for the page's own buttons."""
    return next((one.after_saving[then] for one in _registered if then in one.after_saving), None)


def for_you(caller: Caller) -> list[TaskGroup]:
    """Return what is for the caller to do or to know, most urgent first."""
    return in_order([group for one in _registered for group in one.for_you(caller)])


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> dict[str, list[SafeString]]:
    """Return the further notes of the history on versions, by their ids."""
    found: dict[str, list[SafeString]] = {}
    for one in _registered:
        for version_id, found_notes in one.notes(caller, kind, resource, versions).items():
            found.setdefault(version_id, []).extend(found_notes)
    return found


def list_notes(caller: Caller, kind: StudioKind, resources: Mapping[str, str]) -> dict[str, list[SafeString]]:
    """Return the further notes of a kind's list, by resource id; `resources` maps ids to workspaces."""
    found: dict[str, list[SafeString]] = {}
    for one in _registered if resources else ():
        for resource_id, found_notes in one.list_notes(caller, kind, resources).items():
            found.setdefault(resource_id, []).extend(found_notes)
    return found


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> dict[tuple[str, str], str]:
    """Return the reasons for which newest versions would be refused."""
    found: dict[tuple[str, str], str] = {}
    for one in reversed(_registered):
        found |= one.publish_blockers(caller, resources)
    return found


def address_of(kind: StudioKind, event: Event) -> str:
    """Return the address of what an event is about besides its resource, or empty."""
    return next(filter(None, (one.event_address(kind, event) for one in _registered)), "")


def actions(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> list[Action]:
    """Return the added actions on a version."""
    return [action for one in _registered for action in one.actions(caller, kind, resource, version)]


def links(
    caller: Caller, versions: Sequence[tuple[VersionedResource, Snapshot]]
) -> dict[tuple[str, str], list[Action]]:
    """Return the links next to versions of several resources, by the slug of the kind and the id."""
    found: dict[tuple[str, str], list[Action]] = {}
    for one in _registered:
        for about, added in one.links(caller, versions).items():
            found.setdefault(about, []).extend(added)
    return found


def chosen_actions(caller: Caller, page: ChosenOn) -> list[Action]:
    """Return the added actions on the resources chosen in a list."""
    return [action for one in _registered for action in one.chosen(caller, page)]


def named_in_events(caller: Caller, events: Sequence[Event]) -> dict[tuple[int, int], NamedInEvent]:
    """Return the objects besides resources that events name, by position and ordinal."""
    found: dict[tuple[int, int], NamedInEvent] = {}
    for one in _registered:
        found |= one.named_in_events(caller, events)
    return found


def way_out_of(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address of a page that can resolve an application's error, or None."""
    found = (one.way_out(kind, resource_id, error) for one in _registered)
    return next((one for one in found if one is not None), None)
