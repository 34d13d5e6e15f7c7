"""How a resource changes: lock it, check rights and expectations, do something to it, and save it at the end.

What verbs do to a locked resource: add versions, set metadata and visibility, move the active pointer; each
with its entry in the log.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

from django.conf import settings
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.configurations import merged_metadata
from editor_client.shared.tags import tags_of
from pydantic.alias_generators import to_camel

from versioning.domain.access import APPLICATION, Caller, Right, RightsChanged
from versioning.domain.config import Config
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.pins import pinned_versions
from versioning.editor.publish_requests import (
    ALONE,
    NO_OPTIONS,
    Options,
    PublishRequest,
    TakeDownRequest,
    VisibilityRequest,
)
from versioning.editor.resources import Resources
from versioning.models import Version, VersionedResource, Visibility, events
from versioning.models.guarded import unguarded
from versioning.serving.dependents import agents_that_show
from versioning.serving.grants import target_of
from versioning.serving.overlays import Versions
from versioning.sources.files import OverrideChanged

R = TypeVar("R", bound=VersionedResource)
V = TypeVar("V", bound=Callable[..., Any])

Fields = Mapping[str, Any]

NOTHING: Final[Fields] = MappingProxyType({})
ANY_ETAG: Final = "*"
CHANGES_WHAT_IS_LIVE: Final = frozenset({"published", "unpublished", "deleted"})
ENDS_READING: Final = frozenset({"deleted", "updated"})
_ATTEMPTS: Final = 3


@contextmanager
def changing(
    resources: Resources[R],
    resource_id: str,
    right: Right,
    by: Caller,
    expect: Collection[str] | None = None,
    *,
    include_deleted: bool = False,
    for_deletion: bool = False,
) -> Iterator[R]:
    """Lock a resource for this transaction and save it at the end.

    Raises `NotFound`, `Forbidden` without the right, `EditConflict` when `expect` names ETags and none of
    them is the resource's. `include_deleted` also accepts a resource of which only the history is left.
    """
    with resources.backend.locked(resource_id, by, for_deletion=for_deletion) as resource:
        if resource.gone and not include_deleted:
            raise NotFound
        with changing_locked(resources, resource, right, by, expect):
            yield resource


@contextmanager
def changing_locked(
    resources: Resources[R], resource: R, right: Right, by: Caller, expect: Collection[str] | None = None
) -> Iterator[None]:
    """Save a resource that this transaction has already locked, at the end; otherwise like `changing`."""
    by.require(right, resource.workspace_id)
    if expect is not None and ANY_ETAG not in expect and resource.etag not in expect:
        raise EditConflict(current_state(resource))
    revision, last_number = resource.revision, resource.last_number
    yield
    if resource.revision != revision:
        resources.backend.store(resource)
    if resource.last_number != last_number and settings.EDITOR_KEEP_VERSIONS:
        drop_old_versions(resources, resource, settings.EDITOR_KEEP_VERSIONS, by)


def retry_on_conflict(verb: V) -> V:
    """Repeat a verb when the override file or the caller's rights changed while it ran.

    The result is as if the verb had begun after that change.
    """

    @wraps(verb)
    def repeating(*args: Any, **named: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            try:
                return verb(*args, **named)
            except OverrideChanged:
                continue
            except RightsChanged as error:
                named["by"] = error.caller
        return verb(*args, **named)

    return cast("V", repeating)


def drop_old_versions(resources: Resources[R], resource: R, keep: int, by: Caller) -> int:
    """Delete the old versions of a locked resource that are not in use; return how many were deleted."""
    needed = {resource.active_version_id, resource.latest_version_id}
    if resource.active is not None and not resource.active.read_only:
        needed.add(cast("Version", resource.active).pk)
    needed.update(resource.labels.values_list("version_id", flat=True))
    needed.update(resource.versions.values_list("pk", flat=True)[:keep])
    needed |= pinned_versions(resource)
    old = resource.versions.exclude(pk__in=[pk for pk in needed if pk is not None])
    pruned = list(old.only("pk", "number", "author_id").order_by("number"))
    for version in pruned:
        record(resources, "versionDeleted", resource, by, version=version, pruned=True)
    if pruned:
        unguarded(old).delete()
    return len(pruned)


def current_state(resource: VersionedResource) -> dict[str, Any]:
    """Return the state that `EditConflict` reports: the two pointers, and who saved last."""
    latest = resource.latest
    return {
        "latestVersionId": latest.version_id,
        "activeVersionId": resource.active_id,
        "savedBy": latest.author_name,
        "savedAt": latest.created_at,
        "changedFields": latest.changed_fields,
    }


def merged_fields(fields: Fields | None, named: Fields) -> Fields:
    """Return the snapshot fields of a call by their JSON names, whether given as a mapping or as keywords."""
    return {**(fields or {}), **{to_camel(name): value for name, value in named.items()}}


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


def edit_record(
    resources: Resources[R],
    resource: R,
    metadata: Fields | None,
    visibility: str | None,
    by: Caller,
    *,
    options: Options = NO_OPTIONS,
) -> None:
    """Change the metadata and the visibility of a locked resource; with None the visibility stays.

    `options` are as in a `VisibilityRequest`.
    """
    target = None if visibility is None else target_before(resources, resource, "updated")
    before = resource.visibility_by(resources.code)
    fields: list[str] = []
    change: dict[str, Any] = {}
    if visibility is not None and _set_visibility(resources, resource, visibility, by, options):
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


def _set_visibility(
    resources: Resources[R], resource: R, visibility: str, by: Caller, options: Options
) -> bool:
    """Set who may read a resource outside its workspace; return whether that changed it.

    The gate is asked, because agents of other workspaces run a public agent. Code decides the visibility of
    an override.
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
    gate.check_visibility(
        VisibilityRequest(resource=resource, caller=by, visibility=visibility, options=options)
    )
    row.visibility = visibility
    # At once, and not at the end: what the same request publishes is judged by what is stored.
    stored: Any = unguarded(type(resource)._default_manager.filter(pk=resource.pk))
    stored.update(visibility=visibility)
    resource.touch()
    return True


def activate(
    resources: Resources[R],
    resource: R,
    version: Snapshot,
    by: Caller,
    *,
    together: Versions = ALONE,
    before: Versions = ALONE,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
    **detail: Any,
) -> None:
    """Make this version of a locked resource the active one, after the gate has passed it.

    `together`, `before`, `options` and `at`, by default now, are as in `PublishRequest`; `detail` goes into
    the entry of the log. Publishing the active version again has an effect if the caller may read something
    that it was not granted before, such as a sub-agent that was created later; then the gate is asked as for
    any other.
    """
    request = PublishRequest(
        resource=resource,
        version=version,
        caller=by,
        together=together,
        before=before,
        options=options,
        at=at or timezone.now(),
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
    together: Versions = ALONE,
    before: Versions = ALONE,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
    **detail: Any,
) -> None:
    """Stop serving any version of a locked resource, if the checks of the gate allow it.

    `together`, `before`, `options` and `at` are as in `activate`; `detail` goes into the entry of the log.
    """
    if resource.active_id is not None:
        request = TakeDownRequest(
            resource=resource,
            caller=by,
            options=options,
            together=together,
            before=before,
            at=at or timezone.now(),
        )
        gate.check_take_down(request)
        record(resources, "unpublished", resource, by, previous=resource.active_id, **detail)
        resources.backend.set_active(resource, None, by)
