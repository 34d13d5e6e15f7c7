"""Publish and unpublish: the verbs that move the active pointer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.changes import record
from versioning.editor.locking import changing, retry_on_conflict
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import VersionedResource
from versioning.serving.reference_checks import NO_BLOCKS
from versioning.serving.resolution import Resolved, find_version

R = TypeVar("R", bound=VersionedResource)


@retry_on_conflict
def publish(
    resources: Resources[R],
    resource_id: str,
    version_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    **options: Any,
) -> Resolved[R]:
    """Serve exactly this version from the next read on.

    `options` are those that the checks of the gate understand (`gate.options`). Raises what the gate raises,
    such as `Invalid` naming every unpublished prompt block that the version refers to.
    """
    by, given = caller_of(by), gate.only_options(options)
    with changing(resources, resource_id, Right.PUBLISH, by, expect, include_deleted=True) as resource:
        version = find_version(resource, version_id)
        activate(resources, resource, version, by, options=given)
    return Resolved(resource=resource, version=version, warnings=resources.warnings(resource, version, by))


@retry_on_conflict
def unpublish(
    resources: Resources[R],
    resource_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    **options: Any,
) -> Resolved[R]:
    """Stop serving any version; nothing is deleted.

    `options` are those that the checks of the gate understand. Raises what these checks raise.
    """
    by, given = caller_of(by), gate.only_options(options)
    with changing(resources, resource_id, Right.PUBLISH, by, expect) as resource:
        deactivate(resources, resource, by, options=given)
        return Resolved(resource=resource, version=resource.latest)


def activate(
    resources: Resources[R],
    resource: R,
    version: Snapshot,
    by: Caller,
    *,
    blocks: Mapping[str, bool] = NO_BLOCKS,
    options: gate.Options = gate.NO_OPTIONS,
    **detail: Any,
) -> None:
    """Make this version of a locked resource the active one, after the gate has passed it.

    `blocks` and `options` are as in `gate.PublishRequest`; `detail` goes into the entry of the log.
    Publishing the active version again has an effect if the caller may read something that it was not
    granted before, such as a sub-agent that was created later; then the gate is asked as for any other.
    """
    request = gate.PublishRequest(
        resource=resource, version=version, caller=by, blocks=blocks, options=options
    )
    if not gate.check(request, resources.code):
        return
    record(resources, "published", resource, by, version=version, previous=resource.active_id, **detail)
    resources.backend.set_active(resource, version, by)


def deactivate(
    resources: Resources[R],
    resource: R,
    by: Caller,
    *,
    options: gate.Options = gate.NO_OPTIONS,
    **detail: Any,
) -> None:
    """Stop serving any version of a locked resource, if the checks of the gate allow it.

    `detail` goes into the entry of the log.
    """
    if resource.active_id is not None:
        gate.check_take_down(gate.TakeDownRequest(resource=resource, caller=by, options=options))
        record(resources, "unpublished", resource, by, previous=resource.active_id, **detail)
        resources.backend.set_active(resource, None, by)
