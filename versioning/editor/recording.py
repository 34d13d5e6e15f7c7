"""Write changes of resources to the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.editor.resources import Resources
from versioning.editor.targets import target_of
from versioning.models import VersionedResource, events
from versioning.serving.dependents import agents_that_show

R = TypeVar("R", bound=VersionedResource)

CHANGES_WHAT_IS_LIVE: Final = frozenset({"published", "unpublished", "deleted"})
ENDS_READING: Final = frozenset({"deleted", "updated"})


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
    """Log a change of a resource; `target` is the resource before the change, if the change affects that."""
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
    """Return the log's reference to a resource, with everybody who could read it until now."""
    by_label = what in ENDS_READING and resource.active_id is None
    released = by_label and resource.is_stored and resource.labels.filter(released=True).exists()
    return target_of(resource, resources.code, released=released)


def _shown_in(resources: Resources[R], resource: R) -> list[Target]:
    """Return the live agents that show the text of a resource to people who cannot read the resource."""
    if not resources.kind.is_shown:
        return []
    agents = agents_that_show(resource, resources.code, resources.agents.unstored(APPLICATION))
    return [target_of(agent, resources.code) for agent in agents]
