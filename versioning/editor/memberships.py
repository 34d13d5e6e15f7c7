"""Who is a member of which workspaces, and as what: queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, QuerySet

from versioning.domain.access import APPLICATION, Right, Role
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, Workspace
from versioning.models.accounts import name_of
from versioning.models.querysets import within


def workspaces_with(right: Right, *, by: Who = APPLICATION) -> QuerySet[Workspace]:
    """Return the workspaces in which the caller has the right."""
    return Workspace.objects.filter(within("pk", caller_of(by).scope(right)))


def is_last_admin(member: Membership) -> bool:
    """Return whether the workspace would be left without an admin who can sign in."""
    admins = Membership.objects.filter(
        workspace_id=member.workspace_id, role=Role.ADMIN, user__is_active=True, is_service=False
    )
    return member.role == Role.ADMIN and not admins.exclude(pk=member.pk).exists()


def with_member_counts(workspaces: QuerySet[Workspace]) -> QuerySet[Any]:
    """Annotate each workspace with the number of its members, as `member_count`."""
    return workspaces.annotate(member_count=Count("memberships"))


def admins_of(workspace_ids: Iterable[str], *, by: Who = APPLICATION) -> dict[str, list[str]]:
    """Return the user names of the admins of those workspaces that the caller may read, by id."""
    by = caller_of(by)
    readable = [workspace_id for workspace_id in workspace_ids if by.may(Right.READ, workspace_id)]
    admins = Membership.objects.filter(workspace__in=readable, role=Role.ADMIN, user__is_active=True)
    found: dict[str, list[str]] = {}
    name = name_of("user")
    for workspace_id, username in admins.order_by(name).values_list("workspace_id", name):
        found.setdefault(workspace_id, []).append(username)
    return found


def memberships_beyond(right: Right, *, by: Who = APPLICATION) -> list[Membership]:
    """Return the caller's memberships whose role does not include the right."""
    by = caller_of(by)
    own = Membership.objects.filter(user_id=by.user_id).select_related("workspace")
    return [membership for membership in own if not by.may(right, membership.workspace_id)]
