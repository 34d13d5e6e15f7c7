"""The information that callers get about workspaces, their members and themselves."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.named import display_name
from versioning.domain.access import Caller, Right, Role
from versioning.domain.errors import Unauthorized
from versioning.models import ApiKey, Membership, Workspace
from versioning.models.accounts import accounts

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True, kw_only=True)
class WorkspaceOfCaller:
    """A workspace, and the caller's role in it."""

    workspace: Workspace
    role: Role


def as_seen(workspaces: Sequence[Workspace], caller: Caller) -> list[WorkspaceOfCaller]:
    """Return workspaces of the caller with the caller's roles."""
    return [
        WorkspaceOfCaller(workspace=workspace, role=role_in(workspace.pk, caller)) for workspace in workspaces
    ]


def role_in(workspace_id: str, caller: Caller) -> Role:
    """Return the caller's role in a workspace that the caller may read."""
    roles = {role for role in (caller.everywhere, caller.roles.get(workspace_id)) if role is not None}
    return max(roles, key=lambda role: role.rank)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A membership, with the details that members of the workspace see."""

    membership: Membership
    display_name: str
    service: bool
    last_sign_in_at: datetime.datetime | None


def members_as_seen(memberships: Sequence[Membership], caller: Caller) -> list[Member]:
    """Return members with their names; only admins get the times of their sign-ins."""
    return [
        Member(
            membership=membership,
            display_name=display_name(membership.user),
            service=membership.is_service,
            last_sign_in_at=membership.user.last_login
            if caller.may(Right.ADMINISTER, membership.workspace_id)
            else None,
        )
        for membership in memberships
    ]


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a caller is."""

    username: str
    display_name: str
    superuser: bool
    workspaces: Sequence[tuple[str, Role]]
    key: ApiKey | None


def identity_of(caller: Caller) -> Identity:
    """Return the caller's identity; raises `Unauthorized` if the account no longer exists."""
    user: User | None = accounts().filter(pk=caller.user_id).first()
    if user is None:
        raise Unauthorized("This account no longer exists.")
    readable = caller.scope(Right.READ)
    workspaces = Workspace.objects.all() if readable is None else Workspace.objects.filter(pk__in=readable)
    return Identity(
        username=user.get_username(),
        display_name=display_name(user),
        superuser=user.is_superuser,
        workspaces=[
            (pk, role_in(pk, caller)) for pk in workspaces.order_by("pk").values_list("pk", flat=True)
        ],
        key=None if caller.key_prefix is None else ApiKey.objects.get(prefix=caller.key_prefix),
    )
