"""The rows of a list: what is stored, by SQL, after the few agents that code defines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet

from studio.kinds import AGENT, StudioKind
from studio.resources.summaries import Shown, Summary, summary_of, summary_of_code
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.overrides import CodeAgent, laid_over
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.models.accounts import name_of
from versioning.models.search import matching, occurs
from versioning.models.versioned import VersionedQuerySet, within

Resources = VersionedQuerySet[Any]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A resource in a list."""

    summary: Summary
    address: str
    labels: Sequence[str] = ()
    shown: Snapshot | None = None
    """The version that was saved last of those the caller may read; None of what only code defines."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a list is narrowed to; what is empty does not narrow it."""

    text: str = ""
    workspace: str = ""
    state: Shown | None = None
    author: str = ""
    label: str = ""
    visibility: str = ""
    folder: str = ""


class Rows:
    """All rows of one kind that the caller may read, narrowed; sliced like a list.

    Those that code defines come first: they are few, and have no row to sort by. The number of
    queries does not depend on the number of rows.
    """

    def __init__(self, kind: StudioKind, caller: Caller, wanted: Wanted, *, order: str) -> None:
        self.kind, self.caller = kind, caller
        self.in_code = _defined_in_code(kind, caller, wanted)
        self.stored = narrowed(stored(kind, caller), wanted, caller).order_by(order, "id")

    def __len__(self) -> int:
        return len(self.in_code) + self.stored.count()

    def __getitem__(self, part: slice) -> list[Row]:
        start, stop = part.start or 0, part.stop
        skipped = len(self.in_code)
        resources = sliced(self.stored, max(start - skipped, 0), max(stop - skipped, 0))
        return [*self.in_code[part], *rows_of(self.kind, resources, self.caller)]


def readable(kind: StudioKind, caller: Caller) -> Resources:
    """Return the resources that the caller may read, with who saved their versions."""
    resources = kind.collection.list(by=caller)
    return resources.select_related("active_version__author", "latest_version__author")


def light(resources: Resources) -> Resources:
    """Leave the texts of the versions in the database: a list shows names."""
    heavy = ("config_json", "search_text", "digest")
    return resources.defer(
        *(f"{pointer}_version__{field}" for pointer in ("active", "latest") for field in heavy)
    )


def stored(kind: StudioKind, caller: Caller) -> Resources:
    """Return the resources that the caller may read and that no code defines."""
    resources = light(readable(kind, caller))
    if kind is not AGENT:
        return resources
    code = get_editor().code
    overrides = Q(pk__in=code.agents, workspace_id=code.workspace_id)
    return resources.filter(~overrides)


def sliced(resources: QuerySet[Any], start: int, stop: int) -> list[Any]:
    """Return a slice of the resources, in their order.

    Two queries are quicker than one: the database sorts ids alone, however many there are, and
    then reads the few rows that are shown.
    """
    ids = list(resources.values_list("pk", flat=True)[start:stop])
    by_id = {resource.pk: resource for resource in resources.filter(pk__in=ids).order_by()}
    return [by_id[pk] for pk in ids if pk in by_id]


def narrowed(resources: Resources, wanted: Wanted, caller: Caller) -> QuerySet[Any]:
    """Keep the resources that are wanted; nothing is found by what the caller may not read."""
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    if wanted.workspace:
        resources = resources.filter(workspace_id=wanted.workspace)
    if wanted.visibility:
        resources = resources.filter(visibility=wanted.visibility)
    if wanted.folder:
        resources = resources.filter(id__startswith=wanted.folder)
    if wanted.author:
        resources = resources.filter(
            Q(drafts, (name_of("latest_version__author"), wanted.author))
            | Q(~drafts, (name_of("active_version__author"), wanted.author))
        )
    if wanted.label:
        live = Q(labels__version=F("active_version")) | Q(labels__released=True)
        resources = resources.filter(drafts | live, labels__name=wanted.label)
    if wanted.state:
        resources = _in_state(resources, wanted.state, drafts)
    return matching(resources, wanted.text, caller)


def rows_of(kind: StudioKind, resources: Iterable[VersionedResource], caller: Caller) -> list[Row]:
    """Return a row for each resource, with the labels that the caller may read."""
    code, home = code_agents(kind, caller), get_editor().code.workspace_id
    by_id = {resource.pk: resource for resource in resources}
    labels: dict[str, list[str]] = defaultdict(list)
    found = kind.collection.label_model.objects.filter(resource_id__in=by_id)
    for label in found:
        resource = by_id[label.resource_id]
        is_live = label.released or str(label.version_id) == resource.active_id
        if is_live or _reads_drafts(caller, resource):
            labels[resource.pk].append(label.name)
    return [
        Row(
            summary=summary_of(
                resource, code.get(resource.pk) if resource.workspace_id == home else None, caller
            ),
            address=kind.address("change", resource.pk),
            labels=labels[resource.pk],
            shown=resource.latest if _reads_drafts(caller, resource) else resource.active,
        )
        for resource in by_id.values()
    ]


def code_agents(kind: StudioKind, caller: Caller) -> Mapping[str, CodeAgent]:
    """Return the agents of this kind that code defines and the caller may read, by id."""
    return get_editor().code.readable_by(caller) if kind is AGENT else {}


def _defined_in_code(kind: StudioKind, caller: Caller, wanted: Wanted) -> list[Row]:
    """Return the wanted ones of the agents that code defines, each with its override, by id."""
    agents = code_agents(kind, caller)
    if not agents:
        return []
    home = get_editor().code.workspace_id
    of_rows = readable(kind, caller).filter(pk__in=agents, workspace_id=home)
    overrides = [*of_rows, *kind.collection.beside(by=caller)]
    rows = {row.summary.resource_id: row for row in rows_of(kind, overrides, caller)}
    for agent_id, agent in agents.items():
        bare = Row(summary=summary_of_code(agent, home), address=kind.address("change", agent_id))
        rows.setdefault(agent_id, bare)
    return [row for agent_id, row in sorted(rows.items()) if _is_wanted(row, agents[agent_id], wanted)]


def _is_wanted(row: Row, agent: CodeAgent, wanted: Wanted) -> bool:
    summary = row.summary
    config = laid_over(agent, row.shown.config if row.shown else {})
    return (
        occurs(wanted.text, summary.resource_id, config)
        and wanted.workspace in {"", summary.workspace_id}
        and wanted.state in {None, summary.state}
        and wanted.visibility in {"", summary.visibility}
        and summary.resource_id.startswith(wanted.folder)
        and wanted.author in {"", row.shown.author_name if row.shown else None}
        and wanted.label in {"", *row.labels}
    )


def _reads_drafts(caller: Caller, resource: VersionedResource) -> bool:
    return caller.may(Right.READ_DRAFTS, resource.workspace_id)


def _in_state(resources: Resources, state: Shown, drafts: Q) -> Resources:
    newest_is_live = Q(active_version=F("latest_version"))
    if state is Shown.DRAFT:
        return resources.filter(active_version__isnull=True)
    if state is Shown.CHANGED:
        return resources.filter(drafts & ~newest_is_live, active_version__isnull=False)
    return resources.filter(~drafts | newest_is_live, active_version__isnull=False)
