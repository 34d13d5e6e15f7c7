"""Why a version cannot be published at this moment, in sentences: what the gate would answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from studio.limits import MAX_NOTES
from studio.translation import translated
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.models import VersionedResource

_ANY_REASON: Final = "…"
"""What stands for a reason while nobody has given one: whether an admin may bypass does not depend on it."""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """What stands in the way of a version."""

    reasons: Sequence[str]
    """A sentence each, as many as a page shows."""
    more: int = 0
    """How many reasons there are besides."""

    @classmethod
    def of(cls, error: VersioningError) -> Self:
        """Return a refusal of the gate as a page says it."""
        found = reasons(error)
        return cls(reasons=found[:MAX_NOTES], more=len(found[MAX_NOTES:]))


def reasons(error: VersioningError | None) -> list[str]:
    """Return an error of the domain as sentences in the language of the page; none for None."""
    if error is None:
        return []
    if isinstance(error, Invalid):
        sentences = [translated(issue.message) for issue in error.issues]
        return [f"{message[:1].upper()}{message[1:]}." for message in sentences]
    return [translated(error.summary)]


def obstacle_to(resource: VersionedResource, version: Snapshot | None, caller: Caller) -> Obstacle | None:
    """Return what the gate has against a version; None if it would let it pass.

    Of what is live already, and for who may not publish, nothing is asked.
    """
    if version is None or version.version_id == resource.active_id:
        return None
    if not caller.may(Right.PUBLISH, resource.workspace_id):
        return None
    request = gate.PublishRequest(resource=resource, version=version, caller=caller)
    error = gate.refusal(request, get_editor().code)
    return None if error is None else Obstacle.of(error)


def may_bypass(resource: VersionedResource, version: Snapshot, caller: Caller) -> bool:
    """Say whether the gate would let a refused version pass if the caller gave a reason."""
    if not caller.may(Right.ADMINISTER, resource.workspace_id):
        return False
    options = gate.with_reason(_ANY_REASON)
    request = gate.PublishRequest(resource=resource, version=version, caller=caller, options=options)
    return gate.refusal(request, get_editor().code) is None
