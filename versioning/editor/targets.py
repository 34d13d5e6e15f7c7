"""The log's reference to a resource, including who could read it before a change."""

from __future__ import annotations

from typing import Any

from versioning.domain.events import Reach, Target
from versioning.domain.overrides import IN_CODE
from versioning.domain.registry import Registry
from versioning.models import VersionedResource, Visibility


def target_of(resource: VersionedResource, code: Registry, *, released: bool = False) -> Target:
    """Return the log's reference to a resource; call it before the change.

    `released` says that the change is about a released label, which was readable until now. An override has
    the identity of the code-defined agent, which remains when the override is deleted.
    """
    in_code = resource.kind.in_code and code.overridden_by(resource.pk, resource.workspace_id) is not None
    is_live = in_code or resource.active_id is not None or released
    reach = Reach.MEMBERS if is_live else Reach.EDITORS
    if is_live and resource.visibility_by(code) == Visibility.PUBLIC:
        reach = Reach.EVERYBODY
    return Target(
        kind=resource.kind.slug,
        id=resource.pk,
        identity=IN_CODE if in_code else resource.uuid,
        workspace_id=resource.workspace_id,
        reach=reach,
    )


def change_of(before: Any, after: Any) -> dict[str, Any]:
    """Return the detail of a log entry about a value that changed."""
    return {"from": before, "to": after}
