"""What publishing a version would do, and which agents depend on a resource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from versioning.domain.access import APPLICATION
from versioning.domain.errors import Invalid, Issue
from versioning.domain.selectors import Status
from versioning.editor.reading import find, version
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import VersionedResource
from versioning.serving.dependents import Dependents, dependents_of, refuse_unpublished_blocks
from versioning.serving.resolution import Resolved

R = TypeVar("R", bound=VersionedResource)


def check_publish(
    resources: Resources[R], resource_id: str, version_id: str, *, by: Who = APPLICATION
) -> tuple[Resolved[R], Sequence[Issue]]:
    """Return the version with the warnings that publishing it would give, and the issues that prevent it."""
    by = caller_of(by)
    found = version(resources, resource_id, version_id, by=by)
    issues: Sequence[Issue] = ()
    try:
        refuse_unpublished_blocks(found.version.config, by)
    except Invalid as refusal:
        issues = refusal.issues
    return replace(found, warnings=resources.warnings(found.resource, found.version, by)), issues


def dependents(
    resources: Resources[R], resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
) -> Dependents:
    """Return the agents that refer directly to a resource; raises `NotFound` if the caller may not read it.

    A code-defined agent can have dependents even while nothing overrides it.
    """
    by = caller_of(by)
    if resource_id in resources.ownership.readable_by(by):
        target = resources.model(id=resource_id, workspace_id=resources.ownership.workspace_id)
    else:
        target = find(resources, resource_id, by=by)
    unstored = () if target.referred_by.fixed_by_code else resources.agents.unstored(APPLICATION)
    return dependents_of(target, resources.code, status=status, caller=by, unstored=unstored)
