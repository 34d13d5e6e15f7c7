"""Find resources and versions, compare and export them, as far as the caller may read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from django.db.models import F, QuerySet
from django.db.models.functions import Length
from editor_client.shared.configurations import message_or

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config, raise_for_issues
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.overrides import CodeAgent, apply_override
from versioning.domain.selectors import PUBLISHED, Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent, VersionedResource
from versioning.models.querysets import VersionedQuerySet
from versioning.serving.choice import Chooses, nothing
from versioning.serving.overlays import Overlay, read_overlay
from versioning.serving.references import Dependents, count_of_dependents, find_dependents
from versioning.serving.resolution import Resolved, require_drafts, select

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class SelectedOverride(Generic[R]):
    """The part of an override that applies to a request."""

    row: R | None
    """The record of the override, whichever version is selected."""
    override: Resolved[R] | None
    """The selected version; None if the code itself is served."""
    overlay: Overlay | None = None
    """The requested overlay."""


def selected_override(
    resources: Resources[R],
    agent: CodeAgent,
    selector: Selector,
    by: Caller,
    *,
    chooses: Chooses = nothing,
) -> SelectedOverride[R]:
    """Return the version of an override that the selector names.

    `chooses` may replace the active version. Raises `NotFound` for a version or a label that does not exist,
    and the errors of `require_drafts`.
    """
    row = resources.backend.override(agent)
    if selector.asks_for_draft:
        require_drafts(selector, by, resources.ownership.workspace_id)
    counted = None if row is not None and row.gone and selector.version_id is None else row
    if selector.overlay is not None:
        overlay = read_overlay(selector.overlay, by)
        overlaid = None if counted is None else overlay.of(counted)
        live = overlaid.version_id if overlaid is not None else counted and counted.active_id
        override = None if counted is None or live is None else select(counted, selector, by)
        return SelectedOverride(row=row, override=override, overlay=overlay)
    if counted is None and selector.status is None:
        raise NotFound
    if counted is None or (selector.status is Status.PUBLISHED and counted.active_id is None):
        return SelectedOverride(row=row, override=None)
    override = select(counted, selector, by, chosen=chooses([counted]).get(counted.pk))
    return SelectedOverride(row=row, override=override)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field that differs between two versions; a missing side is None."""

    field: str
    previous: Any
    current: Any


@dataclass(frozen=True, kw_only=True)
class History(Generic[R]):
    """A resource and its versions; without a resource if the agent is only defined in code."""

    resource: R | None
    versions: QuerySet[Any]
    """The versions in rows."""
    commits: Sequence[Snapshot] = ()
    """The versions in Git, newest first."""


def list_readable(resources: Resources[R], *, by: Who = APPLICATION) -> VersionedQuerySet[R]:
    """Return the readable resources with their two versions, most recently changed first.

    A resource and its versions come from one statement; otherwise a version could be deleted before it is
    read. `seen_at` is the last change of each that the caller may see. `list_unstored` returns resources that
    are only in files.
    """
    caller = caller_of(by)
    readable = resources.backend.readable(caller).with_seen_at(caller)
    return readable.select_related("active_version", "latest_version")


def changed_last(
    resources: Resources[R], workspace_id: str, *, limit: int, by: Who = APPLICATION
) -> list[str]:
    """Return the ids of the most recently changed readable resources of a workspace, at most `limit`."""
    rows = list_readable(resources, by=by).filter(workspace_id=workspace_id)
    return list(rows.order_by("-seen_at", "id").values_list("pk", flat=True)[:limit])


def newest_readable(
    resources: Resources[R], resource_ids: Iterable[str], *, limit: int, by: Who = APPLICATION
) -> dict[str, Snapshot]:
    """Return the newest readable version of each resource, by id: the draft, or else the published version.

    `limit` is the total number of characters of their configurations; resources beyond it, and unreadable
    ones, are omitted. Takes two queries.
    """
    by = caller_of(by)
    rows = resources.backend.readable(by).filter(pk__in=list(resource_ids))
    visible_version = rows.seen_by(by, draft=F("latest_version"), published=F("active_version"))
    readable = rows.annotate(shown=visible_version)
    versions = resources.model.version_model.objects.filter(pk__in=readable.order_by().values("shown"))
    fitting = []
    for version_id, size in versions.order_by("resource_id").values_list("pk", Length("config_json")):
        if size <= limit:
            limit -= size
            fitting.append(version_id)
    newest = resources.model.version_model.objects.filter(pk__in=fitting).defer("search_text")
    return {version.resource_id: version for version in newest}


def list_unstored(resources: Resources[R], *, by: Who = APPLICATION) -> Sequence[R]:
    """Return the readable resources that `list_readable` omits because they have no row."""
    caller = caller_of(by)
    unstored = resources.backend.list_unstored(caller)
    for resource in unstored:
        resource.seen_at = resource.changed_at(drafts=caller.may(Right.READ_DRAFTS, resource.workspace_id))
    return unstored


def find(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> R:
    """Return a resource; raises `NotFound` if it is missing or the caller may not read it."""
    resource = resources.backend.find(resource_id, caller_of(by))
    if resource.gone:
        raise NotFound
    return resource


def find_or_defined(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> R:
    """Return a resource as `find` does, or an empty one for an agent that only code defines."""
    by = caller_of(by)
    try:
        return find(resources, resource_id, by=by)
    except NotFound:
        if resource_id not in resources.ownership.readable_by(by):
            raise
        return resources.model(id=resource_id, workspace_id=resources.ownership.workspace_id)


def get(
    resources: Resources[R], resource_id: str, selector: Selector = PUBLISHED, *, by: Who = APPLICATION
) -> Resolved[R]:
    """Return a resource with the version that the selector names; raises as `select` does."""
    by = caller_of(by)
    resource = resources.backend.find(resource_id, by, label=selector.label)
    overrides_code = resources.ownership.overridden_by(resource) is not None
    return select(resource, selector, by, overrides_code=overrides_code)


def versions(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> History[R]:
    """Return a resource with its versions; raises `Forbidden` without the right to drafts.

    A code-defined agent without an override has none.
    """
    by = caller_of(by)
    try:
        resource = resources.backend.find(resource_id, by)
    except NotFound:
        if resource_id not in resources.ownership.readable_by(by):
            raise
        by.require(Right.READ_DRAFTS, resources.ownership.workspace_id)
        return History(resource=None, versions=resources.model.version_model.objects.none())
    by.require(Right.READ_DRAFTS, resource.workspace_id)
    commits = resource.pointers.from_git if resource.pointers else ()
    return History(resource=resource, versions=resource.versions.select_related("author"), commits=commits)


def version(
    resources: Resources[R], resource_id: str, version_id: str, *, by: Who = APPLICATION
) -> Resolved[R]:
    """Return one version; raises `NotFound` if the resource does not have it."""
    return get(resources, resource_id, Selector(version_id=version_id), by=by)


def compare(
    resources: Resources[R], resource_id: str, before: str, after: str, *, by: Who = APPLICATION
) -> tuple[Resolved[R], Resolved[R], list[Difference]]:
    """Return two versions, by id, and the top-level fields in which they differ."""
    by = caller_of(by)
    resource = resources.backend.find(resource_id, by)
    old, new = (select(resource, Selector(version_id=version_id), by) for version_id in (before, after))
    differences = [
        Difference(field=field, previous=old.version.config.get(field), current=new.version.config.get(field))
        for field in resources.kind.schema.list_changes(old.version.config, new.version.config)
    ]
    return old, new, differences


def export(
    resources: Resources[R],
    resource_id: str,
    fields: Mapping[str, Any] | None = None,
    selector: Selector = PUBLISHED,
    *,
    by: Who = APPLICATION,
) -> Config:
    """Return the configuration for an exported file, from the given fields or from a stored version.

    Uses only the `fields` of this kind and, for an override, only those that apply. Nothing is saved.
    """
    by = caller_of(by)
    agent = resources.ownership.overridden_by_id(resource_id)
    if agent is not None:
        return apply_override(agent, _exported_override(resources, agent, fields, selector, by=by))
    if not fields:
        return get(resources, resource_id, selector, by=by).version.config
    find(resources, resource_id, by=by)
    return known_fields(resources, fields)


def _exported_override(
    resources: Resources[R],
    agent: CodeAgent,
    fields: Mapping[str, Any] | None,
    selector: Selector,
    *,
    by: Who,
) -> Config:
    by = caller_of(by)
    if agent.id not in resources.ownership.readable_by(by):
        raise NotFound
    if fields:
        return known_fields(resources, fields)
    override = selected_override(resources, agent, selector, by).override
    if override is None:
        raise NotFound(
            "This agent is exactly as its code defines it: there is no override.", code="no_override"
        )
    return override.version.config


def known_fields(resources: Resources[R], fields: Mapping[str, Any]) -> Config:
    """Return the fields that belong to this kind; raises `Invalid` if they have problems."""
    schema = resources.kind.schema
    config = {name: fields[name] for name in schema.names if fields.get(name) is not None}
    raise_for_issues(schema.edit, config)
    return config


def dependents(
    resources: Resources[R], resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
) -> Dependents:
    """Return the agents that refer directly to a resource; raises `NotFound` if the caller may not read it.

    A code-defined agent can have dependents even while nothing overrides it.
    """
    by = caller_of(by)
    target, unstored = _target(resources, resource_id, by)
    return find_dependents(target, resources.code, status=status, caller=by, unstored=unstored)


def dependents_count(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> int:
    """Return the number of published agents among the dependents, hidden ones included."""
    by = caller_of(by)
    target, unstored = _target(resources, resource_id, by)
    return count_of_dependents(target, resources.code, caller=by, unstored=unstored)


def _target(resources: Resources[R], resource_id: str, by: Caller) -> tuple[R, Sequence[Agent]]:
    """Return the resource, and the overrides stored only in files, which may refer to it."""
    if resource_id in resources.ownership.readable_by(by):
        target = resources.model(id=resource_id, workspace_id=resources.ownership.workspace_id)
    else:
        target = find(resources, resource_id, by=by)
    may_change = target.referred_by is not None and not target.referred_by.fixed_by_code
    return target, () if not may_change else resources.agents.list_unstored(APPLICATION)


def require_saving(resources: Resources[Agent], resource_id: str, *, by: Who = APPLICATION) -> None:
    """Raise `NotFound` or `Forbidden` unless the caller may save the agent or an override of it."""
    by = caller_of(by)
    if resource_id in resources.ownership.readable_by(by):
        by.require(Right.SAVE, resources.ownership.workspace_id)
    else:
        by.require(Right.SAVE, find(resources, resource_id, by=by).workspace_id)


def request_change(
    resources: Resources[Agent],
    resource_id: str,
    fields: Mapping[str, Any] | None = None,
    *,
    message: str | None = None,
    by: Who = APPLICATION,
) -> NoReturn:
    """Propose an override to its repository instead of publishing it here.

    Raises as `require_saving` does, and `Invalid` for problems of the fields or the message. Otherwise it
    always raises `Invalid` with the code `no_source_control`, because no repository can be configured yet.
    """
    require_saving(resources, resource_id, by=by)
    known_fields(resources, fields or {})
    message_or("", message)
    raise Invalid.field("id", "is not in a repository that accepts change requests", code="no_source_control")
