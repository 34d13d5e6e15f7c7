"""Saving and publishing: the verbs that add a version, and those that move the active pointer.

Saving changes nothing that is served unless asked to publish.

Snapshot fields come as a mapping of wire names, or as keywords. `message` gives the reason, in up to 500
characters. Keywords can also be options for the checks of the gate (`gate.options`). `expect` is the value of
`If-Match`: entity tags, one of which must be the resource's.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any, TypeVar

from editor_client.shared.configurations import EDIT_MESSAGE, message_or
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import IdTaken
from versioning.domain.selectors import DRAFT
from versioning.domain.snapshots import RESTORED, Snapshot, reference_to
from versioning.editor import gate
from versioning.editor.creating import create
from versioning.editor.locking import (
    NOTHING,
    Fields,
    activate,
    append,
    append_next,
    changing,
    deactivate,
    edit_record,
    merged_fields,
    retry_on_conflict,
)
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Version, VersionedResource
from versioning.serving.resolution import Resolved, find_version

R = TypeVar("R", bound=VersionedResource)


def update(
    resources: Resources[R],
    resource_id: str,
    fields: Fields | None = None,
    *,
    publish: bool | None = None,
    by: Who = APPLICATION,
    **more: Any,
) -> Resolved[R]:
    """Save an edit. BE CAREFUL: an agent is PUBLISHED by it, at once.

    The one difference between the kinds: `editor.agent.update()` makes a version and serves it
    from the next read on, as `edit_live` does (`publish=False` keeps it a draft);
    `editor.prompt.update()` makes a draft, which is not served, as `edit` does
    (`publish=True` publishes it). The first update of a code-defined agent creates its override.
    """
    by = caller_of(by)
    publish = resources.kind.publishes_at_once if publish is None else publish
    is_change = bool(fields) or any(to_camel(name) in resources.kind.schema.names for name in more)
    first = _first_override(resources, resource_id, fields, publish=publish and is_change, by=by, **more)
    if first is not None:
        return first
    save = edit_live if publish else edit
    return save(resources, resource_id, fields, by=by, **more)


@retry_on_conflict
def edit(
    resources: Resources[R],
    resource_id: str,
    fields: Fields | None = None,
    *,
    metadata: Fields | None = NOTHING,
    visibility: str | None = None,
    publish: bool = False,
    message: str | None = None,
    default_message: str = EDIT_MESSAGE,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    from_live: bool = False,
    **named: Any,
) -> Resolved[R]:
    """Save an edit: absent fields stay, None clears, metadata is merged member by member.

    A version is created only if a snapshot field differs from the latest; it stays a draft unless
    `publish=True`, which requires the right to publish; without the right, nothing is saved. Without a
    `message` the version gets `default_message`. The first edit of a code-defined agent creates its override.

    With `from_live`, the fields are applied to what is live, if the newest version was taken back: replaced
    by an older one, or an override that was unpublished. Without a change of that, no version is created.
    """
    options, named = gate.split_options(named)
    by, changes = caller_of(by), merged_fields(fields, named)
    asked: dict[str, Any] = {"metadata": metadata, "visibility": visibility, "message": message}
    asked |= {"publish": publish, **options}
    first = _first_override(resources, resource_id, changes, by=by, expect=expect, **asked)
    if first is not None:
        return first
    with changing(resources, resource_id, Right.SAVE, by, expect) as resource:
        if publish:
            by.require_publish(resource.workspace_id)
        before = resource.base.config
        live = resources.ownership.live_config(resource) if from_live and resource.is_taken_down else None
        start = before if live is None else live
        config = _edited(resources, resource_id, start, changes)
        message = message_or(default_message, message)
        edit_record(resources, resource, metadata, visibility, by, options=options)
        schema, version = resources.kind.schema, resource.latest if live is None else resource.current
        if schema.changed(start, config):
            changed = schema.changed(before, config)
            version = append(resources, resource, config, changed, message=message, by=by)
        if publish:
            activate(resources, resource, version, by, options=options)
    warnings = resources.warnings(resource, version, by)
    return Resolved(resource=resource, version=version, selector=DRAFT, warnings=warnings)


@retry_on_conflict
def edit_live(
    resources: Resources[R],
    resource_id: str,
    fields: Fields | None = None,
    *,
    metadata: Fields | None = NOTHING,
    visibility: str | None = None,
    message: str | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    **named: Any,
) -> Resolved[R]:
    """Change the live configuration and publish the result, without publishing anything else.

    A waiting draft is followed by a new version with the same change, unless the draft already equals the
    live version. If no version is live, the latest version is changed. If the change has no effect, no
    version is created and no pointer moves.
    """
    options, named = gate.split_options(named)
    by, changes = caller_of(by), merged_fields(fields, named)
    with changing(resources, resource_id, Right.SAVE, by, expect) as resource:
        by.require_publish(resource.workspace_id)
        live, draft = _live_and_draft(resources, resource)
        config = _edited(resources, resource_id, live, changes)
        message = message_or(EDIT_MESSAGE, message)
        edit_record(resources, resource, metadata, visibility, by, options=options)
        version = resource.active or resource.latest
        own = {field: changes.get(field) for field in resources.kind.schema.changed(live, config)}
        if own:
            version = append_next(resources, resource, config, message, by=by)
        if own or (changes and draft is None):
            activate(resources, resource, version, by, options=options)
        if own and draft is not None:
            _append_draft(resources, resource, draft, own, after=version, by=by)
    warnings = resources.warnings(resource, version, by)
    return Resolved(resource=resource, version=version, warnings=warnings)


@retry_on_conflict
def restore(
    resources: Resources[R],
    resource_id: str,
    version_id: str,
    *,
    message: str | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Resolved[R]:
    """Save a copy of a version's whole configuration as a new draft; the served version stays."""
    by = caller_of(by)
    with changing(resources, resource_id, Right.SAVE, by, expect, include_deleted=True) as resource:
        source = find_version(resource, version_id)
        version = _append_copy(resources, resource, source, message, by=by, restoredFrom=source.version_id)
        return Resolved(resource=resource, version=version, selector=DRAFT)


@retry_on_conflict
def snapshot(
    resources: Resources[R],
    resource_id: str,
    *,
    message: str | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Resolved[R]:
    """Save a copy of the published version (or the latest, if none is published) as a new draft."""
    by = caller_of(by)
    with changing(resources, resource_id, Right.SAVE, by, expect) as resource:
        version = _append_copy(resources, resource, resource.active or resource.latest, message, by=by)
        return Resolved(resource=resource, version=version, selector=DRAFT)


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


def _first_override(
    resources: Resources[R],
    resource_id: str,
    fields: Fields | None,
    *,
    by: Caller,
    expect: Collection[str] | None = None,
    **more: Any,
) -> Resolved[R] | None:
    """Create the override of an agent that has none; return None for everything else."""
    if expect is None and resources.is_as_code_says(resource_id, by):
        # Another request may create the override at this very moment; then this save is the second one.
        with suppress(IdTaken):
            return create(resources, fields, id=resource_id, by=by, **more)
    return None


def _edited(resources: Resources[R], resource_id: str, before: Config, changes: Fields) -> Config:
    """Return the edited configuration; raises `Invalid` for its problems, and for fields that code owns."""
    config = resources.ownership.schema_of(resource_id).edited(before, changes)
    resources.ownership.refuse_changes(resource_id, changes)
    return config


def _live_and_draft(resources: Resources[R], resource: R) -> tuple[Config, Snapshot | None]:
    """Return the configuration that `edit_live` starts from, and the waiting draft, if any."""
    live = resources.ownership.live_config(resource)
    if live is None or not resource.has_draft:
        # The base of an edit can hold more than a file with the same configuration.
        return resource.base.config, None
    return live, resource.latest


def _append_draft(
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


def _append_copy(
    resources: Resources[R], resource: R, source: Snapshot, message: str | None, *, by: Caller, **detail: Any
) -> Version:
    """Add a version with the whole configuration of another one."""
    changed = resources.kind.schema.changed(resource.latest.config, source.config)
    message = message_or(RESTORED.format(version=reference_to(source)), message)
    return append(resources, resource, source.config, changed, message=message, by=by, **detail)
