"""What the extensions of all applications add to the studio, together."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from django.urls import URLPattern
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from studio.extensions import (
    Action,
    AfterSaving,
    Extension,
    NamedInEvent,
    OverlayWords,
    WorkspaceTab,
    registered,
)
from studio.for_you import TaskGroup, in_order
from studio.kinds import StudioKind
from studio.navigation import MainPage
from versioning.domain.access import Caller
from versioning.domain.errors import VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource

K = TypeVar("K")
T = TypeVar("T")


def added(of: Callable[[Extension], Iterable[T]]) -> list[T]:
    """Return what all extensions add of a sort, in the order of the applications."""
    return [one for extension in registered() for one in of(extension)]


def resource_urls(kind: StudioKind) -> list[URLPattern]:
    """Return the added URLs below those of the resources of a kind."""
    found = (import_string(one.resource_urls) for one in registered() if one.resource_urls)
    return [url for urls in found for url in urls(kind)]


def main_pages() -> list[MainPage]:
    """Return the added pages at the top of the studio."""
    return sorted(added(lambda one: one.pages), key=lambda page: page.place)


def account_pages() -> list[MainPage]:
    """Return the added pages in the menu of the signed-in person."""
    return sorted(added(lambda one: one.account_pages), key=lambda page: page.place)


def sends_invitations() -> bool:
    """Return whether the link of an invitation can be sent by mail."""
    return any(one.sends_invitations() for one in registered())


def tabs() -> list[WorkspaceTab]:
    """Return the added tabs of workspaces."""
    return sorted(added(lambda one: one.tabs), key=lambda tab: tab.place)


def reasons() -> dict[str, str | Promise]:
    """Return what an admin does by overruling a refusal with a reason, by the code of the refusal."""
    return {code: words for one in registered() for code, words in one.reasons.items()}


def overlays() -> dict[str, OverlayWords]:
    """Return the overlays that can be previewed and tried, by the names of their selectors."""
    return {name: words for one in registered() for name, words in one.overlays.items()}


def after_saving(then: str) -> AfterSaving | None:
    """Return the next address after this button of the edit page; None for the page's own buttons."""
    return next((one.after_saving[then] for one in registered() if then in one.after_saving), None)


def for_you(caller: Caller) -> list[TaskGroup]:
    """Return what is for the caller to do or to know, most urgent first."""
    return in_order(added(lambda one: one.for_you(caller)))


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> dict[str, list[SafeString]]:
    """Return the further notes of the history on versions, by their ids."""
    return _together(one.notes(caller, kind, resource, versions) for one in registered())


def list_notes(caller: Caller, kind: StudioKind, resources: Mapping[str, str]) -> dict[str, list[SafeString]]:
    """Return the further notes of a kind's list, by resource id; `resources` maps ids to workspaces."""
    return _together(one.list_notes(caller, kind, resources) for one in registered() if resources)


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> dict[tuple[str, str], str]:
    """Return the reasons for which newest versions would be refused; the first application's comes first."""
    return dict(ChainMap(*(dict(one.publish_blockers(caller, resources)) for one in registered())))


def address_of(kind: StudioKind, event: Event) -> str:
    """Return the address of what an event is about besides its resource, or empty."""
    return next(filter(None, (one.event_address(kind, event) for one in registered())), "")


def actions(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> list[Action]:
    """Return the added actions on a version."""
    return added(lambda one: one.actions(caller, kind, resource, version))


def links(
    caller: Caller, versions: Sequence[tuple[VersionedResource, Snapshot]]
) -> dict[tuple[str, str], list[Action]]:
    """Return the links next to versions of several resources, by the slug of the kind and the id."""
    return _together(one.links(caller, versions) for one in registered())


def named_in_events(caller: Caller, events: Sequence[Event]) -> dict[tuple[int, int], NamedInEvent]:
    """Return the objects besides resources that events name, by position and ordinal."""
    return dict(ChainMap(*(dict(one.named_in_events(caller, events)) for one in registered())))


def way_out_of(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address of a page that can resolve an application's error, or None."""
    found = (one.way_out(kind, resource_id, error) for one in registered())
    return next((one for one in found if one is not None), None)


def _together(several: Iterable[Mapping[K, Sequence[T]]]) -> dict[K, list[T]]:
    found: dict[K, list[T]] = {}
    for lists in several:
        for about, items in lists.items():
            found.setdefault(about, []).extend(items)
    return found
