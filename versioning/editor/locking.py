"""How a resource changes: lock it, check rights and expectations, do something to it, and save it at the end.

with changing(resources, resource_id, Right.SAVE, by) as change:        # find and lock, rights
    config, changed = change.edit_fields(start, changes)                     # rules
    version = change.append(config, changed, message)                   # write, log
    change.activate(version)                                            # gate, log, move
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

from django.conf import settings
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.configurations import merged_metadata
from editor_client.shared.tags import read_tags
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Caller, Right, RightsChanged
from versioning.domain.config import Config
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.domain.events import Target
from versioning.domain.overrides import CodeAgent
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import (
    ALONE,
    NO_OPTIONS,
    Options,
    PublishRequest,
    TakeDownRequest,
    VisibilityRequest,
)
from versioning.editor.pins import pinned_versions
from versioning.editor.resources import Resources
from versioning.models import Version, VersionedResource, Visibility, events
from versioning.models.guarded import unguard
from versioning.serving.grants import target_of
from versioning.serving.overlays import Versions
from versioning.serving.references import agents_that_show
from versioning.serving.resolution import Resolved
from versioning.sources.files import OverrideChanged

R = TypeVar("R", bound=VersionedResource)
V = TypeVar("V", bound=Callable[..., Any])

Fields = Mapping[str, Any]

NOTHING: Final[Fields] = MappingProxyType({})
ANY_ETAG: Final = "*"
CHANGES_WHAT_IS_LIVE: Final = frozenset({"published", "unpublished", "deleted"})
_ATTEMPTS: Final = 3


class Change(Generic[R]):
    """A resource that this transaction has locked or inserted, with the state of the verb.

    Its methods add versions, set metadata and visibility, and move the active pointer, each with an entry in
    the log.
    """

    def __init__(self, resources: Resources[R], resource: R, by: Caller, options: Options) -> None:
        self.resources = resources
        self.resource = resource
        self.by = by
        self.options = options
        """The options for the checks of the gate (`gate.options`)."""
        self.agent: CodeAgent | None = resources.ownership.overridden_by(resource)
        """The code-defined agent that the resource overrides."""
        self._target: Target | None = None
        self._revision, self._last_number = resource.revision, resource.last_number

    def require(self, right: Right, expect: Collection[str] | None) -> None:
        """Raise `Forbidden` without the right, `EditConflict` if none of the ETags is the resource's."""
        self.by.require(right, self.resource.workspace_id)
        if expect is not None and ANY_ETAG not in expect and self.resource.etag not in expect:
            raise EditConflict(current_state(self.resource))

    def store(self) -> None:
        """Save the resource if it has changed, and drop versions beyond the retention limit."""
        if self.resource.revision != self._revision:
            self.resources.backend.store(self.resource)
        if self.resource.last_number != self._last_number and settings.EDITOR_KEEP_VERSIONS:
            self.drop_old_versions(settings.EDITOR_KEEP_VERSIONS)

    @property
    def target(self) -> Target:
        """The log's reference to the resource, with who can read it before the next step of the change."""
        if self._target is None:
            self._target = target_of(self.resource, self.resources.code)
        return self._target

    def record(
        self,
        event: str,
        *,
        target: Target | None = None,
        version: Snapshot | None = None,
        previous: object = None,
        **more: Any,
    ) -> None:
        """Log a step before it is taken, or with the `target` from before it."""
        resource, code = self.resource, self.resources.code
        target = target or self.target
        seen_in: Sequence[Target] = ()
        if (
            event in CHANGES_WHAT_IS_LIVE
            and self.resources.kind.is_shown
            and previous != (version and version.version_id)
        ):
            # Live agents show the text to people who cannot read the resource.
            agents = agents_that_show(resource, code, self.resources.agents.list_unstored(APPLICATION))
            seen_in = [target_of(agent, code) for agent in agents]
        events.record(
            f"{target.kind}.{event}",
            by=self.by,
            workspace_id=resource.workspace_id,
            resource=target,
            version=version,
            previous_version_id=previous,
            seen_in=seen_in,
            **more,
        )

    def target_of_readers(self) -> Target:
        """Return the reference for a step that ends read access; released labels count as well."""
        resource = self.resource
        by_label = resource.active_id is None and resource.is_stored
        released = by_label and resource.labels.filter(released=True).exists()
        return target_of(resource, self.resources.code, released=released)

    def edit_fields(self, start: Config, changes: Fields) -> tuple[Config, list[str]]:
        """Return the edited configuration and the names of the changed fields.

        Raises `Invalid` for problems of the changed fields, and for fields that code owns.
        """
        ownership = self.resources.ownership
        edited = ownership.schema_for(self.agent).edit_fields(start, changes)
        ownership.refuse_changes(self.agent, changes)
        return edited

    def append(self, config: Config, changed: list[str], message: str, **detail: Any) -> Version:
        """Add a version and return it; `changed` are the fields in which it differs from the one before."""
        if not self.resource.last_number:
            changed = self.resources.kind.schema.list_changes({}, config)
        version = self.resource.append(
            config, message=message, author_id=self.by.user_id, changed_fields=changed
        )
        self.record("versionCreated", version=version, changedFields=changed, **detail)
        return version

    def append_next(self, config: Config, message: str) -> Version:
        """Add a version after the one with the highest number."""
        newest = self.resource.versions.first() if self.resource.is_stored else None
        changed = self.resources.kind.schema.list_changes(newest.config if newest else {}, config)
        return self.append(config, changed, message)

    def edit_record(self, metadata: Fields | None, visibility: str | None) -> None:
        """Change the metadata and the visibility; with None the visibility stays."""
        resource = self.resource
        target = None if visibility is None else self.target_of_readers()
        fields: list[str] = []
        change: dict[str, Any] = {}
        if visibility is not None:
            before = resource.visibility_by(self.resources.code)
            if self._set_visibility(visibility):
                fields, change = ["visibility"], {"from": before, "to": visibility}
        if metadata != NOTHING:
            merged, were_tags = merged_metadata(resource.metadata, metadata), read_tags(resource.metadata)
            if not canonical.same(merged, resource.metadata):
                resource.metadata = merged
                if read_tags(merged) != were_tags:
                    resource.tag_model.write(resource)
                resource.touch()
                fields.insert(0, "metadata")
        if fields:
            self.record("updated", target=target or self.target_of_readers(), fields=fields, **change)

    def _set_visibility(self, visibility: str) -> bool:
        """Set the visibility outside the workspace; return whether it changed.

        The gate checks the change, because agents of other workspaces run a public agent. Code decides the
        visibility of an override.
        """
        if self.agent is not None:
            self.resources.ownership.refuse_visibility(self.agent, visibility)
            return False
        if not self.resources.kind.has_visibility or visibility not in Visibility.values:
            raise Invalid.field("visibility", "must be 'private' or 'public', and only agents have it")
        row: Any = self.resource
        if row.visibility == visibility:
            return False
        self.by.require_publish(row.workspace_id)
        request = VisibilityRequest(resource=row, caller=self.by, visibility=visibility, options=self.options)
        gate.check_visibility(request)
        row.visibility = visibility
        self._target = None
        # Saved now and not at the end, because the gate judges later publications of the same request by the
        # stored state.
        stored: Any = unguard(type(row)._default_manager.filter(pk=row.pk))
        stored.update(visibility=visibility)
        row.touch()
        return True

    def activate(
        self,
        version: Snapshot,
        *,
        together: Versions = ALONE,
        before: Versions = ALONE,
        at: datetime.datetime | None = None,
        **detail: Any,
    ) -> None:
        """Make this version the active one, after the gate has passed it.

        `together`, `before` and `at`, by default now, are as in `PublishRequest`; `detail` goes into the
        entry of the log. Publishing the active version again has an effect if the caller may read a resource
        that it was not granted before, such as a sub-agent created later. The gate then checks it like any
        other version.
        """
        request = PublishRequest(
            resource=self.resource,
            version=version,
            caller=self.by,
            together=together,
            before=before,
            options=self.options,
            at=at or timezone.now(),
        )
        if gate.check(request, self.resources.code):
            self.record("published", version=version, previous=self.resource.active_id, **detail)
            self.resources.backend.set_active(self.resource, version, self.by)
            self._target = None

    def deactivate(
        self,
        *,
        together: Versions = ALONE,
        before: Versions = ALONE,
        at: datetime.datetime | None = None,
        **detail: Any,
    ) -> None:
        """Stop serving any version, if the checks of the gate allow it; arguments are as in `activate`."""
        if self.resource.active_id is None:
            return
        request = TakeDownRequest(
            resource=self.resource,
            caller=self.by,
            options=self.options,
            together=together,
            before=before,
            at=at or timezone.now(),
        )
        gate.check_take_down(request)
        self.record("unpublished", previous=self.resource.active_id, **detail)
        self.resources.backend.set_active(self.resource, None, self.by)
        self._target = None

    def drop_old_versions(self, keep: int) -> int:
        """Delete the old versions that are not in use; return how many were deleted."""
        resource = self.resource
        needed = {resource.active_version_id, resource.latest_version_id}
        if resource.active is not None and not resource.active.read_only:
            needed.add(cast("Version", resource.active).pk)
        needed.update(resource.labels.values_list("version_id", flat=True))
        needed.update(resource.versions.values_list("pk", flat=True)[:keep])
        needed |= pinned_versions(resource)
        old = resource.versions.exclude(pk__in=[pk for pk in needed if pk is not None])
        pruned = list(old.only("pk", "number", "author_id").order_by("number"))
        for version in pruned:
            self.record("versionDeleted", version=version, pruned=True)
        if pruned:
            unguard(old).delete()
        return len(pruned)

    def make_result(self, version: Snapshot, selector: Selector = PUBLISHED) -> Resolved[R]:
        """Return the resource with the saved version and its warnings; call it after the transaction."""
        warnings = self.resources.warnings(self.resource, version, self.by)
        return Resolved(resource=self.resource, version=version, selector=selector, warnings=warnings)


@contextmanager
def changing(
    resources: Resources[R],
    resource_id: str,
    right: Right,
    by: Caller,
    expect: Collection[str] | None = None,
    *,
    options: Options = NO_OPTIONS,
    include_deleted: bool = False,
    for_deletion: bool = False,
) -> Iterator[Change[R]]:
    """Lock a resource for this transaction and save it at the end.

    Raises `NotFound`, `Forbidden` without the right, `EditConflict` if none of the ETags in `expect` is the
    resource's. `include_deleted` also accepts a resource of which only the history remains.
    """
    with resources.backend.lock_resource(resource_id, by, for_deletion=for_deletion) as resource:
        if resource.gone and not include_deleted:
            raise NotFound
        change = Change(resources, resource, by, options)
        change.require(right, expect)
        yield change
        change.store()


def retry_on_conflict(verb: V) -> V:
    """Repeat a verb when the override file or the caller's rights changed while it ran.

    The result is as if the verb had begun after that change.
    """

    @wraps(verb)
    def repeating(*args: Any, **kwargs: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            try:
                return verb(*args, **kwargs)
            except OverrideChanged:
                continue
            except RightsChanged as error:
                kwargs["by"] = error.caller
        return verb(*args, **kwargs)

    return cast("V", repeating)


def current_state(resource: VersionedResource) -> dict[str, Any]:
    """Return the state that `EditConflict` reports: the two pointers and the author of the last save."""
    latest = resource.latest
    return {
        "latestVersionId": latest.version_id,
        "activeVersionId": resource.active_id,
        "savedBy": latest.author_name,
        "savedAt": latest.created_at,
        "changedFields": latest.changed_fields,
    }


def merged_fields(fields: Fields | None, keyword_fields: Fields) -> Fields:
    """Return the snapshot fields of a call by their JSON names, whether given as a mapping or as keywords."""
    return {**(fields or {}), **{to_camel(name): value for name, value in keyword_fields.items()}}
