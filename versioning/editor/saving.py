"""Saving: whatever adds a version. Nothing here changes what is served, unless asked to publish."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from django.db import IntegrityError
from editor_client.shared import canonical, ids
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Forbidden, IdTaken, Invalid
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector
from versioning.domain.snapshots import Snapshot, reference_to
from versioning.editor.publishing import Publishing
from versioning.editor.reading import Who, caller_of
from versioning.editor.recording import change_of
from versioning.models import Agent, Version, VersionedResource, Visibility, Workspace, events
from versioning.models.versioned import EDIT_MESSAGE, INITIAL_MESSAGE
from versioning.serving.resolution import Resolved, find_version

R = TypeVar("R", bound=VersionedResource)
Fields = Mapping[str, Any]

MAX_MESSAGE: Final = 500
MAX_METADATA: Final = 32 * 1024
NOTHING: Final[Fields] = MappingProxyType({})


class Saving(Publishing[R]):
    """The verbs that save. Snapshot fields come as a mapping of wire names, or as keywords.

    `message` says why (up to 500 characters), `publish=True` also serves the version that this
    very call saves, for which the caller needs the right to publish: without it nothing is saved.
    """

    publishes_at_once: bool
    """Whether a save is published when nobody says: true of agents, false of prompt blocks."""

    def create(
        self,
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
        """Make a resource with its first version.

        The id defaults to one made of the name, the workspace to the caller's only one. Raises
        `Invalid`, `Forbidden` for a workspace that is not the caller's, `IdTaken`.
        """
        by = caller_of(by)
        changes = merged_fields(fields, named)
        resource_id = id_of_new(id, changes)
        config = self.schema_of(resource_id).edited({}, changes)
        _check_id(resource_id, given=id)
        # What follows this is for who may save there: it tells of what exists.
        workspace_id = self._workspace_of(resource_id, workspace, by)
        self._refuse(resource_id, changes)
        self._refuse_taken(resource_id)
        record = {"metadata": _merged_metadata({}, metadata), "workspace_id": workspace_id}
        record |= self._visibility_of(resource_id, visibility, workspace_id, by)
        publish = self._whether_to_publish(resource_id, workspace_id, by, asked=publish)
        initial_message = message_or(INITIAL_MESSAGE, message)
        try:
            with events.transaction():
                resource = self.model.begin(
                    id=resource_id, config=config, message=initial_message, author_id=by.user_id, **record
                )
                version = resource.latest_version
                self._record("created", resource, by, version=version)
                if publish:
                    self._activate(resource, version, by)
                    resource.save()
        except IntegrityError:
            if self.all.filter(pk=resource_id).exists():
                raise IdTaken(f"The id {resource_id!r} is taken.") from None
            raise
        return Resolved(resource=resource, version=version, warnings=self._warnings(resource, version, by))

    def edit(
        self,
        resource_id: str,
        fields: Fields | None = None,
        *,
        metadata: Fields | None = NOTHING,
        visibility: str | None = None,
        publish: bool = False,
        message: str | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
        **named: Any,
    ) -> Resolved[R]:
        """Save an edit: absent fields stay, None clears, metadata is merged member by member.

        A version is made only when a snapshot field differs from the latest; it stays a draft
        unless `publish=True`.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.SAVE, by, expect) as resource:
            if publish:
                by.require(Right.PUBLISH, resource.workspace_id)
            base = resource.base
            changes = merged_fields(fields, named)
            config = self.schema_of(resource_id).edited(base.config, changes)
            self._refuse(resource_id, changes)
            message = message_or(EDIT_MESSAGE, message)
            self._edit_record(resource, metadata, visibility, by)
            changed = self.model.schema.changed(base.config, config)
            version = self._append(resource, config, changed, message, by) if changed else resource.latest
            if publish:
                self._activate(resource, version, by)
            return Resolved(
                resource=resource,
                version=version,
                selector=DRAFT,
                warnings=self._warnings(resource, version, by),
            )

    def restore(
        self,
        resource_id: str,
        version_id: str,
        *,
        message: str | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Resolved[R]:
        """Save a copy of a version's whole configuration as a new draft; what is served stays."""
        by = caller_of(by)
        with self._changing(resource_id, Right.SAVE, by, expect, even_gone=True) as resource:
            source = find_version(resource, version_id)
            version = self._copy(resource, source, message, by, restoredFrom=source.version_id)
            return Resolved(resource=resource, version=version, selector=DRAFT)

    def snapshot(
        self,
        resource_id: str,
        *,
        message: str | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Resolved[R]:
        """Save a copy of what is published (of the latest, when nothing is) as a new draft."""
        by = caller_of(by)
        with self._changing(resource_id, Right.SAVE, by, expect) as resource:
            version = self._copy(resource, resource.active or resource.latest, message, by)
            return Resolved(resource=resource, version=version, selector=DRAFT)

    def clone(
        self,
        resource_id: str,
        new_id: str,
        selector: Selector = PUBLISHED,
        *,
        name: str | None = None,
        workspace: str | None = None,
        by: Who = APPLICATION,
    ) -> Resolved[R]:
        """Make a new, private, unpublished resource from the version that the selector names."""
        by = caller_of(by)
        source = self.get(resource_id, selector, by=by)
        if workspace is None and by.may(Right.SAVE, source.resource.workspace_id):
            workspace = source.resource.workspace_id
        config = self._whole(source)
        if name is not None:
            config = {**config, "name": name}
        metadata = source.resource.metadata
        return self.create(config, id=new_id, workspace=workspace, metadata=metadata, publish=False, by=by)

    # What agents that are defined in code do otherwise

    def _workspace_of(self, resource_id: str, asked: str | None, by: Caller) -> str:
        """Return the workspace of a new resource, in which the caller may save."""
        return _workspace_for(by, asked)

    def _refuse_taken(self, resource_id: str) -> None:
        """Raise `IdTaken` for an id that is taken although no row has it."""

    def _visibility_of(
        self, resource_id: str, asked: str | None, workspace_id: str, by: Caller
    ) -> dict[str, Any]:
        """Return what a new record says about its visibility; prompt blocks say nothing."""
        if asked is None:
            return {}
        if self.model is not Agent or asked not in Visibility.values:
            raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
        if asked == Visibility.PUBLIC:
            by.require(Right.PUBLISH, workspace_id)
        return {"visibility": asked}

    def _whether_to_publish(
        self, resource_id: str, workspace_id: str, by: Caller, *, asked: bool | None
    ) -> bool:
        """Return whether a new resource is published; raises `Forbidden` without the right."""
        if asked:
            by.require(Right.PUBLISH, workspace_id)
        default = self.publishes_at_once and by.may(Right.PUBLISH, workspace_id)
        return default if asked is None else asked

    def _whole(self, resolved: Resolved[R]) -> Config:
        """Return the whole configuration of a version, such as a resource of its own could have it."""
        return resolved.version.config

    def _refuse(self, resource_id: str, changes: Fields) -> None:
        """Raise `Invalid` for fields that are not the editor's to change."""

    def _edit_record(self, resource: R, metadata: Fields | None, visibility: str | None, by: Caller) -> None:
        """Change what is not versioned."""
        target, before = None, getattr(resource, "visibility", None)
        fields, change = [], {}
        if visibility is not None:
            target = self._target(resource, "updated")
            self._set_visibility(resource, visibility, by)
            if visibility != before:
                fields, change = ["visibility"], change_of(before, visibility)
        merged = _merged_metadata(resource.metadata, metadata)
        if not canonical.same(merged, resource.metadata):
            resource.metadata = merged
            resource.touch()
            fields.insert(0, "metadata")
        if fields:
            self._record("updated", resource, by, target=target, fields=fields, **change)

    def _copy(self, resource: R, source: Snapshot, message: str | None, by: Caller, **detail: Any) -> Version:
        changed = self.model.schema.changed(resource.latest.config, source.config)
        default = f"Restored from {reference_to(source)}"
        return self._append(resource, source.config, changed, message_or(default, message), by, **detail)

    def _append(
        self, resource: R, config: Config, changed: list[str], message: str, by: Caller, **detail: Any
    ) -> Version:
        if not resource.last_number:
            changed = self.model.schema.changed({}, config)
        version = resource.append(config, message=message, author_id=by.user_id, changed_fields=changed)
        self._record("versionCreated", resource, by, version=version, changedFields=changed, **detail)
        return version


def merged_fields(fields: Fields | None, named: Fields) -> Fields:
    """Return the snapshot fields of a call under their wire names, whichever way they were given."""
    return {**(fields or {}), **{to_camel(name): value for name, value in named.items()}}


def id_of_new(given: str | None, changes: Fields) -> str:
    """Return the id of a new resource: the given one, else one made of the name."""
    return ids.slug(str(changes.get("name", ""))) if given is None else given


def _check_id(resource_id: str, *, given: str | None) -> None:
    fault = ids.fault(resource_id)
    if given is None and not resource_id:
        fault = "is required: the name has no letter or digit of a-z, 0-9 to make one of"
    if fault is not None:
        raise Invalid.field("id", fault)


def _workspace_for(by: Caller, asked: str | None) -> str:
    """Return the workspace of a new resource, in which the caller may save."""
    if asked is None:
        own = [by.key_workspace] if by.key_workspace else list(by.roles)
        if len(own) != 1:
            how_many = "several workspaces" if own else "no workspace"
            raise Invalid.field("workspaceId", f"is required: you are a member of {how_many}")
        asked = own[0]
    by.require(Right.SAVE, asked)
    # An impossible id is refused before a database that cannot hold it gets to see it.
    if by.everywhere is not None and (
        ids.fault(asked) is not None or not Workspace.objects.filter(pk=asked).exists()
    ):
        raise Forbidden(f"You may not {Right.SAVE.value} in the workspace {asked!r}.")
    return asked


def _merged_metadata(current: Fields, changes: Fields | None) -> dict[str, Any]:
    """Return the metadata after an edit: None clears all of it, a None member that one."""
    members = {} if changes is None else {**current, **changes}
    merged = {key: value for key, value in members.items() if value is not None}
    try:
        canonical.check(merged)
    except ValueError as fault:
        raise Invalid.field("metadata", str(fault)) from None
    if len(canonical.dump(merged).encode()) > MAX_METADATA:
        raise Invalid.field("metadata", f"must not be larger than {MAX_METADATA // 1024} KiB")
    ordered: dict[str, Any] = canonical.sorted_by_key(merged)
    return ordered


def message_or(default: str, given: str | None) -> str:
    """Return the trimmed message, or the default for an empty one; raises `Invalid` when it is too long."""
    message = (given or "").strip()
    if len(message) > MAX_MESSAGE:
        raise Invalid.field("changeMessage", f"must not be longer than {MAX_MESSAGE} characters")
    return message or default
