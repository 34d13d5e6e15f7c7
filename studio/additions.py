"""The combined additions of all applications' extensions to the studio."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from operator import attrgetter, or_
from typing import TypeVar
from urllib.parse import urlencode

from django.contrib.admin.utils import quote
from django.db.models import Exists, OuterRef
from django.template.loader import render_to_string
from django.urls import URLPattern, reverse
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from studio.extensions import (
    REGISTERED,
    Action,
    AfterSaving,
    Concerns,
    Extension,
    NamedInEvent,
    OverlayWords,
    WorkspaceTab,
)
from studio.kinds import StudioKind
from studio.navigation import MainPage
from studio.panels import Panel, Slot, VersionOnPage
from studio.tasks import TaskGroup, in_order
from versioning.domain.access import Caller
from versioning.domain.errors import VersioningError
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource
from versioning.models.statements import ValuesByKeys

K = TypeVar("K")
T = TypeVar("T")


def collect(of: Callable[[Extension], Iterable[T]]) -> list[T]:
    """Return the additions of one type from all extensions, in the order of the applications."""
    return [addition for extension in REGISTERED for addition in of(extension)]


def resource_urls(kind: StudioKind) -> list[URLPattern]:
    functions = (
        import_string(extension.resource_urls) for extension in REGISTERED if extension.resource_urls
    )
    return [url for urls in functions for url in urls(kind)]


def main_pages() -> list[MainPage]:
    return sorted((page for extension in REGISTERED for page in extension.pages), key=attrgetter("place"))


def account_pages() -> list[MainPage]:
    return sorted(
        (page for extension in REGISTERED for page in extension.account_pages), key=attrgetter("place")
    )


def sends_invitations() -> bool:
    return any(extension.sends_invitations() for extension in REGISTERED)


def tabs() -> list[WorkspaceTab]:
    return sorted((tab for extension in REGISTERED for tab in extension.tabs), key=attrgetter("place"))


def reasons() -> dict[str, str | Promise]:
    """Return the name of overruling a refusal with a reason, by the code of the refusal."""
    return {code: words for extension in REGISTERED for code, words in extension.reasons.items()}


def overlays() -> dict[str, OverlayWords]:
    return {name: words for extension in REGISTERED for name, words in extension.overlays.items()}


def after_saving(then: str) -> AfterSaving | None:
    """Return the next address after this button of the edit page; None for the page's own buttons."""
    return next(
        (extension.after_saving[then] for extension in REGISTERED if then in extension.after_saving), None
    )


def tasks(caller: Caller) -> list[TaskGroup]:
    return in_order(collect(lambda extension: extension.tasks(caller)))


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> dict[str, list[SafeString]]:
    return _together(extension.notes(caller, kind, resource, versions) for extension in REGISTERED)


def list_notes(caller: Caller, kind: StudioKind, resources: Mapping[str, str]) -> dict[str, list[SafeString]]:
    """Return the further notes of a kind's list, by resource id; `resources` maps ids to workspaces."""
    return _together(extension.list_notes(caller, kind, resources) for extension in REGISTERED if resources)


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> dict[tuple[str, str], str]:
    """Return the reasons for which newest versions would be refused; the first application's comes first."""
    return dict(ChainMap(*(dict(extension.publish_blockers(caller, resources)) for extension in REGISTERED)))


def address_of(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's further subject, or empty."""
    return next(filter(None, (extension.event_address(kind, event) for extension in REGISTERED)), "")


def panels(shown: VersionOnPage) -> list[Panel]:
    resource, version = shown.resource, shown.version
    on_page = [
        extension
        for extension in REGISTERED
        if (extension.panels is not None or extension.buttons)
        and extension.panels_need in shown.rights
        and (shown.page in extension.panels_on or not extension.panels_on)
    ]
    conditional = tuple(extension.concerns for extension in on_page if extension.concerns is not None)
    concerned = _find_concerned(conditional, shown) if conditional else ()
    is_live = version.version_id == resource.active_id
    panels: list[Panel] = []
    for extension in on_page:
        of_version = (
            extension.panels if extension.concerns is None or extension.concerns in concerned else None
        )
        if of_version is not None:
            panels += of_version(shown)
        for button in extension.buttons:
            if button.right not in shown.rights or shown.page in button.off:
                continue
            if button.on and shown.page not in button.on:
                continue
            if (is_live and not button.for_live) or (of_version and not button.with_panels):
                continue
            if button.applies is not None and not button.applies(shown):
                continue
            address = reverse(shown.kind.url_prefix + button.page, args=[quote(resource.pk)])
            context = {
                "address": f"{address}?{urlencode({'version': version.version_id})}",
                "page": shown.page,
                "state": partial(resource.state_of, version),
            }
            html = render_to_string(button.template, context)
            panels.append(Panel(slot=Slot.ACTIONS, html=html, stylesheets=button.stylesheets))
    return panels


def _find_concerned(functions: tuple[Concerns, ...], shown: VersionOnPage) -> list[Concerns]:
    """Return the extensions that have rows about the resource; takes one statement, compiled once."""
    resource, target = shown.resource, shown.target
    rows = []
    if resource.is_stored:
        rows = _having(type(resource), target.identity == IN_CODE, functions).get([resource.pk])
    if rows:
        return [of for of, has_rows in zip(functions, rows[0], strict=True) if has_rows]
    about = {"kind": target.kind, "resource_id": target.id, "identity": target.identity}
    return [of for of in functions if any(queryset.exists() for queryset in of(about))]


@lru_cache(maxsize=64)
def _having(model: type[VersionedResource], in_code: bool, functions: tuple[Concerns, ...]) -> ValuesByKeys:  # noqa: FBT001
    about = {
        "kind": model.kind.slug,
        "resource_id": OuterRef("pk"),
        "identity": IN_CODE if in_code else OuterRef("uuid"),
    }
    has = {f"has_{number}": reduce(or_, map(Exists, of(about))) for number, of in enumerate(functions)}
    return ValuesByKeys(model._default_manager.order_by().annotate(**has).values_list(*has))


def actions(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> list[Action]:
    functions = [extension.actions for extension in REGISTERED if extension.actions is not None]
    return [action for of in functions for action in of(caller, kind, resource, version)]


def links(
    caller: Caller, versions: Sequence[tuple[VersionedResource, Snapshot]]
) -> dict[tuple[str, str], list[Action]]:
    """Return the links next to versions of several resources, by the slug of the kind and the id."""
    return _together(extension.links(caller, versions) for extension in REGISTERED)


def named_in_events(caller: Caller, events: Sequence[Event]) -> dict[tuple[int, int], NamedInEvent]:
    return dict(ChainMap(*(dict(extension.named_in_events(caller, events)) for extension in REGISTERED)))


def find_way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the address of a page that can resolve an application's error, or None."""
    addresses = (extension.way_out(kind, resource_id, error) for extension in REGISTERED)
    return next((address for address in addresses if address is not None), None)


def _together(several: Iterable[Mapping[K, Sequence[T]]]) -> dict[K, list[T]]:
    items_by_subject: dict[K, list[T]] = {}
    for lists in several:
        for about, items in lists.items():
            items_by_subject.setdefault(about, []).extend(items)
    return items_by_subject
