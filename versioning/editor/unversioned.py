"""The parts of a record that have no versions: metadata and visibility."""

from __future__ import annotations

from typing import Any, TypeVar

from editor_client.shared import canonical
from editor_client.shared.tags import tags_of

from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid
from versioning.editor.inputs import NOTHING, Fields, merged_metadata
from versioning.editor.recording import record, target_before
from versioning.editor.resources import Resources
from versioning.editor.targets import change_of
from versioning.models import VersionedResource, Visibility

R = TypeVar("R", bound=VersionedResource)


def edit_record(
    resources: Resources[R], resource: R, metadata: Fields | None, visibility: str | None, by: Caller
) -> None:
    """Change the metadata and the visibility of a locked resource; with None the visibility stays."""
    target = None if visibility is None else target_before(resources, resource, "updated")
    before = resource.visibility_by(resources.code)
    fields, change = [], {}
    if visibility is not None and _set_visibility(resources, resource, visibility, by):
        fields, change = ["visibility"], change_of(before, visibility)
    merged = resource.metadata if metadata == NOTHING else merged_metadata(resource.metadata, metadata)
    if merged is not resource.metadata and not canonical.same(merged, resource.metadata):
        were_tags, resource.metadata = tags_of(resource.metadata), merged
        if tags_of(merged) != were_tags:
            resource.tag_model.write(resource)
        resource.touch()
        fields.insert(0, "metadata")
    if fields:
        record(resources, "updated", resource, by, target=target, fields=fields, **change)


def _set_visibility(resources: Resources[R], resource: R, visibility: str, by: Caller) -> bool:
    """Set who may read a resource beyond its workspace; return whether that is a change.

    The visibility of an override is decided by code.
    """
    agent = resources.ownership.overridden_by(resource)
    if agent is not None:
        resources.ownership.refuse_visibility(agent, visibility)
        return False
    if not resources.kind.has_visibility or visibility not in Visibility.values:
        raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
    row: Any = resource
    if row.visibility == visibility:
        return False
    by.require(Right.PUBLISH, resource.workspace_id)
    row.visibility = visibility
    resource.touch()
    return True


def visibility_of_new(
    resources: Resources[R], resource_id: str, asked: str | None, workspace_id: str, by: Caller
) -> dict[str, Any]:
    """Return the visibility of a new record; empty for a kind without visibility."""
    agent = resources.ownership.defines(resource_id)
    if agent is not None:
        resources.ownership.refuse_visibility(agent, asked)
        return {}
    if asked is None:
        return {}
    if not resources.kind.has_visibility or asked not in Visibility.values:
        raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
    if asked == Visibility.PUBLIC:
        by.require(Right.PUBLISH, workspace_id)
    return {"visibility": asked}
