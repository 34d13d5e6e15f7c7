"""Administration: workspaces, their members, the API keys that reach them, and the audit log.

Every verb asks for the right to administer the workspace. Whoever has it is an admin there, and admin
is the highest role; so nobody can raise the own role, nor make a key that may do more than they may.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from versioning import ids
from versioning.access import APPLICATION, Caller, Right, Role
from versioning.editor.reading import Who, caller_of
from versioning.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.models import ApiKey, AuditEntry, Membership, Workspace
from versioning.models.workspaces import account, new_account

MAX_NAME: Final = 200


class Invitations(PasswordResetTokenGenerator):
    """The secrets with which an invited person chooses a password, once.

    One is void as soon as a password is chosen or the account joins or leaves any workspace: who
    invited somebody here must not be able to sign in as them elsewhere.
    """

    key_salt = "versioning.editor.workspaces.Invitations"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        workspaces = sorted(Membership.objects.filter(user_id=user.pk).values_list("workspace_id", flat=True))
        return f"{super()._make_hash_value(user, timestamp)}\n{workspaces}"


INVITATIONS: Final = Invitations()


class Workspaces:
    """What admins do with their workspaces."""

    def list(self, *, by: Who = APPLICATION) -> QuerySet[Workspace]:
        """Return the workspaces that the caller administers, by name."""
        scope = caller_of(by).scope(Right.ADMINISTER)
        found = Workspace.objects.order_by("name", "id")
        return found if scope is None else found.filter(pk__in=scope)

    def find(self, workspace_id: str, *, by: Who = APPLICATION) -> Workspace:
        """Return a workspace; raises `NotFound` to strangers and `Forbidden` to its other members."""
        by = caller_of(by)
        found = Workspace.objects.filter(pk=workspace_id).first() if _is_member(by, workspace_id) else None
        if found is None:
            raise NotFound
        by.require(Right.ADMINISTER, workspace_id)
        return found

    def create(self, workspace_id: str, name: str, *, by: Who = APPLICATION) -> Workspace:
        """Make a workspace, of which the caller becomes the first admin; only superusers may.

        Raises `Invalid`, and `IdTaken` when there is one with this id.
        """
        by = caller_of(by)
        if by.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers make workspaces.")
        fault = ids.fault(workspace_id) if workspace_id else "is required"
        if fault is not None:
            raise Invalid.field("id", fault)
        with transaction.atomic():
            workspace, is_new = Workspace.objects.get_or_create(
                id=workspace_id, defaults={"name": _checked_name(name)}
            )
            if not is_new:
                raise IdTaken(f"The id {workspace_id!r} is taken.")
            if by.user_id is not None:
                Membership.objects.grant(User.objects.get(pk=by.user_id), workspace, Role.ADMIN, by=by)
        return workspace

    def rename(self, workspace_id: str, name: str, *, by: Who = APPLICATION) -> Workspace:
        """Give a workspace another name; its id stays."""
        with self._administering(workspace_id, caller_of(by)) as workspace:
            workspace.name = _checked_name(name)
            workspace.save(update_fields=["name"])
            return workspace

    # Members

    def members(self, workspace_id: str, *, by: Who = APPLICATION) -> QuerySet[Membership]:
        """Return who is a member, with the accounts, by name."""
        workspace = self.find(workspace_id, by=by)
        return workspace.memberships.select_related("user").order_by("user__username")

    def invite(
        self, workspace_id: str, username: str, role: Role, *, by: Who = APPLICATION
    ) -> tuple[Membership, bool]:
        """Make somebody a member, with an account where there is none, and say whether it is new.

        Raises `Invalid` for a name that no account can have, and for a member.
        """
        by = caller_of(by)
        with self._administering(workspace_id, by) as workspace:
            user = account(username)
            is_new = user is None
            if user is None:
                user = new_account(username)
            if workspace.memberships.filter(user=user).exists():
                raise Invalid.field("username", "is a member already: change the role in the list")
            if not user.is_active:
                raise Invalid.field("username", "belongs to an account that is switched off")
            return Membership.objects.grant(user, workspace, role, by=by), is_new

    def invitation(self, workspace_id: str, username: str, *, by: Who = APPLICATION) -> tuple[User, str]:
        """Return a member and the secret with which they choose their first password.

        Only for somebody who never signed in, and whose every workspace the caller administers:
        otherwise it would be a way into the rights of somebody else. Raises `Invalid` for others.
        """
        by = caller_of(by)
        user = self._member(self.find(workspace_id, by=by), username).user
        others = user.memberships.exclude(workspace_id=workspace_id).values_list("workspace_id", flat=True)
        if user.is_superuser or not all(by.may(Right.ADMINISTER, other) for other in others):
            raise Invalid.field("username", "has rights beyond your workspaces: ask a superuser")
        if user.last_login is not None or user.has_usable_password():
            raise Invalid.field("username", "has a password already")
        return user, INVITATIONS.make_token(user)

    def change_role(
        self, workspace_id: str, username: str, role: Role, *, by: Who = APPLICATION
    ) -> Membership:
        """Give a member another role; raises `Invalid` for the last admin."""
        by = caller_of(by)
        with self._administering(workspace_id, by) as workspace:
            member = self._member(workspace, username)
            if role is not Role.ADMIN:
                _refuse_last_admin(workspace, member)
            return Membership.objects.grant(member.user, workspace, role, by=by)

    def remove(self, workspace_id: str, username: str, *, by: Who = APPLICATION) -> None:
        """End a membership; raises `Invalid` for the last admin. Keys of that person reach no further."""
        by = caller_of(by)
        with self._administering(workspace_id, by) as workspace:
            member = self._member(workspace, username)
            _refuse_last_admin(workspace, member)
            Membership.objects.end(member, by=by)

    # API keys

    def keys(self, workspace_id: str, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return the keys that reach a workspace: its own, and those that reach all of a member's."""
        workspace = self.find(workspace_id, by=by)
        everywhere = Q(workspace=None, owner__memberships__workspace=workspace)
        return (
            ApiKey.objects.filter(Q(workspace=workspace) | everywhere)
            .select_related("owner")
            .order_by("-created_at", "-pk")
        )

    def issue_key(
        self,
        workspace_id: str,
        *,
        name: str,
        role: Role,
        expires_at: datetime.datetime | None = None,
        by: Who = APPLICATION,
    ) -> tuple[ApiKey, str]:
        """Make a key of the caller's for this workspace alone and return it with its secret text.

        Raises `Invalid` without a name or with a past end, `Forbidden` to whoever is no person.
        """
        by = caller_of(by)
        with self._administering(workspace_id, by) as workspace:
            if by.user_id is None:
                raise Forbidden("An API key belongs to a person.")
            owner = User.objects.get(pk=by.user_id)
            if expires_at is not None and expires_at <= timezone.now():
                raise Invalid.field("expiresAt", "must lie in the future")
            return ApiKey.objects.issue(
                owner, name=_checked_name(name), workspace=workspace, role=role, expires_at=expires_at, by=by
            )

    def revoke_key(self, workspace_id: str, prefix: str, *, by: Who = APPLICATION) -> ApiKey:
        """Make a key useless; one that reaches further than this workspace is its owner's to revoke."""
        by = caller_of(by)
        with self._administering(workspace_id, by):
            key = next((key for key in self.keys(workspace_id, by=by) if key.prefix == prefix), None)
            if key is None:
                raise NotFound
            if not may_revoke(key, by):
                raise Forbidden("This key reaches other workspaces too; its owner or a superuser revokes it.")
            key.revoke(by=by)
            return key

    # The audit log

    def audit(self, *, by: Who = APPLICATION) -> QuerySet[AuditEntry]:
        """Return what happened in the workspaces that the caller administers, newest first."""
        scope = caller_of(by).scope(Right.ADMINISTER)
        entries = AuditEntry.objects.all()
        return entries if scope is None else entries.filter(workspace_id__in=scope)

    @contextmanager
    def _administering(self, workspace_id: str, by: Caller) -> Iterator[Workspace]:
        """Give out a workspace with its row locked, so that two admins cannot remove each other."""
        with transaction.atomic():
            self.find(workspace_id, by=by)
            yield Workspace.objects.select_for_update().get(pk=workspace_id)

    def _member(self, workspace: Workspace, username: str) -> Membership:
        found = workspace.memberships.select_related("user").filter(user=account(username)).first()
        if found is None:
            raise NotFound
        return found


def may_revoke(key: ApiKey, by: Caller) -> bool:
    """Say whether a key is the caller's to revoke, wherever it reaches."""
    if key.workspace_id is not None:
        return by.may(Right.ADMINISTER, key.workspace_id)
    return by.everywhere is Role.ADMIN or key.owner_id == by.user_id


def _is_member(by: Caller, workspace_id: str) -> bool:
    # An impossible id is refused here, before a database that cannot hold it gets to see it.
    return ids.fault(workspace_id) is None and by.may(Right.READ, workspace_id)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or not name.isprintable() or len(name) > MAX_NAME:
        fault = "is required" if not name else f"must be a line of at most {MAX_NAME} visible characters"
        raise Invalid.field("name", fault)
    return name


def _refuse_last_admin(workspace: Workspace, member: Membership) -> None:
    """Raise `Invalid` when nobody else who can sign in would administer the workspace."""
    others = workspace.memberships.filter(role=Role.ADMIN, user__is_active=True).exclude(pk=member.pk)
    if member.role == Role.ADMIN and not others.exists():
        raise Invalid.field(
            "role",
            "is the last admin of this workspace: make somebody else an admin first",
            code="last_admin",
        )
