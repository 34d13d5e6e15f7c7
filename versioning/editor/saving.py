"""The verbs that create a resource, add a version to it, and move its active pointer.

Each takes the same steps: find and lock, rights, rules, write, gate, move, log (`versioning.editor.locking`).
Saving does not change served versions unless it publishes.

Snapshot fields come as a mapping of wire names, or as keywords. `message` gives the reason, in up to 500
characters. Keywords can also be options for the checks of the gate (`gate.options`). `expect` is the value of
`If-Match`: entity tags, one of which must be the resource's.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.db import IntegrityError
from editor_client.shared import ids
from editor_client.shared.configurations import (
    EDIT_MESSAGE,
    INITIAL_MESSAGE,
    check_id,
    id_of_new,
    merged_metadata,
    message_or,
)
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Action, Caller, Right
from versioning.domain.errors import Forbidden, IdTaken, Invalid, Message
from versioning.domain.overrides import merged_config
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector
from versioning.domain.snapshots import RESTORED, Snapshot, reference_to
from versioning.editor import gate
from versioning.editor.gate import Options
from versioning.editor.locking import NOTHING, Change, Fields, changing, merged_fields, retry_on_conflict
from versioning.editor.reading import get
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import VersionedResource, Visibility, Workspace
from versioning.models.statements import ValuesByKeys
from versioning.serving.resolution import Resolved, find_version

R = TypeVar("R", bound=VersionedResource)


class NewIdentity(NamedTuple):
    """The id and the workspace of a new resource."""

    id: str
    workspace_id: str


@retry_on_conflict
def create(
    resources: Resources[R],
    fields: Fields | None = None,
    *,
    id: str | None = None,
    workspace: str | None = None,
    visibility: str | None = None,
    metadata: Fields | None = NOTHING,
    publish: bool | None = None,
    message: str | None = None,
    by: Who = APPLICATION,
    **kwargs: Any,
) -> Resolved[R]:
    """Create a resource with its first version, or the override of a code-defined agent.

    The id defaults to a slug of the name, the workspace to the caller's only one. A code-defined agent that
    the caller may not read counts as a taken id. Raises `Invalid`, `Forbidden` for a workspace that is not
    the caller's, `IdTaken`, and with `publish` the errors of the gate; keywords can be options of its checks
    (`gate.options`).
    """
    by = caller_of(by)
    options, kwargs = gate.split_options(kwargs)
    record, publish = _record_of_new(
        resources,
        merged_fields(fields, kwargs),
        id=id,
        workspace=workspace,
        visibility=visibility,
        metadata=metadata,
        publish=publish,
        message=message,
        by=by,
    )
    try:
        change = _insert(resources, record, by, publish=publish, options=options)
    except IntegrityError:  # perhaps because the id was inserted in the meantime
        if resources.all.filter(pk=record["id"]).exists():
            raise _taken(record["id"]) from None
        raise
    return change.make_result(change.resource.latest_version)


def check_new(
    resources: Resources[R],
    fields: Fields | None = None,
    *,
    id: str | None = None,
    workspace: str | None = None,
    visibility: str | None = None,
    metadata: Fields | None = NOTHING,
    publish: bool | None = None,
    message: str | None = None,
    by: Who = APPLICATION,
    **kwargs: Any,
) -> NewIdentity:
    """Return the id and the workspace that `create` would use, and raise its errors.

    Nothing is stored. The gate's checks are not run; publishing does that. A taken id is raised last, so
    `IdTaken` means that all else is valid.
    """
    _, kwargs = gate.split_options(kwargs)
    record, _ = _record_of_new(
        resources,
        merged_fields(fields, kwargs),
        id=id,
        workspace=workspace,
        visibility=visibility,
        metadata=metadata,
        publish=publish,
        message=message,
        by=caller_of(by),
    )
    if resources.all.filter(pk=record["id"]).exists():
        raise _taken(record["id"])
    return NewIdentity(record["id"], record["workspace_id"])


def _record_of_new(
    resources: Resources[R],
    changes: Fields,
    *,
    id: str | None,
    workspace: str | None,
    visibility: str | None,
    metadata: Fields | None,
    publish: bool | None,
    message: str | None,
    by: Caller,
) -> tuple[dict[str, Any], bool]:
    """Return the initial record of a new resource, after all checks, and whether it is published.

    By default an override is a draft, because its agent is already served from code. So is any resource if a
    check of the gate makes drafts the default.
    """
    ownership, kind = resources.ownership, resources.kind
    resource_id = id_of_new(id, changes)
    by.require_covered(resource_id)
    agent = ownership.defines(resource_id)
    if agent is not None and ownership.readable(resource_id, by) is None:
        workspace_for(by, workspace)
        raise _taken(resource_id)
    overridden = None if agent is None else ownership.overridden_by_id(resource_id)
    config, changed = ownership.schema_for(overridden).edit_fields({}, changes)
    check_id(resource_id, given=id, own_words=kind.own_words)
    record: dict[str, Any] = {"id": resource_id, "config": config, "changed_fields": changed}
    record["metadata"] = merged_metadata({}, metadata)
    record["message"] = message_or(INITIAL_MESSAGE, message)
    # Errors after this line reveal existing ids, so only callers who can save there get them.
    if agent is not None:  # overrides belong to the code's workspace
        if workspace not in {None, ownership.workspace_id}:
            raise Forbidden(
                Message(
                    "{id!r} is defined in code; its override belongs to the workspace {workspace!r}.",
                    id=resource_id,
                    workspace=ownership.workspace_id,
                )
            )
        workspace = ownership.workspace_id
    record["workspace_id"] = workspace = workspace_for(by, workspace)
    ownership.refuse_changes(overridden, changes)
    if agent is not None:
        ownership.refuse_visibility(agent, visibility)
    elif visibility is not None:
        if not kind.has_visibility or visibility not in Visibility.values:
            raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
        if visibility == Visibility.PUBLIC:
            by.require_publish(workspace)
        record["visibility"] = visibility
    if publish:
        by.require_publish(workspace)
    elif publish is None:
        may_publish = by.may(Right.PUBLISH, workspace) and by.may_act(Action.PUBLISH)
        publish = agent is None and kind.publishes_at_once and may_publish
        publish = publish and not gate.drafts_by_default(workspace)
    resources.backend.refuse_taken(resource_id)
    return record, publish


def _insert(
    resources: Resources[R], record: dict[str, Any], by: Caller, *, publish: bool, options: Options
) -> Change[R]:
    """Insert a resource with its first version, and publish it if asked."""
    with resources.backend.creating(record["id"]) as finish:
        resource = resources.model.begin(author_id=by.user_id, **record)
        change = Change(resources, resource, by, options)
        change.record("created", version=resource.latest_version)
        if publish:
            change.activate(resource.latest_version)
            resources.backend.store(resource)
        finish(resource)
        return change


def clone(
    resources: Resources[R],
    resource_id: str,
    new_id: str,
    selector: Selector = PUBLISHED,
    *,
    name: str | None = None,
    workspace: str | None = None,
    by: Who = APPLICATION,
) -> Resolved[R]:
    """Create a private, unpublished resource from the selected version."""
    by = caller_of(by)
    source = get(resources, resource_id, selector, by=by)
    if workspace is None and by.may(Right.SAVE, source.resource.workspace_id):
        workspace = source.resource.workspace_id
    agent, config = resources.ownership.overridden_by(source.resource), source.version.config
    config = merged_config(agent, config) if agent else config  # as if it were not an override
    if name is not None:
        config = {**config, "name": name}
    metadata = source.resource.metadata
    return create(resources, config, id=new_id, workspace=workspace, metadata=metadata, publish=False, by=by)


def workspace_for(by: Caller, workspace_id: str | None) -> str:
    """Return the workspace of a new resource; the caller may save in it."""
    if workspace_id is None:
        own = [by.key_workspace] if by.key_workspace else list(by.roles)
        if len(own) != 1:
            how_many = Message("several workspaces") if own else Message("no workspace")
            raise Invalid.field(
                "workspaceId", Message("is required: you are a member of {workspaces}", workspaces=how_many)
            )
        workspace_id = own[0]
    by.require(Right.SAVE, workspace_id)
    # An impossible id is refused here, before it reaches a database that cannot store it.
    if by.everywhere is not None and (
        ids.problem(workspace_id) is not None or not _workspaces().get([workspace_id])
    ):
        raise Forbidden(Right.SAVE.describe_refusal(workspace_id))
    return workspace_id


@cache
def _workspaces() -> ValuesByKeys:
    return ValuesByKeys(Workspace.objects.values_list("pk"))


def _taken(resource_id: str) -> IdTaken:
    return IdTaken(Message("The id {id!r} is taken.", id=resource_id))


def update(
    resources: Resources[R],
    resource_id: str,
    fields: Fields | None = None,
    *,
    publish: bool | None = None,
    by: Who = APPLICATION,
    **more: Any,
) -> Resolved[R]:
    """Save an edit. BE CAREFUL: this PUBLISHES an agent immediately.

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
    **kwargs: Any,
) -> Resolved[R]:
    """Save an edit: absent fields stay, None clears, metadata is merged member by member.

    A version is created only if a snapshot field differs from the latest; it stays a draft unless
    `publish=True`, which requires the right to publish; without the right, nothing is saved. Without a
    `message` the version gets `default_message`. The first edit of a code-defined agent creates its override.

    With `from_live`, the fields are applied to the live version if the newest one was taken back: replaced by
    an older version, or unpublished as an override. If that changes nothing, no version is created.
    """
    options, kwargs = gate.split_options(kwargs)
    by, changes = caller_of(by), merged_fields(fields, kwargs)
    arguments: dict[str, Any] = {"metadata": metadata, "visibility": visibility, "message": message}
    arguments |= {"publish": publish, **options}
    first = _first_override(resources, resource_id, changes, by=by, expect=expect, **arguments)
    if first is not None:
        return first
    with changing(resources, resource_id, Right.SAVE, by, expect, options=options) as change:
        resource = change.resource
        if publish:
            by.require_publish(resource.workspace_id)
        before = resource.base.config
        live = resources.ownership.live_config(resource) if from_live and resource.is_taken_down else None
        config, changed = change.edit_fields(before if live is None else live, changes)
        message = message_or(default_message, message)
        change.edit_record(metadata, visibility)
        version = resource.latest if live is None else resource.current
        if changed:
            if live is not None:
                changed = resources.kind.schema.list_changes(before, config)
            version = change.append(config, changed, message)
        if publish:
            change.activate(version)
    return change.make_result(version, DRAFT)


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
    **kwargs: Any,
) -> Resolved[R]:
    """Change the live configuration and publish the result, without publishing anything else.

    A waiting draft is followed by a new version with the same change, unless the draft already equals the
    live version. If no version is live, the latest version is changed. If the change has no effect, no
    version is created and no pointer moves.
    """
    options, kwargs = gate.split_options(kwargs)
    by, changes = caller_of(by), merged_fields(fields, kwargs)
    with changing(resources, resource_id, Right.SAVE, by, expect, options=options) as change:
        resource = change.resource
        by.require_publish(resource.workspace_id)
        live, draft = resources.ownership.live_config(resource), None
        if live is None or not resource.has_draft:
            # The base of an edit can hold more than a file with the same configuration.
            live = resource.base.config
        else:
            draft = resource.latest
        config, changed = change.edit_fields(live, changes)
        message = message_or(EDIT_MESSAGE, message)
        change.edit_record(metadata, visibility)
        version = resource.active or resource.latest
        if changed:
            version = change.append_next(config, message)
        if changed or (changes and draft is None):
            change.activate(version)
        if changed and draft is not None:
            # A draft that is invalid by today's rules prevents neither the publication nor its own copy.
            schema, own = resources.kind.schema, {field: changes.get(field) for field in changed}
            config = schema.merge(draft.config, own)
            if schema.list_changes(version.config, config):
                message = f"Version {draft.number} with the change of version {version.number}"
                change.append_next(config, message)
    return change.make_result(version)


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
    """Save a copy of a version's whole configuration as a new draft; the served version does not change."""
    by = caller_of(by)
    with changing(resources, resource_id, Right.SAVE, by, expect, include_deleted=True) as change:
        source = find_version(change.resource, version_id)
        return _append_copy(change, source, message, restoredFrom=source.version_id)


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
    with changing(resources, resource_id, Right.SAVE, by, expect) as change:
        return _append_copy(change, change.resource.active or change.resource.latest, message)


def _append_copy(change: Change[R], source: Snapshot, message: str | None, **detail: Any) -> Resolved[R]:
    """Add a version with the whole configuration of another one."""
    resource = change.resource
    changed = resource.kind.schema.list_changes(resource.latest.config, source.config)
    message = message_or(RESTORED.format(version=reference_to(source)), message)
    version = change.append(source.config, changed, message, **detail)
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

    `options` are the options of the gate's checks (`gate.options`). Raises the errors of the gate, such as
    `Invalid` naming every unpublished prompt block that the version refers to.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    with changing(
        resources, resource_id, Right.PUBLISH, by, expect, options=gate_options, include_deleted=True
    ) as change:
        version = find_version(change.resource, version_id)
        change.activate(version)
    return change.make_result(version)


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

    `options` are the options of the gate's checks. Raises the errors of these checks.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    with changing(resources, resource_id, Right.PUBLISH, by, expect, options=gate_options) as change:
        change.deactivate()
        return Resolved(resource=change.resource, version=change.resource.latest)


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
    agent = resources.ownership.readable(resource_id, by)
    if agent is None or expect is not None:
        return None
    row = resources.backend.override(agent)
    if row is not None and not row.gone:
        return None
    # Another request may create the override at the same time; then this save becomes a second version.
    with suppress(IdTaken):
        return create(resources, fields, id=resource_id, by=by, **more)
    return None
