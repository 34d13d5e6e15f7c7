"""What the editor in memory does with stored agents and prompt blocks."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from editor_client.shared import canonical, ids
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.testing.log import Log, now
from editor_client.testing.refusals import Refused, not_found, refuse_unknown
from editor_client.testing.resources import (
    AGENT,
    PROMPT_BLOCK,
    Config,
    Kind,
    Label,
    Resource,
    Version,
    changed_fields,
    edited,
    id_of_new,
    merged_metadata,
    message_or,
)

Body = Mapping[str, Any]
NOT_A_FIELD = "is not a field that can be set here"
SAVED = ("autoPublish", "bypassReview", "changeMessage", "metadata")


class Editor:
    """Resources of one workspace, and one person who may do everything there."""

    def __init__(self, log: Log, *, workspace: str, username: str) -> None:
        self.log = log
        self.workspace = workspace
        self.username = username
        self.resources: dict[tuple[str, str], Resource] = {}
        self.secret = uuid.uuid4().hex
        """What signs its locks."""

    def find(self, kind: Kind, resource_id: str) -> Resource:
        """Return a resource; raises `Refused` if there is none."""
        found = self.resources.get((kind.word, resource_id))
        if found is None:
            raise not_found()
        return found

    def all(self, kind: Kind) -> list[Resource]:
        """Return all resources of a kind, the newest first."""
        return [one for one in reversed(self.resources.values()) if one.kind is kind]

    # Changes

    def create(self, kind: Kind, body: Body) -> Resource:
        """Make a resource with its first version."""
        _check_members(kind, body, "id", "workspaceId")
        config = edited(kind, {}, _fields(kind, body))
        resource_id = id_of_new(body)
        if body.get("workspaceId", self.workspace) != self.workspace:
            raise Refused(
                403, "forbidden", f"You may not save drafts in the workspace {body['workspaceId']!r}."
            )
        if (kind.word, resource_id) in self.resources:
            raise Refused(409, "id_taken", f"The id {resource_id!r} is taken.")
        resource = Resource(
            kind=kind,
            id=resource_id,
            workspace=self.workspace,
            author=self.username,
            visibility=_visibility(body) or "private",
            metadata=merged_metadata({}, body.get("metadata")),
        )
        version = resource.append(
            config, changed_fields(kind, {}, config), message_or("Initial version", body), self.username
        )
        if body.get("autoPublish", kind is AGENT):
            self.check_blocks(version.config)
        self.resources[kind.word, resource_id] = resource
        self._record("created", resource, version)
        if body.get("autoPublish", kind is AGENT):
            self.publish(resource, version)
        return resource

    def edit(self, resource: Resource, body: Body) -> None:
        """Save an edit, as a draft unless `autoPublish` is true."""
        _check_members(resource.kind, body)
        before = resource.latest
        config = edited(resource.kind, before.config, _fields(resource.kind, body))
        message = message_or("Auto-saved after edit", body)
        changed = changed_fields(resource.kind, before.config, config)
        if body.get("autoPublish"):
            self.check_blocks(config)
        self._edit_record(resource, body)
        if changed:
            version = resource.append(config, changed, message, self.username)
            self._record("versionCreated", resource, version, detail={"changedFields": changed})
        if body.get("autoPublish"):
            self.publish(resource, resource.latest)

    def _edit_record(self, resource: Resource, body: Body) -> None:
        fields = []
        metadata = merged_metadata(resource.metadata, body.get("metadata", {}))
        detail: dict[str, Any] = {}
        if not canonical.same(metadata, resource.metadata):
            resource.metadata = metadata
            fields.append("metadata")
        visibility = _visibility(body) or resource.visibility
        if visibility != resource.visibility:
            detail = {"from": resource.visibility, "to": visibility}
            resource.visibility = visibility
            fields.append("visibility")
        if fields:
            resource.touch()
            self._record("updated", resource, detail={"fields": fields, **detail})

    def copy_version(self, resource: Resource, source: Version, message: str, **detail: Any) -> Version:
        """Add a draft with the whole configuration of a version."""
        changed = changed_fields(resource.kind, resource.latest.config, source.config)
        version = resource.append(source.config, changed, message, self.username)
        self._record("versionCreated", resource, version, detail={"changedFields": changed, **detail})
        return version

    def publish(self, resource: Resource, version: Version) -> None:
        """Serve a version; raises `Invalid` naming prompt blocks that are not published."""
        if version is resource.active:
            return
        self.check_blocks(version.config)
        previous = resource.active and resource.active.id
        self._record("published", resource, version, previousVersionId=previous)
        resource.active, resource.published_at = version, now()
        resource.touch()

    def unpublish(self, resource: Resource) -> None:
        """Serve no version."""
        if resource.active is not None:
            self._record("unpublished", resource, previousVersionId=resource.active.id)
            resource.active = resource.published_at = None
            resource.touch()

    def delete(self, resource: Resource) -> None:
        """Delete a resource with its versions and labels."""
        self._record("deleted", resource, previousVersionId=resource.active and resource.active.id)
        del self.resources[resource.kind.word, resource.id]

    def delete_version(self, resource: Resource, version: Version) -> None:
        """Delete a version that nothing holds."""
        obstacle = resource.obstacle_to_deleting(version)
        if obstacle is not None:
            raise Invalid.field("versionId", obstacle, code="version_in_use")
        self._record("versionDeleted", resource, version)
        resource.versions.remove(version)
        resource.touch()

    def set_label(self, resource: Resource, name: str, body: Body) -> None:
        """Set a label on a version, or move it there."""
        refuse_unknown(body, ("versionId", "released", "bypassReview"), message=NOT_A_FIELD)
        problem = ids.label_problem(name)
        if problem is not None:
            raise Invalid.field("name", problem)
        if "versionId" not in body:
            raise Invalid.field("versionId", "is required")
        version, before = resource.version(body["versionId"]), resource.labels.get(name)
        released = bool(body.get("released", before is not None and before.released))
        if before is not None and (before.version, before.released) == (version, released):
            return
        if released:
            self.check_blocks(version.config)
        previous = before and before.version.id
        resource.labels[name] = Label(version=version, released=released, updated_at=now())
        resource.touch()
        detail = {"released": released}
        self._record("labelMoved", resource, version, label=name, previousVersionId=previous, detail=detail)

    def remove_label(self, resource: Resource, name: str) -> None:
        """Remove a label."""
        if name in ids.RESERVED_LABELS:
            raise Invalid.field("name", f"{name!r} is computed and cannot be removed")
        label = resource.labels.pop(name, None)
        if label is None:
            raise not_found()
        resource.touch()
        detail = {"released": label.released}
        self._record("labelRemoved", resource, label=name, previousVersionId=label.version.id, detail=detail)

    def check_blocks(self, config: Config) -> None:
        """Raise `Invalid` naming every prompt block that the instructions refer to and nobody published."""
        blocks = {one.id: one for one in self.all(PROMPT_BLOCK)}
        absent = "does not exist, or you may not read it"
        issues = [
            Issue(field, f"the prompt block {target!r} {'is not published' if target in blocks else absent}")
            for field, target in referenced_blocks(config)
            if target not in blocks or blocks[target].active is None
        ]
        if issues:
            raise Invalid(issues, code="unpublished_blocks")

    def _record(self, what: str, resource: Resource, version: Version | None = None, **about: Any) -> None:
        numbered = {} if version is None else {"versionId": version.id, "versionNumber": version.number}
        event_type = f"{resource.kind.word}.{what}"
        self.log.record(event_type, resource.reference, resource.workspace, **numbered, **about)


def _check_members(kind: Kind, body: Body, *more: str) -> None:
    known = {*kind.names, *SAVED, *more, *(("visibility",) if kind is AGENT else ())}
    refuse_unknown(body, known, message=NOT_A_FIELD)


def _fields(kind: Kind, body: Body) -> Config:
    return {name: value for name, value in body.items() if name in kind.names}


def _visibility(body: Body) -> str | None:
    visibility = body.get("visibility")
    if visibility not in {None, "private", "public"}:
        raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
    return visibility
