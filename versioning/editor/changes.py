"""What verbs do to a locked resource: add versions, set metadata and visibility; each with its log entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

from editor_client.shared import canonical
from editor_client.shared.configurations import merged_metadata, message_or
from editor_client.shared.tags import tags_of
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.config import Config
from versioning.domain.errors import Invalid
from versioning.domain.events import Target
from versioning.domain.snapshots import RESTORED, Snapshot, reference_to
from versioning.editor.resources import Resources
from versioning.models import Version, VersionedResource, Visibility, events
from versioning.serving.dependents import agents_that_show
from versioning.serving.event_visibility import target_of

Fields = Mapping[str, Any]

NOTHING: Final[Fields] = MappingProxyType({})


def merged_fields(fields: Fields | None, named: Fields) -> Fields:
    """Return the snapshot fields of a call by their JSON names, whether given as a mapping or as keywords."""
    return {**(fields or {}), **{to_camel(name): value for name, value in named.items()}}


R = TypeVar("R", bound=VersionedResource)

CHANGES_WHAT_IS_LIVE: Final = frozenset({"published", "unpublished", "deleted"})
ENDS_READING: Final = frozenset({"deleted", "updated"})


def record(
    resources: Resources[R],
    what: str,
    resource: R,
    by: Caller,
    *,
    target: Target | None = None,
    version: Snapshot | None = None,
    previous: object = None,
    **more: Any,
) -> None:
    """Log a change; `target` is the resource before the change, for changes that affect the reference."""
    target = target or target_before(resources, resource, what)
    seen_in: Sequence[Target] = ()
    if what in CHANGES_WHAT_IS_LIVE and previous != (version and version.version_id):
        seen_in = _shown_in(resources, resource)
    events.record(
        f"{target.kind}.{what}",
        by=by,
        workspace_id=resource.workspace_id,
        resource=target,
        version=version,
        previous_version_id=previous,
        seen_in=seen_in,
        **more,
    )


def target_before(resources: Resources[R], resource: R, what: str) -> Target:
    """Return the log's reference to a resource before a change, while its readers can still be determined."""
    by_label = what in ENDS_READING and resource.active_id is None
    released = by_label and resource.is_stored and resource.labels.filter(released=True).exists()
    return target_of(resource, resources.code, released=released)


def _shown_in(resources: Resources[R], resource: R) -> list[Target]:
    """Return the live agents that show the text of a resource to people who cannot read the resource."""
    if not resources.kind.is_shown:
        return []
    agents = agents_that_show(resource, resources.code, resources.agents.unstored(APPLICATION))
    return [target_of(agent, resources.code) for agent in agents]


def append(
    resources: Resources[R],
    resource: R,
    config: Config,
    changed: list[str],
    *,
    message: str,
    by: Caller,
    **detail: Any,
) -> Version:
    """Add a version and return it; `changed` are the fields in which it differs from the one before."""
    if not resource.last_number:
        changed = resources.kind.schema.changed({}, config)
    version = resource.append(config, message=message, author_id=by.user_id, changed_fields=changed)
    record(resources, "versionCreated", resource, by, version=version, changedFields=changed, **detail)
    return version


def append_next(resources: Resources[R], resource: R, config: Config, message: str, *, by: Caller) -> Version:
    """Add a version after the one with the highest number."""
    newest = resource.versions.first() if resource.is_stored else None
    changed = resources.kind.schema.changed(newest.config if newest else {}, config)
    return append(resources, resource, config, changed, message=message, by=by)


def append_draft(
    resources: Resources[R], resource: R, draft: Snapshot, change: Fields, *, after: Snapshot, by: Caller
) -> None:
    """Add a draft that reapplies a change on top of an existing draft, after a version was published past it.

    A draft that is invalid by today's rules prevents neither the publication nor its own copy.
    """
    schema = resources.kind.schema
    config = schema.merged(draft.config, change)
    if schema.changed(after.config, config):
        message = f"Version {draft.number} with the change of version {after.number}"
        append_next(resources, resource, config, message, by=by)


def append_copy(
    resources: Resources[R], resource: R, source: Snapshot, message: str | None, *, by: Caller, **detail: Any
) -> Version:
    """Add a version with the whole configuration of another one."""
    changed = resources.kind.schema.changed(resource.latest.config, source.config)
    message = message_or(RESTORED.format(version=reference_to(source)), message)
    return append(resources, resource, source.config, changed, message=message, by=by, **detail)


def edit_record(
    resources: Resources[R], resource: R, metadata: Fields | None, visibility: str | None, by: Caller
) -> None:
    """Change the metadata and the visibility of a locked resource; with None the visibility stays."""
    target = None if visibility is None else target_before(resources, resource, "updated")
    before = resource.visibility_by(resources.code)
    fields: list[str] = []
    change: dict[str, Any] = {}
    if visibility is not None and _set_visibility(resources, resource, visibility, by):
        fields, change = ["visibility"], {"from": before, "to": visibility}
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
    """Set who may read a resource outside its workspace; return whether that changed it.

    Code decides the visibility of an override.
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
    by.require_publish(resource.workspace_id)
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
        by.require_publish(workspace_id)
    return {"visibility": asked}
