"""Drafts in lists before publishing, with their changes and the live versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio import additions
from studio.diff.fields import FieldDifference, differences
from studio.extensions import ChosenOn, Extension
from studio.field_words import in_reading_order, titles
from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.limits import PageBudget
from studio.publishing.views import reasons
from studio.resources.rows import ResourceRow, Summary, blocks_on_page, etag_field, value_of
from studio.tasks import SHOWN, Task, TaskGroup, Urgency
from studio.translation import message_of
from studio.views import StudioPage
from studio.workspaces.names import by_workspace, workspace_names
from studio.workspaces.views import no_drafts
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.catalog import Entry, Ownership, PendingItem, Waiting, changed_since_live
from versioning.editor.gate import ALONE, PublishRequest
from versioning.models import VersionedResource
from versioning.serving.overlays import OverlaidVersion, Versions


@dataclass(frozen=True, kw_only=True)
class Draft:
    kind: StudioKind
    resource: VersionedResource
    row: ResourceRow
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
        live, schema = self.live, self.kind.schema
        changed = schema.list_changes(live.config, version.config) if live else []
        return replace(self, version=version, fields=titles(in_reading_order(changed)))

    @property
    def message(self) -> str:
        """The first line of its message; empty without a message."""
        return message_of(self.newest)

    @property
    def live(self) -> Snapshot | None:
        return self.resource.active

    @property
    def chosen(self) -> str:
        return value_of(self.kind, self.resource.pk, self.newest.version_id)

    @property
    def etag_field(self) -> str:
        return etag_field(self.kind, self.resource.pk)

    @property
    def comparison(self) -> str:
        ids = {"from": self.resource.active_id, "to": self.newest.version_id}
        query = f"?{urlencode(ids)}" if self.resource.active_id else ""
        return self.kind.address("compare", self.resource.pk) + query

    @property
    def version_address(self) -> str:
        return self.kind.address("version", self.resource.pk, self.newest.version_id)

    @property
    def live_address(self) -> str:
        """The address of the page of the live version; empty if there is none."""
        live = self.resource.active_id
        return self.kind.address("version", self.resource.pk, live) if live else ""


def make_drafts(
    kind: StudioKind, entries: Sequence[tuple[VersionedResource, Entry]], caller: Caller
) -> list[Draft]:
    """Return resources whose drafts the caller may read as lines of a list, in a few queries."""
    catalog = kind.catalog(caller)
    resources = [resource for resource, _ in entries]
    changed = changed_since_live(catalog, resources)
    blockers = additions.publish_blockers(caller, resources)
    return [
        Draft(
            kind=kind,
            resource=resource,
            row=ResourceRow(kind=kind, entry=entry),
            fields=titles(in_reading_order(changed[resource.pk])),
            may_publish=caller.may(Right.PUBLISH, resource.workspace_id),
            hindrance=blockers.get((kind.slug, resource.pk), ""),
        )
        for resource, entry in entries
    ]


def drafts_by_id(keys: Collection[tuple[str, str]], caller: Caller) -> dict[tuple[str, str], Draft]:
    """Return the resources of these kinds (`agent`) and ids whose drafts the caller may read."""
    drafts: dict[tuple[str, str], Draft] = {}
    for kind in KINDS:
        entries = [
            (resource, entry)
            for resource, entry in kind.catalog(caller).some([pk for slug, pk in keys if slug == kind.slug])
            if caller.may(Right.READ_DRAFTS, resource.workspace_id)
        ]
        drafts |= {(kind.slug, draft.resource.pk): draft for draft in make_drafts(kind, entries, caller)}
    return drafts


def tasks(caller: Caller) -> Iterator[TaskGroup]:
    if caller.username is None or caller.scope(Right.SAVE) == frozenset():
        return
    waiting = Waiting([kind.catalog(caller) for kind in KINDS], Ownership.MINE, get_editor().cache)
    drafts = waiting[0:SHOWN]
    yield TaskGroup(
        key="drafts",
        urgency=Urgency.STARTED,
        title=_("Your drafts"),
        tasks=[_task(draft) for draft in drafts],
        count=len(drafts) if len(drafts) < SHOWN else len(waiting),
        address=f"{reverse('studio:waiting')}?{urlencode({'whose': Ownership.MINE.value})}",
    )


def _task(wait: PendingItem) -> Task:
    kind = KINDS_BY_SLUG[wait.catalog.collection.kind.slug]
    entry, summary = wait.entry, Summary(wait.entry)
    return Task(
        name=summary.name,
        address=kind.address("change", entry.id),
        icon=kind.icon,
        chip=(summary.state.word, summary.state.chip),
        said=message_of(entry.version) if entry.version else "",
        about=_("saved by you"),
        at=entry.version.created_at if entry.version else None,
        workspace_id=entry.workspace_id,
        action=_("View changes"),
        action_address=kind.address("compare", entry.id),
    )


STUDIO: Final = Extension(tasks=tasks)


PER_PAGE: Final = 25


class WaitingPage(StudioPage):
    def get(self, request: HttpRequest) -> HttpResponse:
        if self.caller.scope(Right.SAVE) == frozenset():
            raise no_drafts(self.caller)
        self.listen({})
        filter_name = request.GET.get("whose", "")
        whose = Ownership(filter_name) if filter_name in set(Ownership) else Ownership.ALL
        waiting = Waiting([kind.catalog(self.caller) for kind in KINDS], whose, self.editor.cache)
        counts = waiting.counts
        page = self.paginate(waiting, PER_PAGE)
        query = {} if whose is Ownership.ALL else {"whose": whose.value}
        drafts = self._drafts(list(page.object_list))
        names = workspace_names(self.caller)
        return self.page(
            "studio/publishing/waiting.html",
            title=_("Waiting to be published · %(count)s") % {"count": counts[Ownership.ALL]},
            tabs=[
                {
                    "title": title % {"count": counts[choice]},
                    "address": f"?{urlencode({'whose': choice.value})}"
                    if choice is not Ownership.ALL
                    else "?",
                    "current": choice is whose,
                }
                for choice, title in (
                    (Ownership.ALL, _("All · %(count)s")),
                    (Ownership.MINE, _("Mine · %(count)s")),
                    (Ownership.OTHERS, _("Others · %(count)s")),
                )
            ],
            whose=whose,
            page=page,
            query=urlencode(query),
            groups=by_workspace(drafts, lambda draft: draft.resource.workspace_id, names),
            names_workspaces=len(names) > 1,
            may_publish=any(draft.may_publish for draft in drafts),
            some_hindered=any(draft.hindrance for draft in drafts),
            publish_address=reverse("studio:publish_chosen"),
            further=additions.collect(lambda extension: extension.chosen(self.caller, ChosenOn.WAITING)),
        )

    def _drafts(self, waits: list[PendingItem]) -> list[Draft]:
        drafts: dict[tuple[str, str], Draft] = {}
        for kind in KINDS:
            entries = [
                (wait.resource, wait.entry)
                for wait in waits
                if wait.catalog.collection.kind.slug == kind.slug
            ]
            drafts |= {
                (kind.slug, draft.resource.pk): draft for draft in make_drafts(kind, entries, self.caller)
            }
        return [drafts[wait.catalog.collection.kind.slug, wait.resource.pk] for wait in waits]


MAX_READ: Final = 8_000_000
"""The maximum total length of the configurations that are read for one page."""

Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    fields: Sequence[FieldDifference]
    is_whole: bool
    """Whether the page shows all of it; otherwise it links to the comparison."""
    prefix: str
    """The prefix of the ids in its part of the page."""


class Texts:
    """The configurations of the newest and the live versions of drafts, read in two queries for each kind."""

    def __init__(self, drafts: Iterable[Draft]) -> None:
        self._configs: dict[str, Config | None] = {}
        versions = [
            (draft.kind, version) for draft in drafts for version in (draft.newest, draft.live) if version
        ]
        for kind in KINDS:
            self._read(kind, [version for its_kind, version in versions if its_kind.slug == kind.slug])

    def of(self, version: Snapshot | None) -> Config | None:
        """Return the configuration of a version, empty without one; None if it is too long to be read."""
        return {} if version is None else self._configs[version.version_id]

    def _read(self, kind: StudioKind, versions: Sequence[Any]) -> None:
        in_rows = [version for version in versions if version.source == "database"]
        self._configs |= {
            version.version_id: version.config for version in versions if version.source != "database"
        }
        if not in_rows:
            return
        rows: Any = kind.model.version_model.objects.filter(pk__in={row.pk for row in in_rows}).order_by()
        fitting, remaining = [], MAX_READ
        for version_id, size in rows.values_list("pk", Length("config_json")):
            if size <= remaining:
                remaining -= size
                fitting.append(version_id)
        read = rows.filter(pk__in=fitting).defer("search_text", "excerpt")
        configs = {row.pk: row.config for row in read}
        self._configs |= {row.version_id: configs.get(row.pk) for row in in_rows}
        for row in in_rows:
            if row.pk in configs:
                row.config = configs[row.pk]  # so that it is not read again


def changes_of(drafts: Sequence[Draft], texts: Texts, caller: Caller) -> dict[Key, Changes]:
    """Return the changes of publishing each; one query.

    The drafts share the budget of a page. Short ones are shown first, so that a long one truncates only
    itself.
    """
    configs = [texts.of(version) for draft in drafts for version in (draft.newest, draft.live)]
    instructions = [config.get("instructions") for config in configs if config is not None]
    all_blocks = [block for blocks in instructions if isinstance(blocks, list) for block in blocks]
    names = {block.id: block.name for block in blocks_on_page({"instructions": all_blocks}, caller)}
    budget = PageBudget()
    changes = {}
    sizes = [
        sum(len(canonical.dump(texts.of(version) or {})) for version in (draft.live, draft.newest))
        for draft in drafts
    ]
    for place in sorted(range(len(drafts)), key=sizes.__getitem__):
        draft = drafts[place]
        old, new = texts.of(draft.live), texts.of(draft.newest)
        fields: Sequence[FieldDifference] = ()
        is_shown = old is not None and new is not None and not budget.is_spent
        if old is not None and new is not None and is_shown:
            fields = differences(old, new, draft.kind.schema, budget, names)
        changes[draft.kind.slug, draft.resource.pk] = Changes(
            fields=fields,
            is_whole=is_shown and all(field.is_whole for field in fields),
            prefix=f"draft-{place}-",
        )
    return changes


def find_refusals(drafts: Sequence[Draft], texts: Texts, caller: Caller) -> dict[Key, str]:
    """Return why the gate would refuse drafts that are published one after the other, blocks first.

    The number of queries does not depend on the number of drafts. Drafts with texts beyond the read limit are
    skipped.
    """
    judged = [draft for draft in drafts if texts.of(draft.newest) is not None]
    blocks = [draft for draft in judged if draft.kind.is_shown]
    refused = _ask_gate(blocks, ALONE, caller)
    moving = {
        key: OverlaidVersion(identity=block.resource.uuid, version_id=block.newest.version_id)
        for block in blocks
        if (key := (block.kind.slug, block.resource.pk)) not in refused
    }
    return refused | _ask_gate([draft for draft in judged if not draft.kind.is_shown], moving, caller)


def _ask_gate(drafts: Sequence[Draft], moving: Versions, caller: Caller) -> dict[Key, str]:
    requests = [
        PublishRequest(resource=draft.resource, version=draft.newest, caller=caller, together=moving)
        for draft in drafts
    ]
    errors = gate.refusals(requests, get_editor().code) if requests else []
    return {
        (draft.kind.slug, draft.resource.pk): " ".join(reasons(error))
        for draft, error in zip(drafts, errors, strict=True)
        if error is not None
    }
