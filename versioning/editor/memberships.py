"""Find the workspaces in which somebody has a right."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet

from versioning.domain.access import APPLICATION, Right
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, Workspace
from versioning.models.querysets import within


def workspaces_with(right: Right, *, by: Who = APPLICATION) -> QuerySet[Workspace]:
    """Return the workspaces in which the caller has the right."""
    return Workspace.objects.filter(within("pk", caller_of(by).scope(right)))


def with_member_counts(workspaces: QuerySet[Workspace]) -> QuerySet[Any]:
    """Annotate each workspace with the number of its members, as `member_count`."""
    return workspaces.annotate(member_count=Count("memberships"))


def memberships_beyond(right: Right, *, by: Who = APPLICATION) -> list[Membership]:
    """Return the caller's memberships whose role does not include the right."""
    by = caller_of(by)
    own = Membership.objects.filter(user_id=by.user_id).select_related("workspace")
    return [membership for membership in own if not by.may(right, membership.workspace_id)]
