"""Workspaces, and their members with their roles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, models
from django.utils import timezone

from versioning.domain.access import APPLICATION, Caller, Role, Via
from versioning.domain.errors import Forbidden, Message, Unauthorized
from versioning.models import events
from versioning.models.statements import prepared_cursor, quoted_table

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Origin(models.TextChoices):
    """The origin of a membership."""

    MANUAL = "manual"
    """An invitation, or an admin who has changed the role since."""
    DIRECTORY = "directory"
    """The groups of the company's directory, which can also end it."""


ROLE_CHOICES = [(role.value, role.value) for role in Role]


class WorkspaceManager(models.Manager["Workspace"]):
    """Creating and renaming workspaces; each change is logged."""

    def with_lock(self) -> models.QuerySet[Workspace]:
        """Lock the rows against other admins; additions to a workspace are not blocked."""
        return self.select_for_update(no_key=True)

    @events.transaction()
    def make(self, workspace_id: str, name: str, *, by: Caller = APPLICATION) -> tuple[Workspace, bool]:
        """Return the workspace with this id, creating it if it is missing, and whether it was created."""
        workspace, is_new = self.get_or_create(id=workspace_id, defaults={"name": name})
        if is_new:
            workspace.record("created", by, name=name)
        return workspace, is_new

    @events.transaction()
    def rename(self, workspace: Workspace, name: str, *, by: Caller = APPLICATION) -> None:
        before = workspace.name
        if name == before:
            return
        workspace.name = name
        workspace.save(update_fields=["name"])
        workspace.record("updated", by, fields=["name"], **{"from": before, "to": name})


class Workspace(models.Model):
    """A team's workspace: agents and prompt blocks belong to one, people can be members of several."""

    id = models.CharField(primary_key=True, max_length=200)
    name = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    deleted_by: Caller = APPLICATION
    """The caller who deletes it."""

    objects = WorkspaceManager()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(name="workspace_id_not_empty", condition=~models.Q(id="")),
        ]

    def __str__(self) -> str:
        return self.name

    def record(self, event: str, by: Caller, **detail: Any) -> None:
        events.record(f"workspace.{event}", by=by, workspace_id=self.pk, **detail)


OWNED: list[type[models.Model]] = []
"""The models whose rows prevent the deletion of their workspace, besides the kinds of resources."""


def register_owned(model: type[models.Model]) -> None:
    """Prevent the deletion of workspaces while rows of this model refer to them by `workspace`."""
    if not hasattr(model, "_meta"):
        raise TypeError(f"keeps_workspaces takes models, and {model!r} is none")
    OWNED.append(model)


class MembershipManager(models.Manager["Membership"]):
    """Changes of memberships; each is logged."""

    def service_accounts(self, accounts: Collection[Any]) -> frozenset[Any]:
        """Return the keys of those accounts that are service accounts."""
        memberships = self.filter(user__in=accounts, is_service=True)
        return frozenset(memberships.values_list("user_id", flat=True))

    @events.transaction()
    def grant(
        self,
        user: User,
        workspace: Workspace,
        role: Role,
        *,
        by: Caller = APPLICATION,
        origin: Origin = Origin.MANUAL,
        is_service: bool = False,
        detail: Mapping[str, Any] | None = None,
    ) -> Membership:
        """Give the user the role in the workspace, replacing any other.

        `origin` determines who maintains the membership; `is_service` marks a new one of a service account;
        `detail` is added to the log entry.
        """
        existing = self.select_for_update().filter(user=user, workspace=workspace).first()
        if existing is not None and (existing.role, existing.origin) == (role, origin):
            return existing
        defaults = {"role": role, "origin": origin}
        create_defaults = {**defaults, "is_service": is_service}
        membership, _ = self.update_or_create(
            user=user, workspace=workspace, defaults=defaults, create_defaults=create_defaults
        )
        if existing is not None and existing.role == role:
            events.touch()
            return membership
        membership.record(by, before=existing.role if existing else None, after=role.value, detail=detail)
        return membership

    @events.transaction()
    def end(self, membership: Membership, *, by: Caller = APPLICATION) -> None:
        membership.ended_by = by
        membership.delete()

    def roles_of(self, user: User) -> dict[str, Role]:
        of_user: Any = self.model._meta.get_field("user")
        with prepared_cursor() as cursor:
            cursor.execute(_roles_statement(), [of_user.get_db_prep_value(user.pk, connection)])
            return {workspace_id: Role(role) for workspace_id, role in cursor.fetchall()}


@cache
def _roles_statement() -> str:
    """Return the statement, built once, that selects a person's workspaces and roles."""
    name = connection.ops.quote_name
    fields: list[Any] = [Membership._meta.get_field(field) for field in ("workspace", "role", "user")]
    workspace, role, user = (name(field.column) for field in fields)
    # Only names are inserted.
    return f"SELECT {workspace}, {role} FROM {quoted_table(Membership)} WHERE {user} = %s"  # noqa: S608


class Membership(models.Model):
    """A user's role in a workspace."""

    # No related name on accounts: the project's user model may have a member with that name.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=ROLE_CHOICES)
    origin = models.CharField(max_length=16, choices=Origin, default=Origin.MANUAL, db_default=Origin.MANUAL)
    since = models.DateTimeField(null=True, default=timezone.now, editable=False)
    """Null for memberships from before this was stored."""
    is_service = models.BooleanField(default=False, db_default=False)
    """Whether the account is a service account, which is a member of this workspace only."""

    ended_by: Caller = APPLICATION
    """The caller who deletes it; None if the account was deleted."""

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

    def record(
        self,
        by: Caller,
        *,
        before: str | None,
        after: str | None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a change of the role; None stands for no membership."""
        event = "added" if before is None else "roleChanged" if after is not None else "removed"
        change: dict[str, Any] = {"from": before, "to": after, **(detail or {})}
        username = self.user.get_username()
        events.record(f"member.{event}", by=by, workspace_id=self.workspace_id, username=username, **change)


def record_end_of_membership(instance: Membership, **_signal: Any) -> None:
    """Record that a person is no longer a member."""
    with events.transaction():
        instance.record(instance.ended_by, before=instance.role, after=None)


def record_deletion_of_workspace(instance: Workspace, **_signal: Any) -> None:
    with events.transaction():
        instance.record("deleted", instance.deleted_by, name=instance.name)


def caller_for(user: User, via: Via = Via.PYTHON) -> Caller:
    """Return the caller for a person, with the current roles.

    The account may have been read long ago, so its rights are read again before any change is committed.
    """
    roles = Membership.objects.roles_of(user)
    identity = {"username": user.get_username(), "user_id": user.pk, "via": via}
    read_again = partial(_caller_now, user, via)
    return caller_with(roles, is_superuser=user.is_superuser, read_again=read_again, **identity)


def caller_of_author(author: User | None, name: str, via: Via) -> Caller:
    """Return the caller for the author of work that runs later, with the current roles.

    `name` is the user name that was stored with it. Raises `Forbidden` if the account was deleted or
    deactivated.
    """
    if author is None or not author.is_active:
        raise Forbidden(Message("The account {name!r} is gone, or switched off.", name=name))
    return caller_for(author, via)


def _caller_now(user: User, via: Via) -> Caller:
    """Return the caller for the stored account; raises `Unauthorized` if it no longer exists."""
    stored = get_user_model()._default_manager.filter(pk=user.pk).first()
    if stored is None or (user.is_active and not stored.is_active):
        raise Unauthorized("This account is switched off.")
    return caller_for(stored, via)


def caller_with(roles: Mapping[str, Role], *, is_superuser: bool, **identity: Any) -> Caller:
    """Return the caller with these roles by workspace; a superuser has all rights."""
    return Caller(roles=roles, everywhere=Role.ADMIN if is_superuser else None, **identity)
