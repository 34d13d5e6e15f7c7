"""Adding versions to a locked resource, with their entries in the log."""

from __future__ import annotations

from typing import Any, TypeVar

from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.snapshots import RESTORED, Snapshot, reference_to
from versioning.editor.inputs import Fields, message_or
from versioning.editor.recording import record
from versioning.editor.resources import Resources
from versioning.models import Version, VersionedResource

R = TypeVar("R", bound=VersionedResource)


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
    """Add a version after whichever has the highest number."""
    newest = resource.versions.first() if resource.is_stored else None
    changed = resources.kind.schema.changed(newest.config if newest else {}, config)
    return append(resources, resource, config, changed, message=message, by=by)


def append_draft(
    resources: Resources[R], resource: R, draft: Snapshot, change: Fields, *, after: Snapshot, by: Caller
) -> None:
    """Let a draft follow a version that was published past it, with that version's change in it.

    What is wrong with a draft by the rules of today keeps nothing from being published, nor itself.
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
