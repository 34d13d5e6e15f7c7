"""Create a resource with its first version, from fields or from a version of another resource."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from django.db import IntegrityError
from editor_client.shared import ids
from editor_client.shared.configurations import (
    INITIAL_MESSAGE,
    check_id,
    id_of_new,
    merged_metadata,
    message_or,
)

from versioning.domain.access import APPLICATION, Action, Caller, Right
from versioning.domain.errors import Forbidden, IdTaken, Invalid, Message
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor import gate
from versioning.editor.locking import NOTHING, Fields, activate, merged_fields, retry_on_conflict
from versioning.editor.locking import record as record_event
from versioning.editor.publish_requests import Options
from versioning.editor.reading import get
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import VersionedResource, Visibility, Workspace
from versioning.serving.resolution import Resolved

R = TypeVar("R", bound=VersionedResource)


class NewIdentity(NamedTuple):
    """What a new resource would be known by."""

    id: str
    workspace_id: str


@retry_on_conflict
def create(
    resources: Resources[R],
    fields: Fields | None = None,
    *,
    id: str | None = None,  # noqa: A002  the wire name
    workspace: str | None = None,
    visibility: str | None = None,
    metadata: Fields | None = NOTHING,
    publish: bool | None = None,
    message: str | None = None,
    by: Who = APPLICATION,
    **named: Any,
) -> Resolved[R]:
    """Create a resource with its first version, or the override of a code-defined agent.

    The id defaults to a slug of the name, the workspace to the caller's only one. A code-defined agent that
    the caller may not read counts as a taken id. Raises `Invalid`, `Forbidden` for a workspace that is not
    the caller's, `IdTaken`, and with `publish` what the gate raises; keywords can be options that its checks
    understand (`gate.options`).
    """
    by = caller_of(by)
    options, named = gate.split_options(named)
    record, publish = _record_of_new(
        resources,
        merged_fields(fields, named),
        id=id,
        workspace=workspace,
        visibility=visibility,
        metadata=metadata,
        publish=publish,
        message=message,
        by=by,
    )
    with _refusing_taken(resources, record["id"]):
        resource = _insert(resources, record, by, publish=publish, options=options)
    version = resource.latest_version
    return Resolved(resource=resource, version=version, warnings=resources.warnings(resource, version, by))


def check_new(
    resources: Resources[R],
    fields: Fields | None = None,
    *,
    id: str | None = None,  # noqa: A002  the wire name
    workspace: str | None = None,
    visibility: str | None = None,
    metadata: Fields | None = NOTHING,
    publish: bool | None = None,
    message: str | None = None,
    by: Who = APPLICATION,
    **named: Any,
) -> NewIdentity:
    """Return the id and the workspace that `create` would use, and raise what it would raise.

    Nothing is stored. What the checks of the gate raise is left to publishing. A taken id is raised last, so
    that a caller knows by `IdTaken` that everything else can be saved.
    """
    _, named = gate.split_options(named)
    record, _ = _record_of_new(
        resources,
        merged_fields(fields, named),
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
    id: str | None,  # noqa: A002  the wire name
    workspace: str | None,
    visibility: str | None,
    metadata: Fields | None,
    publish: bool | None,
    message: str | None,
    by: Caller,
) -> tuple[dict[str, Any], bool]:
    """Return what a new resource begins with, after all checks, and whether it is published."""
    ownership = resources.ownership
    resource_id = id_of_new(id, changes)
    by.require_covered(resource_id)
    if ownership.hides(resource_id, by):
        workspace_for(by, workspace)
        raise _taken(resource_id)
    config = ownership.schema_of(resource_id).edited({}, changes)
    check_id(resource_id, given=id, own_words=resources.kind.own_words)
    record: dict[str, Any] = {"id": resource_id, "config": config, "metadata": merged_metadata({}, metadata)}
    record["message"] = message_or(INITIAL_MESSAGE, message)
    # Errors after this line reveal what exists, so they are only for callers who may save there.
    workspace_id = workspace_for(by, ownership.home_of(resource_id, workspace))
    record["workspace_id"] = workspace_id
    ownership.refuse_changes(resource_id, changes)
    record |= _visibility_of_new(resources, resource_id, visibility, workspace_id, by)
    publish = _publishes_new(resources, resource_id, workspace_id, by, asked=publish)
    resources.backend.refuse_taken(resource_id)
    return record, publish


@contextmanager
def _refusing_taken(resources: Resources[R], resource_id: str) -> Iterator[None]:
    """Raise `IdTaken` if the insertion fails because the id was inserted in the meantime."""
    try:
        yield
    except IntegrityError:
        if resources.all.filter(pk=resource_id).exists():
            raise _taken(resource_id) from None
        raise


def _insert(
    resources: Resources[R], record: dict[str, Any], by: Caller, *, publish: bool, options: Options
) -> R:
    """Insert a resource with its first version, and publish it if asked."""
    with resources.backend.creating(record["id"]) as finish:
        resource = resources.model.begin(author_id=by.user_id, **record)
        version = resource.latest_version
        record_event(resources, "created", resource, by, version=version)
        if publish:
            activate(resources, resource, version, by, options=options)
            resources.backend.store(resource)
        finish(resource)
        return resource


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
    config = resources.ownership.whole_config(source.resource, source.version.config)
    if name is not None:
        config = {**config, "name": name}
    metadata = source.resource.metadata
    return create(resources, config, id=new_id, workspace=workspace, metadata=metadata, publish=False, by=by)


def _taken(resource_id: str) -> IdTaken:
    return IdTaken(Message("The id {id!r} is taken.", id=resource_id))


def workspace_for(by: Caller, asked: str | None) -> str:
    """Return the workspace of a new resource; the caller may save in it."""
    if asked is None:
        own = [by.key_workspace] if by.key_workspace else list(by.roles)
        if len(own) != 1:
            how_many = Message("several workspaces") if own else Message("no workspace")
            raise Invalid.field(
                "workspaceId", Message("is required: you are a member of {workspaces}", workspaces=how_many)
            )
        asked = own[0]
    by.require(Right.SAVE, asked)
    # An impossible id is refused before a database that cannot hold it gets to see it.
    if by.everywhere is not None and (
        ids.problem(asked) is not None or not Workspace.objects.filter(pk=asked).exists()
    ):
        raise Forbidden(Right.SAVE.refused(asked))
    return asked


def _publishes_new(
    resources: Resources[R], resource_id: str, workspace_id: str, by: Caller, *, asked: bool | None
) -> bool:
    """Return whether a new resource is published; raises `Forbidden` without the right.

    By default, an override is not, because its agent is already served from code; neither is any resource
    where a check of the gate makes drafts the default.
    """
    if asked is None and resources.ownership.defines(resource_id) is not None:
        return False
    if asked:
        by.require_publish(workspace_id)
    if asked is not None:
        return asked
    may_publish = by.may(Right.PUBLISH, workspace_id) and by.may_act(Action.PUBLISH)
    return resources.kind.publishes_at_once and may_publish and not gate.drafts_by_default(workspace_id)


def _visibility_of_new(
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
