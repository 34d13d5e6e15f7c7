"""Pages that other applications add to every workspace, and what they have to tell the people of the studio.

An application registers them in `AppConfig.ready()`; the studio knows nothing of it. Its pages are views of
`studio.workspaces.base.WorkspacePage`, which checks the rights and draws the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise

from versioning.domain.access import Caller, Right


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


@dataclass(frozen=True, kw_only=True)
class Extension:
    """What an application adds."""

    urls: str
    """The module with its `urlpatterns`, which are below the address of a workspace."""
    tabs: Sequence[WorkspaceTab] = ()
    notices: Notices = lambda _caller, _workspace_id: ()


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
