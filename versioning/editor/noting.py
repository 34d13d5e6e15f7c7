"""The audit entries of the verbs."""

from __future__ import annotations

import uuid
from typing import Any

from versioning.domain.access import Caller
from versioning.models import Action, AuditEntry, VersionedResource


def note(
    action: Action,
    resource: VersionedResource,
    by: Caller,
    *,
    from_version: uuid.UUID | str | None = None,
    to_version: uuid.UUID | str | None = None,
    **detail: Any,
) -> None:
    """Write what was done to a resource into the audit log."""
    AuditEntry.objects.record(
        action,
        by=by,
        workspace_id=resource.workspace_id,
        target=f"{resource.kind.singular} {resource.pk}",
        from_version=from_version,
        to_version=to_version,
        detail=detail,
    )
