"""What other applications add to the studio: pages, panels on its own pages, and notices.

An application declares them with `EditorApp.studio`; the studio knows nothing of it. Its pages are views of
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

from studio.kinds import StudioKind
from studio.panels import Panel, SubjectOnPage, VersionOnPage
from versioning.domain.access import Caller, Right
from versioning.domain.errors import VersioningError
from versioning.domain.registering import require_instance
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource


@dataclass(frozen=True, kw_only=True)
class WorkspaceTab:
    """A link at the head of every page of a workspace."""

    page: str
    """The name of its address, without `versioning_workspace_`."""
    title: str | Promise
    """What it says; lazily translated, if the application is translated."""
    right: Right = Right.ADMINISTER
    """What it takes to open it."""


@dataclass(frozen=True, kw_only=True)
class ResourceTab:
    """A link at the head of every page of a resource."""

    page: str
    title: str | Promise
    reading_title: str | Promise = ""
    """The title for who may not save; the same when empty."""
    right: Right | None = None
    """What it takes to open it; nothing beyond reading the resource when None."""
    kinds: Callable[[StudioKind], bool] = lambda _kind: True
    """Which kinds have the page."""
    needs_record: bool = False
    """Whether there is nothing to show of an agent that only code defines."""


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Something that needs attention; it stands above the pages until that is no longer so."""

    text: str
    address: str
    """Where something can be done about it."""
    link: str
    """What can be done there."""


Notices = Callable[[Caller, str | None], Iterable[Notice]]
"""Returns the notices for a caller about a workspace; with None, about all that the caller may know of."""


Panels = Callable[[VersionOnPage], Iterable[Panel]]
"""Returns what an application shows on a page about a version."""
SubjectPanels = Callable[[SubjectOnPage], Iterable[Panel]]
"""Returns what an application shows on another application's page about something that is no version."""


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """What a person may want to do with a version that was just saved."""

    title: str
    address: str
    """Where it is done."""


NextSteps = Callable[[Caller, StudioKind, VersionedResource, Snapshot], Iterable[NextStep]]
"""Returns what is offered after a version was saved, to the caller who saved it."""
AfterSaving = Callable[[Caller, StudioKind, VersionedResource, Snapshot], str]
"""Does what a button of the edit page says besides saving, and returns the address of the next page."""


@dataclass(frozen=True, kw_only=True)
class Action:
    """An entry of a menu, or a button for what is chosen in a list."""

    title: str
    address: str
    """Where it leads; for what is chosen, where the form of the list is sent."""


Actions = Callable[[Caller, StudioKind, VersionedResource, Snapshot], Iterable[Action]]
"""Returns what can be done with a version: the latest in the menu of a resource, each in the history.

It asks the database for nothing, because a history shows it beside every version.
"""


Links = Callable[
    [Caller, Sequence[tuple[VersionedResource, Snapshot]]], Mapping[tuple[str, str], Sequence[Action]]
]
"""Returns what stands beside versions of several resources, by the slug of the kind and the id.

To callers who may read their drafts; the number of queries does not depend on how many there are.
"""


class ChosenOn(StrEnum):
    """The lists in which resources can be chosen."""

    LIST = "list"
    WAITING = "waiting"


ChosenActions = Callable[[Caller, ChosenOn], Iterable[Action]]
"""Returns what can be done with the resources that are chosen in a list."""


@dataclass(frozen=True, kw_only=True)
class HomeSection:
    """A part of the home page, above what waits to be published."""

    html: SafeString
    stylesheets: Sequence[str] = ()
    scripts: Sequence[str] = ()


HomeSections = Callable[[Caller], Iterable[HomeSection]]
Notes = Callable[
    [Caller, StudioKind, VersionedResource, Sequence[Snapshot]], Mapping[str, Sequence[SafeString]]
]
"""Returns what the history says of versions besides, by their ids; to callers who may read drafts.

The number of queries does not depend on how many versions there are.
"""
ListNotes = Callable[[Caller, StudioKind, Mapping[str, str]], Mapping[str, Sequence[SafeString]]]
"""Returns what the list of a kind says of resources beside their state, by their ids.

It is given their ids with their workspaces, and its number of queries does not depend on how many they are.
"""
PublishBlockers = Callable[[Caller, Sequence[VersionedResource]], Mapping[tuple[str, str], str]]
"""Returns why newest versions would be refused: a sentence, by the slug of the kind and the id.

For lists: the number of queries does not depend on how many resources there are. What it says is what the
application's check at the gate would say.
"""
EventAddress = Callable[[StudioKind, Event], str]
"""Returns where something is shown that an event is about, such as a review; empty if it has no page."""


@dataclass(frozen=True, kw_only=True)
class NamedInEvent:
    """Something of an application that events name, such as a release."""

    title: str
    address: str


NamedInEvents = Callable[[Caller, Sequence[Event]], Mapping[tuple[int, int], NamedInEvent]]
"""Returns what events name besides their resources, by their positions and ordinals.

It is asked about events of workspaces whose drafts the caller may read, and the number of queries does not
depend on how many they are.
"""
WayOut = Callable[[StudioKind, str, VersioningError], Action | None]
"""Returns where something can be done about an error of the application about a resource."""


@dataclass(frozen=True, kw_only=True)
class OverlayWords:
    """What the pages *Preview* and *Try* say where they show an overlay (`versioning.serving.overlays`)."""

    column: str | Promise
    """The title of the column that answers with it: “With the release”."""
    heading: str | Promise
    preview: str | Promise
    """A sentence about what the preview shows."""
    trial: str | Promise
    """A sentence about what answers."""
    without: str | Promise
    """The link to the same page without it."""


@dataclass(frozen=True, kw_only=True)
class Extension:
    """What an application adds."""

    urls: str = ""
    """The module with its `urlpatterns`, which are below the address of a workspace."""
    own_urls: str = ""
    """The module with those of pages that belong to no workspace, directly below the studio."""
    resource_urls: str = ""
    """The path of a function that is given a `StudioKind`, and returns the URLs below those of its
    resources, such as `<str:resource>/reviews/`."""
    tabs: Sequence[WorkspaceTab] = ()
    resource_tabs: Sequence[ResourceTab] = ()
    notices: Notices = lambda _caller, _workspace_id: ()
    panels: Panels = lambda _shown: ()
    subject_panels: SubjectPanels = lambda _shown: ()
    next_steps: NextSteps = lambda _caller, _kind, _resource, _version: ()
    after_saving: Mapping[str, AfterSaving] = field(default_factory=dict)
    """By the value of a button of the form of the edit page, whose name is `then`."""
    home: HomeSections = lambda _caller: ()
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
    """By the code of a refusal of the gate, the template of the form in which an admin says why a version
    goes live all the same; it is given a `studio.publishing.obstacles.ReasonForm` as `reason_form`."""
    overlays: Mapping[str, OverlayWords] = field(default_factory=dict)
    """The overlays that can be previewed and tried, by the names of their selectors."""


_registered: list[Extension] = []


def register(extension: Extension) -> None:
    """Add an application's pages, before the first request."""
    require_instance(extension, Extension, by="extensions.register()")
    _registered.append(extension)


def registered() -> Sequence[Extension]:
    """Return what was added, in the order of the applications."""
    return _registered


def resource_urls(kind: StudioKind) -> list[URLPattern]:
    """Return the URLs that were added below those of the resources of a kind."""
    found = (import_string(one.resource_urls) for one in _registered if one.resource_urls)
    return [added for urls in found for added in urls(kind)]


def tabs() -> list[WorkspaceTab]:
    """Return the tabs that were added."""
    return [tab for extension in _registered for tab in extension.tabs]


def resource_tabs() -> list[ResourceTab]:
    """Return the tabs that were added to the pages of resources."""
    return [tab for extension in _registered for tab in extension.resource_tabs]


def reason_forms() -> dict[str, str]:
    """Return the templates of the forms in which a refusal is overruled with a reason, by its code."""
    return {code: template for one in _registered for code, template in one.reason_forms.items()}


def overlays() -> dict[str, OverlayWords]:
    """Return the overlays that can be previewed and tried, by the names of their selectors."""
    return {name: words for one in _registered for name, words in one.overlays.items()}


def notices(caller: Caller, workspace_id: str | None = None) -> list[Notice]:
    """Return what the applications have to tell the caller, about one workspace or all."""
    return [notice for extension in _registered for notice in extension.notices(caller, workspace_id)]


def panels(shown: VersionOnPage) -> list[Panel]:
    """Return what the applications show on a page about a version, in the order of the applications."""
    return [panel for extension in _registered for panel in extension.panels(shown)]


def subject_panels(shown: SubjectOnPage) -> list[Panel]:
    """Return what other applications show on an application's page about something that is no version."""
    return [panel for extension in _registered for panel in extension.subject_panels(shown)]


def next_steps(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> list[NextStep]:
    """Return what is offered after a version was saved."""
    return [step for one in _registered for step in one.next_steps(caller, kind, resource, version)]


def after_saving(then: str) -> AfterSaving | None:
    """Return where the edit page leads after its button with this value was pressed; None for its own."""
    return next((one.after_saving[then] for one in _registered if then in one.after_saving), None)


def home_sections(caller: Caller) -> list[HomeSection]:
    """Return the parts of a person's home page."""
    return [section for one in _registered for section in one.home(caller)]


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> dict[str, list[SafeString]]:
    """Return what the history says of versions besides, by their ids."""
    found: dict[str, list[SafeString]] = {}
    for one in _registered:
        for version_id, said in one.notes(caller, kind, resource, versions).items():
            found.setdefault(version_id, []).extend(said)
    return found


def list_notes(caller: Caller, kind: StudioKind, resources: Mapping[str, str]) -> dict[str, list[SafeString]]:
    """Return what the list of a kind says of resources, by their ids; `resources` are their workspaces."""
    found: dict[str, list[SafeString]] = {}
    for one in _registered if resources else ():
        for resource_id, said in one.list_notes(caller, kind, resources).items():
            found.setdefault(resource_id, []).extend(said)
    return found


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> dict[tuple[str, str], str]:
    """Return why the newest versions of resources would be refused, where one would."""
    found: dict[tuple[str, str], str] = {}
    for one in reversed(_registered):
        found |= one.publish_blockers(caller, resources)
    return found


def address_of(kind: StudioKind, event: Event) -> str:
    """Return where something is shown that an event is about besides its resource; empty for nothing."""
    return next(filter(None, (one.event_address(kind, event) for one in _registered)), "")


def actions(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> list[Action]:
    """Return what the applications offer to do with a version."""
    return [action for one in _registered for action in one.actions(caller, kind, resource, version)]


def links(
    caller: Caller, versions: Sequence[tuple[VersionedResource, Snapshot]]
) -> dict[tuple[str, str], list[Action]]:
    """Return what stands beside versions of several resources, by the slug of the kind and the id."""
    found: dict[tuple[str, str], list[Action]] = {}
    for one in _registered:
        for about, added in one.links(caller, versions).items():
            found.setdefault(about, []).extend(added)
    return found


def chosen_actions(caller: Caller, page: ChosenOn) -> list[Action]:
    """Return what the applications offer to do with the resources that are chosen in a list."""
    return [action for one in _registered for action in one.chosen(caller, page)]


def named_in_events(caller: Caller, events: Sequence[Event]) -> dict[tuple[int, int], NamedInEvent]:
    """Return what events name besides their resources, by their positions and ordinals."""
    found: dict[tuple[int, int], NamedInEvent] = {}
    for one in _registered:
        found |= one.named_in_events(caller, events)
    return found


def way_out_of(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return where something can be done about an error of an application; None if none knows."""
    found = (one.way_out(kind, resource_id, error) for one in _registered)
    return next((one for one in found if one is not None), None)
