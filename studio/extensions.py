"""What other applications add to the studio: pages, panels on its own pages, and notices.

An application registers them in `AppConfig.ready()`; the studio knows nothing of it. Its pages are views of
`studio.workspaces.base.WorkspacePage` or `studio.resources.base.ResourcePage`, which check the rights and
draw the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.safestring import SafeString

from studio.kinds import StudioKind
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


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
class Notice:
    """Something that needs somebody's attention; it stands above the pages until that is no longer so."""

    text: str
    address: str
    """Where something can be done about it."""
    link: str
    """What can be done there."""


Notices = Callable[[Caller, str | None], Iterable[Notice]]
"""Returns the notices for a caller about a workspace; with None, about all that the caller may know of."""


class Slot(StrEnum):
    """Where on a page about a version a panel stands."""

    ACTIONS = "actions"
    """Beside the buttons of the page, outside of its form."""
    FIELD = "field"
    """Below the field that the panel names; on the edit page within the form, so without one of its own."""
    VERSION = "version"
    """With what is about the version as a whole: at the side of the edit page, elsewhere at the end."""


@dataclass(frozen=True, kw_only=True)
class VersionOnPage:
    """A version that a page is about, for the panels on the page."""

    page: str
    """Which page: `version`, `compare` (the later version), `edit`, `publish`, or one of an application."""
    request: HttpRequest
    caller: Caller
    """Who may at least read the version."""
    kind: StudioKind
    resource: VersionedResource
    version: Snapshot


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A part of a page about a version."""

    slot: Slot
    html: SafeString
    field: str = ""
    """The name of the field, such as `instructions`, of a panel that stands below one."""
    stylesheets: Sequence[str] = ()
    """What the page links, as names of static files."""
    scripts: Sequence[str] = ()
    """The modules that the page loads, as names of static files."""


Panels = Callable[[VersionOnPage], Iterable[Panel]]
"""Returns what an application shows on a page about a version."""
ResourceUrls = Callable[[StudioKind], Iterable[URLPattern]]
"""Returns the addresses below those of a resource of the kind, such as `<str:resource>/reviews/`."""


@dataclass(frozen=True, kw_only=True)
class Extension:
    """What an application adds."""

    urls: str = ""
    """The module with its `urlpatterns`, which are below the address of a workspace."""
    resource_urls: ResourceUrls = lambda _kind: ()
    tabs: Sequence[WorkspaceTab] = ()
    notices: Notices = lambda _caller, _workspace_id: ()
    panels: Panels = lambda _shown: ()


_registered: list[Extension] = []


def register(extension: Extension) -> None:
    """Add an application's pages, before the first request."""
    _registered.append(extension)


def registered() -> Sequence[Extension]:
    """Return what was added, in the order of the applications."""
    return _registered


def tabs() -> list[WorkspaceTab]:
    """Return the tabs that were added."""
    return [tab for extension in _registered for tab in extension.tabs]


def notices(caller: Caller, workspace_id: str | None = None) -> list[Notice]:
    """Return what the applications have to tell the caller, about one workspace or all."""
    return [notice for extension in _registered for notice in extension.notices(caller, workspace_id)]


def panels(shown: VersionOnPage) -> list[Panel]:
    """Return what the applications show on a page about a version, in the order of the applications."""
    return [panel for extension in _registered for panel in extension.panels(shown)]
