"""Drafts in lists, before they are published: what each would change, and what it would replace."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from studio import additions
from studio.extensions import Extension
from studio.field_words import in_reading_order, titles
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.resources.rows import Row, Summary, etag_field, value_of
from studio.translation import message_of
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.editor.catalog import Entry, Waiting, Waits, Whose, changed_since_live
from versioning.models import VersionedResource


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A resource with its newest version and its live version."""

    kind: StudioKind
    resource: VersionedResource
    row: Row
    fields: Sequence[str]
    """The titles of the fields that differ from the live version; empty if there is none."""
    may_publish: bool
    hindrance: str = ""
    """Why an application would refuse to publish it now; empty if none would."""
    version: Snapshot | None = None
    """The version to publish, if it is not the newest."""

    @property
    def newest(self) -> Snapshot:
        """The version to publish: the newest, unless another one was chosen."""
        return self.version or self.resource.latest

    def of(self, version: Snapshot) -> Draft:
        """Return the same draft with another version to publish."""
        live, schema = self.live, self.kind.schema
        changed = schema.changed(live.config, version.config) if live else []
        return replace(self, version=version, fields=titles(in_reading_order(changed)))

    @property
    def message(self) -> str:
        """The first line of its message; empty without a message."""
        return message_of(self.newest)

    @property
    def live(self) -> Snapshot | None:
        """The live version."""
        return self.resource.active

    @property
    def chosen(self) -> str:
        """The value of its checkbox."""
        return value_of(self.kind, self.resource.pk, self.newest.version_id)

    @property
    def etag_field(self) -> str:
        """The name of the field with its entity tag."""
        return etag_field(self.kind, self.resource.pk)

    @property
    def comparison(self) -> str:
        """The address of the page that shows what would change."""
        ids = {"from": self.resource.active_id, "to": self.newest.version_id}
        query = f"?{urlencode(ids)}" if self.resource.active_id else ""
        return self.kind.address("compare", self.resource.pk) + query

    @property
    def version_address(self) -> str:
        """The address of the page of the newest version."""
        return self.kind.address("version", self.resource.pk, self.newest.version_id)

    @property
    def live_address(self) -> str:
        """The address of the page of the live version; empty if there is none."""
        live = self.resource.active_id
        return self.kind.address("version", self.resource.pk, live) if live else ""


def drafts_of(
    kind: StudioKind, found: Sequence[tuple[VersionedResource, Entry]], caller: Caller
) -> list[Draft]:
    """Return resources whose drafts the caller may read as lines of a list, in a few queries."""
    catalog = kind.catalog(caller)
    resources = [resource for resource, _ in found]
    changed = changed_since_live(catalog, resources)
    blockers = additions.publish_blockers(caller, resources)
    return [
        Draft(
            kind=kind,
            resource=resource,
            row=Row.of(kind, entry),
            fields=titles(in_reading_order(changed[resource.pk])),
            may_publish=caller.may(Right.PUBLISH, resource.workspace_id),
            hindrance=blockers.get((kind.slug, resource.pk), ""),
        )
        for resource, entry in found
    ]


def drafts_by_id(wanted: Collection[tuple[str, str]], caller: Caller) -> dict[tuple[str, str], Draft]:
    """Return the resources of these kinds (`agent`) and ids whose drafts the caller may read."""
    drafts: dict[tuple[str, str], Draft] = {}
    for kind in KINDS:
        found = [
            (resource, entry)
            for resource, entry in kind.catalog(caller).some([pk for slug, pk in wanted if slug == kind.slug])
            if caller.may(Right.READ_DRAFTS, resource.workspace_id)
        ]
        drafts |= {(kind.slug, draft.resource.pk): draft for draft in drafts_of(kind, found, caller)}
    return drafts


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the drafts whose newest version the person saved, newest first."""
    if caller.username is None or caller.scope(Right.SAVE) == frozenset():
        return
    waiting = Waiting([kind.catalog(caller) for kind in KINDS], Whose.MINE, get_editor().cache)
    shown = waiting[0:SHOWN]
    yield TaskGroup(
        key="drafts",
        urgency=Urgency.STARTED,
        title=_("Your drafts"),
        tasks=[_task(one) for one in shown],
        count=len(shown) if len(shown) < SHOWN else len(waiting),
        address=f"{reverse('studio:waiting')}?{urlencode({'whose': Whose.MINE.value})}",
    )


def _task(one: Waits) -> Task:
    kind = KINDS_BY_SLUG[one.catalog.collection.kind.slug]
    summary, version = Summary.of(one.entry), one.entry.version
    return Task(
        name=summary.name,
        address=kind.address("change", summary.resource_id),
        icon=kind.icon,
        chip=(summary.state.word, summary.state.chip),
        said=message_of(version) if version else "",
        about=_("saved by you"),
        at=version.created_at if version else None,
        workspace_id=summary.workspace_id,
        action=_("View changes"),
        action_address=kind.address("compare", summary.resource_id),
    )


STUDIO: Final = Extension(for_you=for_you)
