"""Workspaces, and who is a member of them in which role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from versioning.access import APPLICATION, Caller, Role
from versioning.errors import Invalid
from versioning.models.audit import Action, AuditEntry

ROLE_CHOICES = [(role.value, role.value) for role in Role]


class Workspace(models.Model):
    """A team's room: agents and prompt blocks belong to one, people are members of many."""

    id = models.CharField(primary_key=True, max_length=200)
    name = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="workspace_id_not_empty", condition=~models.Q(id="")),
        ]

    def __str__(self) -> str:
        return self.name


class MembershipManager(models.Manager["Membership"]):
    """Changes to who is a member of what; each leaves an audit entry."""

    @transaction.atomic
    def grant(self, user: User, workspace: Workspace, role: Role, *, by: Caller = APPLICATION) -> Membership:
        """Give the user the role in the workspace, whatever it was before."""
        held = self.select_for_update().filter(user=user, workspace=workspace).first()
        if held is not None and held.role == role:
            return held
        membership, _ = self.update_or_create(user=user, workspace=workspace, defaults={"role": role})
        membership.note(by, before=held.role if held else None, after=role.value)
        return membership

    @transaction.atomic
    def end(self, membership: Membership, *, by: Caller = APPLICATION) -> None:
        """Make the user a stranger to the workspace."""
        membership.note(by, before=membership.role, after=None)
        membership.delete()

    def roles_of(self, user: User) -> dict[str, Role]:
        """Return the user's role by workspace id."""
        rows = self.filter(user=user).values_list("workspace_id", "role")
        return {workspace_id: Role(role) for workspace_id, role in rows}


class Membership(models.Model):
    """A user's role in a workspace."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=ROLE_CHOICES)

    objects = MembershipManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="membership_once_per_workspace", fields=["user", "workspace"]),
            models.CheckConstraint(
                name="membership_role_known", condition=models.Q(role__in=[role.value for role in Role])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.workspace_id}"

    def note(self, by: Caller, *, before: str | None, after: str | None) -> None:
        """Leave an audit entry about a change of the role; None is no membership."""
        AuditEntry.objects.record(
            Action.ROLE,
            by=by,
            workspace_id=self.workspace_id,
            target=self.user.get_username(),
            detail={"from": before, "to": after},
        )


def account(username: str) -> User | None:
    """Return the account of this name; None where there is none, or can be none."""
    # A name that no account can have is refused before a database that cannot hold it gets to see it.
    return User.objects.filter(username=username).first() if _fault_of(username) is None else None


def new_account(username: str) -> User:
    """Make an account that has no password yet; raises `Invalid` for a name that it cannot have."""
    fault = _fault_of(username)
    if fault is not None:
        raise Invalid.field("username", fault)
    return User.objects.create_user(username=username)


def _fault_of(username: str) -> str | None:
    try:
        User(username=username).clean_fields(exclude=["password"])
    except ValidationError as fault:
        return " ".join(fault.messages)
    return None


def caller_for(user: User) -> Caller:
    """Return the caller that a signed-in person is, with the roles of this moment."""
    roles = Membership.objects.roles_of(user)
    return caller_with(roles, is_superuser=user.is_superuser, username=user.get_username(), user_id=user.pk)


def caller_with(roles: Mapping[str, Role], *, is_superuser: bool, **who: Any) -> Caller:
    """Return the caller with these roles by workspace; a superuser may do everything."""
    return Caller(roles=roles, everywhere=Role.ADMIN if is_superuser else None, **who)
