"""Publishing: whatever moves the pointer that serves, or removes something; every verb is audited."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

from django.conf import settings
from django.utils import timezone
from editor_client.shared import ids

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import EditConflict, InUse, Invalid, NotFound
from versioning.domain.events import Audience, Target
from versioning.domain.resolved_agent import Notice
from versioning.domain.selectors import State, Status
from versioning.domain.snapshots import Snapshot
from versioning.editor.reading import Label, Reading, Who, caller_of, custom_label
from versioning.editor.recording import target_of
from versioning.models import (
    Agent,
    AgentVersion,
    Version,
    VersionedResource,
    Visibility,
    events,
)
from versioning.serving.dependents import refuse_unpublished_blocks, warnings_for
from versioning.serving.grants import grant, keep_targets
from versioning.serving.resolution import Resolved, find_version

R = TypeVar("R", bound=VersionedResource)

ANY_TAG: Final = "*"
CHANGES_WHAT_IS_LIVE: Final = frozenset({"published", "unpublished", "deleted"})
ENDS_READING: Final = frozenset({"deleted", "updated"})


class Publishing(Reading[R]):
    """The verbs that need the right to publish.

    `expect` is what `If-Match` says: the tags of which one must be the resource's; `EditConflict`
    otherwise. None expects nothing.
    """

    def publish(
        self,
        resource_id: str,
        version_id: str,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Resolved[R]:
        """Serve exactly this version from the next read on.

        Raises `Invalid` naming every prompt block that the version refers to and that is not published.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.PUBLISH, by, expect, even_gone=True) as resource:
            version = find_version(resource, version_id)
            self._activate(resource, version, by)
            return Resolved(
                resource=resource, version=version, warnings=self._warnings(resource, version, by)
            )

    def unpublish(
        self, resource_id: str, *, by: Who = APPLICATION, expect: Collection[str] | None = None
    ) -> Resolved[R]:
        """Serve no version; nothing is deleted."""
        by = caller_of(by)
        with self._changing(resource_id, Right.PUBLISH, by, expect) as resource:
            if resource.active_id is not None:
                self._record("unpublished", resource, by, previous=resource.active_id)
                self._point(resource, None, by)
            return Resolved(resource=resource, version=resource.latest)

    def label(
        self,
        resource_id: str,
        name: str,
        version_id: str,
        *,
        released: bool | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> tuple[R, Label]:
        """Set a label on a version, or move it there.

        A released label serves its version, under its name, to whoever may read what is published;
        None leaves that as it is. For such a label raises as `publish` does.
        """
        by = caller_of(by)
        fault = ids.label_fault(name)
        with self._changing(resource_id, Right.PUBLISH, by, expect) as resource:
            if fault is not None:
                raise Invalid.field("name", fault)
            version = self._own_version(resource, version_id)
            row = resource.labels.select_related("updated_by").filter(name=name).first()
            is_new, before = row is None, row.version_id if row else None
            was_released = row is not None and row.released
            row = row or self.label_model(resource_id=resource.pk, name=name)
            released = row.released if released is None else released
            if is_new or row.version_id != version.pk or row.released != released:
                if released:
                    self._check_can_go_live(resource, version, by)
                row.version_id, row.released = version.pk, released
                row.updated_by_id, row.updated_at = by.user_id, timezone.now()
                row.save()
                resource.touch()
                self._record_label(
                    "labelMoved",
                    resource,
                    row,
                    by,
                    was_released=was_released,
                    version=version,
                    previous=before,
                )
            return resource, custom_label(row, version)

    def unlabel(
        self,
        resource_id: str,
        name: str,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> R:
        """Remove a label; raises `NotFound` when there is none of this name."""
        by = caller_of(by)
        with self._changing(resource_id, Right.PUBLISH, by, expect) as resource:
            if name in ids.RESERVED_LABELS:
                raise Invalid.field("name", f"{name!r} is computed and cannot be removed")
            row = resource.labels.filter(name=name).first()
            if row is None:
                raise NotFound
            self._record_label(
                "labelRemoved", resource, row, by, was_released=row.released, previous=row.version_id
            )
            row.delete()
            resource.touch()
            return resource

    def delete(
        self,
        resource_id: str,
        *,
        if_unused: bool = False,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> None:
        """Delete a resource with its versions and labels; its id can be used again.

        With `if_unused`, raises `InUse` when a published agent refers to it.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.PUBLISH, by, expect, for_deletion=True) as resource:
            if if_unused:
                self._refuse_in_use(resource_id, by)
            self._record("deleted", resource, by, previous=resource.active_id)
            self._delete(resource)

    def delete_version(
        self,
        resource_id: str,
        version_id: str,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> R:
        """Delete a version: a draft needs the right to save, a historical one the right to publish.

        Raises `Invalid` for one that is published, labelled or the only one.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.SAVE, by, expect) as resource:
            version = self._own_version(resource, version_id)
            if resource.state_of(version) is not State.DRAFT:
                by.require(Right.PUBLISH, resource.workspace_id)
            obstacle = self._obstacle_to_deleting(resource, version)
            if obstacle is not None:
                raise Invalid.field("versionId", obstacle, code="version_in_use")
            self._record("versionDeleted", resource, by, version=version)
            self._forget(resource, version)
            return resource

    def prune(self, resource_id: str, keep: int, *, by: Who = APPLICATION) -> int:
        """Delete all but the newest `keep` versions and return how many went.

        Never removes an active, latest or labelled version.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.PUBLISH, by) as resource:
            pruned = self._prune(resource, keep, by)
            resource.revision += 1 if pruned else 0
            return pruned

    def _prune(self, resource: R, keep: int, by: Caller) -> int:
        kept = {resource.active_version_id, resource.latest_version_id}
        if resource.active is not None and not resource.active.read_only:
            kept.add(cast("Version", resource.active).pk)
        kept.update(resource.labels.values_list("version_id", flat=True))
        kept.update(resource.versions.values_list("pk", flat=True)[:keep])
        doomed = resource.versions.exclude(pk__in=[pk for pk in kept if pk is not None])
        pruned = list(doomed.only("pk", "number").order_by("number"))
        for version in pruned:
            self._record("versionDeleted", resource, by, version=version, pruned=True)
        if pruned:
            doomed.delete()
        return len(pruned)

    @contextmanager
    def _changing(
        self,
        resource_id: str,
        right: Right,
        by: Caller,
        expect: Collection[str] | None = None,
        *,
        even_gone: bool = False,
        for_deletion: bool = False,
    ) -> Iterator[R]:
        """Give out a resource in a transaction with its row locked, and store what was changed.

        Raises `NotFound`, `Forbidden` without the right, `EditConflict` when no expected tag holds.
        """
        with events.transaction():
            resource = self._locked(resource_id, by, for_deletion=for_deletion)
            if resource.gone and not even_gone:
                raise NotFound
            by.require(right, resource.workspace_id)
            if expect is not None and ANY_TAG not in expect and resource.tag not in expect:
                raise EditConflict(_current_state(resource))
            before, last_number = resource.revision, resource.last_number
            yield resource
            if resource.revision != before:
                self._store(resource)
            if resource.last_number != last_number and settings.EDITOR_KEEP_VERSIONS:
                self._prune(resource, settings.EDITOR_KEEP_VERSIONS, by)

    def _locked(self, resource_id: str, by: Caller, *, for_deletion: bool = False) -> R:
        """Return a resource with its row locked; raises `NotFound`."""
        return self._one(self._readable(by).locked(for_deletion=for_deletion), resource_id)

    def _store(self, resource: R) -> None:
        """Store what was changed of the row."""
        resource.save()

    def _delete(self, resource: R) -> None:
        """Delete a resource with all that is stored of it."""
        resource.delete()

    def _forget(self, resource: R, version: Version) -> None:
        """Delete a version that nothing points at."""
        resource.forget(version)

    def _is_only_version(self, resource: R) -> bool:
        return resource.versions.count() == 1

    def _activate(self, resource: R, version: Snapshot, by: Caller) -> None:
        """Move the pointer that serves, once what the version needs is published too.

        A version that is published already is published anew where the caller may read something that it
        was not granted before, such as a sub-agent that was made only after it.
        """
        if version.version_id != resource.active_id:
            self._check_can_go_live(resource, version, by)
        elif not self._grant_more(version, by):
            return
        self._record("published", resource, by, version=version, previous=resource.active_id)
        self._point(resource, version, by)

    def _check_can_go_live(self, resource: R, version: Snapshot, by: Caller) -> None:
        """Raise `Invalid` for what keeps a version from being served as published; settle what it is granted.

        Whatever makes a version readable without the right to drafts asks this first.
        """
        keep_targets(version.config)
        refuse_unpublished_blocks(version.config, by)
        if isinstance(version, AgentVersion):
            grant(version, by, self.code, anew=version.version_id != resource.active_id)

    def _grant_more(self, version: Snapshot, by: Caller) -> bool:
        """Grant a published version what it was not granted and the caller may read; say whether any was."""
        keep_targets(version.config)
        return isinstance(version, AgentVersion) and grant(version, by, self.code, anew=False)

    def _point(self, resource: R, version: Snapshot | None, by: Caller) -> None:
        """Serve this version from now on, or none."""
        resource.activate(cast("Version", version).pk if version else None, by_id=by.user_id)

    def _own_version(self, resource: R, version_id: str) -> Version:
        """Return a version that a row holds; raises `Invalid` for one that cannot be changed here."""
        version = find_version(resource, version_id)
        if version.read_only:
            raise Invalid.field("versionId", "is kept outside of the database", code="read_only")
        return cast("Version", version)

    def _warnings(self, resource: R, version: Snapshot, by: Caller) -> tuple[Notice, ...]:
        return warnings_for(resource.pk, version.config, by, self.code)

    def _set_visibility(self, resource: VersionedResource, visibility: str, by: Caller) -> None:
        """Change who beyond the workspace may read an agent."""
        if not isinstance(resource, Agent) or visibility not in Visibility.values:
            raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
        before = resource.visibility
        if before != visibility:
            by.require(Right.PUBLISH, resource.workspace_id)
            resource.visibility = visibility
            resource.touch()

    def _obstacle_to_deleting(self, resource: R, version: Version) -> str | None:
        if version.version_id == resource.active_id:
            return "is published: publish another one or unpublish it first"
        if version.pk == resource.active_version_id:
            return "was published last from here: publish another one first"
        label = resource.labels.filter(version_id=version.pk).first()
        if label is not None:
            return f"carries the label {label.name!r}: move or remove the label first"
        if self._is_only_version(resource):
            return "is the only version: delete the whole resource instead"
        return None

    def _refuse_in_use(self, resource_id: str, by: Caller) -> None:
        users = self.dependents(resource_id, status=Status.PUBLISHED, by=by)
        hidden = self._count_dependents(resource_id) - len(users.readable)
        if users.readable or hidden:
            named = ", ".join(name for _, name in users.readable) or "agents that you cannot read"
            raise InUse(
                f"In use by {named}.",
                dependents=[{"id": agent_id, "name": name} for agent_id, name in users.readable],
                hidden_count=users.hidden_count,
            )

    def _count_dependents(self, resource_id: str) -> int:
        return len(self.dependents(resource_id, status=Status.PUBLISHED, by=APPLICATION).readable)

    def _record(
        self,
        what: str,
        resource: VersionedResource,
        by: Caller,
        *,
        target: Target | None = None,
        version: Snapshot | None = None,
        previous: object = None,
        **more: Any,
    ) -> None:
        """Tell the log what is done to a resource; `target` is what it was before, unless it still is."""
        target = target or self._target(resource, what)
        seen_in: Sequence[Target] = ()
        if what in CHANGES_WHAT_IS_LIVE and previous != (version and version.version_id):
            seen_in = self._shown_in(resource)
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

    def _target(self, resource: VersionedResource, what: str) -> Target:
        """Return what the log calls the resource, with whoever could read it by a released label, too."""
        by_label = what in ENDS_READING and resource.active_id is None
        released = by_label and resource.is_stored and resource.labels.filter(released=True).exists()
        return target_of(resource, self.code, released=released)

    def _shown_in(self, resource: VersionedResource) -> Sequence[Target]:
        """Return the live agents that show the resource to people who cannot read it; blocks have some."""
        return ()

    def _record_label(
        self, what: str, resource: R, row: Any, by: Caller, *, was_released: bool, **versions: Any
    ) -> None:
        target = target_of(resource, self.code, released=was_released)
        audience = Audience.READERS if was_released or row.released else None
        self._record(
            what,
            resource,
            by,
            target=target,
            label=row.name,
            released=row.released,
            audience=audience,
            **versions,
        )


def _current_state(resource: VersionedResource) -> dict[str, Any]:
    latest = resource.latest
    return {
        "latestVersionId": latest.version_id,
        "activeVersionId": resource.active_id,
        "savedBy": latest.author_name,
        "savedAt": latest.created_at,
        "changedFields": latest.changed_fields,
    }
