"""Delete a resource, a version, a draft, or old versions that are not needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, TypeVar

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import InUse, Invalid, Message, NotFound
from versioning.domain.registering import require_callable
from versioning.domain.selectors import Status, VersionState
from versioning.domain.snapshots import Snapshot, reference_to
from versioning.editor import gate
from versioning.editor.gate import TakeDownRequest
from versioning.editor.labelling import version_of_row
from versioning.editor.locking import changing, retry_on_conflict
from versioning.editor.pins import refuse_to_delete
from versioning.editor.reading import dependents
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Favorite, Version, VersionedResource, events

R = TypeVar("R", bound=VersionedResource)
DependentsOf = Callable[[VersionedResource, Caller], Iterable[tuple[str, str, str]]]
"""Returns the (id, name, kind) of the rows of an application that refer to a resource and are readable."""
_registered: Final[list[DependentsOf]] = []


def register_dependents(dependents_of: DependentsOf) -> None:
    """Register a function that returns dependents of a resource other than agents."""
    require_callable(dependents_of, by="versioning.editor.deleting.register_dependents()")
    _registered.append(dependents_of)


def other_dependents(resource: VersionedResource, by: Caller) -> list[tuple[str, str, str]]:
    """Return the (id, name, kind) of the dependents that are no agents and that the caller may read."""
    return [dependent for dependents_of in _registered for dependent in dependents_of(resource, by)]


@retry_on_conflict
def delete(
    resources: Resources[R],
    resource_id: str,
    *,
    if_unused: bool = False,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    **options: Any,
) -> None:
    """Delete a resource with its versions and labels; its id can be used again.

    `options` are the options of the gate's checks. With `if_unused`, raises `InUse` if a published agent, or
    a row of an application, refers to it. Also raises the errors of the checks.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    with changing(resources, resource_id, Right.PUBLISH, by, expect, for_deletion=True) as change:
        resource = change.resource
        if if_unused:
            _refuse_in_use(resources, resource, by)
        gate.check_take_down(TakeDownRequest(resource=resource, caller=by, options=gate_options))
        change.record("deleted", target=change.target_of_readers(), previous=resource.active_id)
        Favorite.objects.filter(kind=resources.kind.slug, resource_id=resource.pk).delete()
        resources.backend.delete(resource)


@retry_on_conflict
def delete_version(
    resources: Resources[R],
    resource_id: str,
    version_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> R:
    """Delete a version: a draft with the right to save, a historical one with the right to publish.

    Raises `Invalid` for a version that is published, labelled or the only one.
    """
    by = caller_of(by)
    with changing(resources, resource_id, Right.SAVE, by, expect) as change:
        resource = change.resource
        version = version_of_row(resource, version_id)
        if resource.state_of(version) is not VersionState.DRAFT:
            by.require(Right.PUBLISH, resource.workspace_id)
        obstacle = _obstacle_to_deleting(resources, resource, version)
        if obstacle is not None:
            raise Invalid.field("versionId", obstacle, code="version_in_use")
        refuse_to_delete(resource, version.pk)
        change.record("versionDeleted", version=version)
        resources.backend.delete_version(resource, version)
        return resource


def discardable(resource: VersionedResource) -> list[Snapshot]:
    """Return the versions that discarding the draft would delete, newest first.

    If no version is live, that is the latest version alone. Raises `NotFound` if there are none.
    """
    if not resource.has_draft:
        raise NotFound("There is no draft: what was saved last is live.")
    if resource.is_taken_down and resource.active is None:
        raise NotFound("There is no draft: what was saved last was live until it was unpublished.")
    if resource.active is None or resource.published_at is None:
        return [resource.latest]
    rows = resource.versions.select_related("author").defer("config_json", "search_text")
    newer: list[Snapshot] = list(rows.filter(created_at__gt=resource.published_at))
    if not newer:
        # An older version was published again, so newer ones are history, not drafts.
        raise NotFound(
            Message(
                "Nothing has been saved since {version} was published. Newer versions can be deleted in "
                "the history.",
                version=reference_to(resource.active),
            )
        )
    return newer


@retry_on_conflict
def discard_draft(
    resources: Resources[R],
    resource_id: str,
    versions: list[Snapshot],
    *,
    expect: Collection[str],
    by: Who = APPLICATION,
) -> None:
    """Delete the versions that `discardable` returned, all or none; raises as `delete_version` does."""
    with events.transaction():
        # Newest first, so that each version is the draft when it is deleted.
        for version in versions:
            delete_version(resources, resource_id, version.version_id, by=by, expect=set(expect))
            expect = {"*"}


@retry_on_conflict
def prune(resources: Resources[R], resource_id: str, keep: int, *, by: Who = APPLICATION) -> int:
    """Delete all but the newest `keep` versions and return how many were deleted.

    The active, latest and labelled versions are never deleted, nor versions scheduled to go live.
    """
    by = caller_of(by)
    with changing(resources, resource_id, Right.PUBLISH, by) as change:
        pruned = change.drop_old_versions(keep)
        change.resource.revision += 1 if pruned else 0
        return pruned


def _obstacle_to_deleting(resources: Resources[R], resource: R, version: Version) -> Message | None:
    if version.version_id == resource.active_id:
        return Message("is published: publish another one or unpublish it first")
    if version.pk == resource.active_version_id:
        return Message("was the last published from here: publish another one first")
    label = resource.labels.filter(version_id=version.pk).first()
    if label is not None:
        return Message("carries the label {name!r}: move or remove the label first", name=label.name)
    if resources.backend.is_last_trace(resource, version):
        return Message("is the only version: delete the whole resource instead")
    return None


def _refuse_in_use(resources: Resources[R], resource: R, by: Caller) -> None:
    agents = dependents(resources, resource.id, status=Status.PUBLISHED, by=by)
    all_agents = dependents(resources, resource.id, status=Status.PUBLISHED, by=APPLICATION)
    if all_agents.ids or other_dependents(resource, APPLICATION):
        readable: list[dict[str, str]] = [
            {"id": agent_id, "name": name} for agent_id, name in agents.readable
        ]
        others = other_dependents(resource, by)
        readable += [{"id": other_id, "name": name, "kind": kind} for other_id, name, kind in others]
        names = ", ".join(dependent["name"] for dependent in readable)
        if not names:
            hidden = Message("resources that you may not read")
            names = Message("agents that you may not read") if all_agents.ids else hidden
        raise InUse(
            Message("In use by {names}.", names=names), dependents=readable, hidden_count=agents.hidden_count
        )
