"""What publishing a version would change, and which agents depend on a resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from editor_client.shared.configurations import message_or

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Invalid
from versioning.domain.selectors import Status
from versioning.editor.reading import find, known_fields
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent, VersionedResource
from versioning.serving.dependents import Dependents, count_of_dependents, dependents_of

R = TypeVar("R", bound=VersionedResource)


def dependents(
    resources: Resources[R], resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
) -> Dependents:
    """Return the agents that refer directly to a resource; raises `NotFound` if the caller may not read it.

    A code-defined agent can have dependents even while nothing overrides it.
    """
    by = caller_of(by)
    target, unstored = _target(resources, resource_id, by)
    return dependents_of(target, resources.code, status=status, caller=by, unstored=unstored)


def dependents_count(resources: Resources[R], resource_id: str, *, by: Who = APPLICATION) -> int:
    """Return the number of published agents among the dependents, hidden ones included."""
    by = caller_of(by)
    target, unstored = _target(resources, resource_id, by)
    return count_of_dependents(target, resources.code, caller=by, unstored=unstored)


def _target(resources: Resources[R], resource_id: str, by: Caller) -> tuple[R, Sequence[Agent]]:
    """Return the resource, and the overrides stored only in files, which may refer to it."""
    if resource_id in resources.ownership.readable_by(by):
        target = resources.model(id=resource_id, workspace_id=resources.ownership.workspace_id)
    else:
        target = find(resources, resource_id, by=by)
    may_change = target.referred_by is not None and not target.referred_by.fixed_by_code
    return target, () if not may_change else resources.agents.unstored(APPLICATION)


def require_saving(resources: Resources[Agent], resource_id: str, *, by: Who = APPLICATION) -> None:
    """Raise `NotFound` or `Forbidden` unless the caller may save the agent or an override of it."""
    by = caller_of(by)
    if resource_id in resources.ownership.readable_by(by):
        by.require(Right.SAVE, resources.ownership.workspace_id)
    else:
        by.require(Right.SAVE, find(resources, resource_id, by=by).workspace_id)


def request_change(
    resources: Resources[Agent],
    resource_id: str,
    fields: Mapping[str, Any] | None = None,
    *,
    message: str | None = None,
    by: Who = APPLICATION,
) -> NoReturn:
    """Propose an override to the repository that holds it, instead of publishing it here.

    Raises what `require_saving` raises, `Invalid` for problems of the fields or the message, and otherwise
    always `Invalid` with the code `no_source_control`: no repository can be configured yet.
    """
    require_saving(resources, resource_id, by=by)
    known_fields(resources, fields or {})
    message_or("", message)
    raise Invalid.field("id", "is kept in no repository that takes requests", code="no_source_control")
