"""Administration: workspaces, their members and API keys.

Every verb requires the right to administer the workspace. Only admins have it, and admin is the highest role,
so people cannot raise their own role, or create a key with more rights than they have.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from editor_client.shared import ids
from editor_client.shared.configurations import check_id, id_of_new

from versioning.domain.access import APPLICATION, Action, Caller, Right, Role
from versioning.domain.errors import (
    Conflict,
    Forbidden,
    IdTaken,
    Invalid,
    KeyScope,
    Message,
    NotFound,
)
from versioning.domain.kinds import KINDS
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import ApiKey, Invitation, Membership, Workspace, events
from versioning.models.accounts import account, accounts, name_of
from versioning.models.querysets import within
from versioning.models.versioned import model_of
from versioning.models.workspaces import OWNED

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_NAME: Final = 200


class LastAdmin(Conflict):
    """Nobody would administer the workspace any more."""

    code = "last_admin"

    def __init__(self) -> None:
        super().__init__("The last admin of a workspace stays: make somebody else an admin first.")


class Workspaces:
    """What admins do with their workspaces."""

    def list(self, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION) -> QuerySet[Workspace]:
        """Return the workspaces in which the caller has the right, by name."""
        return workspaces_with(right, by=by).order_by("name", "id")

    def find(self, workspace_id: str, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION) -> Workspace:
        """Return a workspace; raises `NotFound` for strangers, `Forbidden` for members without the right."""
        by = caller_of(by)
        found = Workspace.objects.filter(pk=workspace_id).first() if _is_member(by, workspace_id) else None
        if found is None:
            raise NotFound
        by.require(right, workspace_id)
        return found

    @retry_on_conflict
    def create(self, workspace_id: str, name: str, *, by: Who = APPLICATION) -> Workspace:
        """Create a workspace with the caller as its first admin; only superusers may.

        An empty id is replaced by a slug of the name. Raises `Invalid`, and `IdTaken` if the id is taken.
        """
        by = caller_of(by)
        if by.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may create workspaces.")
        given = workspace_id or None
        workspace_id = id_of_new(given, {"name": _checked_name(name)})
        check_id(workspace_id, given=given)
        with events.transaction():
            workspace, is_new = Workspace.objects.make(workspace_id, _checked_name(name), by=by)
            if not is_new:
                raise IdTaken(Message("The id {id!r} is taken.", id=workspace_id))
            if by.user_id is not None:
                Membership.objects.grant(accounts().get(pk=by.user_id), workspace, Role.ADMIN, by=by)
        return workspace

    @retry_on_conflict
    def rename(self, workspace_id: str, name: str, *, by: Who = APPLICATION) -> Workspace:
        """Rename a workspace; its id stays the same."""
        by = caller_of(by)
        with self.administering(workspace_id, by) as workspace:
            Workspace.objects.rename(workspace, _checked_name(name), by=by)
            return workspace

    @retry_on_conflict
    def delete(self, workspace_id: str, *, by: Who = APPLICATION) -> None:
        """Delete a workspace, with its members, invitations and keys; only superusers may.

        Raises `Conflict` with the code `not_empty` while something else belongs to it.
        """
        by = caller_of(by)
        with events.transaction():
            self.find(workspace_id, by=by)
            if by.everywhere is not Role.ADMIN:
                raise Forbidden("Only superusers may delete workspaces.")
            require_whole(by)
            workspace = Workspace.objects.select_for_update().get(pk=workspace_id)
            owned = _what_belongs_to(workspace)
            if owned:
                message = Message("This workspace is not empty, it has {owned}.", owned=", ".join(owned))
                raise Conflict(message, code="not_empty")
            for membership in workspace.memberships.select_related("user"):
                Membership.objects.end(membership, by=by)
            for key in ApiKey.objects.filter(workspace=workspace, revoked_at=None).select_related("owner"):
                key.revoke(by=by)
            workspace.deleted_by = by
            workspace.delete()

    # Members

    def members(
        self, workspace_id: str, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION
    ) -> QuerySet[Membership]:
        """Return the members with their accounts, by name; callers need the right."""
        workspace = self.find(workspace_id, right=right, by=by)
        return workspace.memberships.select_related("user").order_by(name_of("user"))

    @retry_on_conflict
    def change_role(
        self, workspace_id: str, username: str, role: Role, *, by: Who = APPLICATION
    ) -> Membership:
        """Change the role of a member; raises `NotFound` if there is none, and `LastAdmin`."""
        by = caller_of(by)
        with self.administering(workspace_id, by) as workspace:
            member = self._member(workspace, username)
            self._set_role(workspace, member.user, role, by)
            return self._member(workspace, username)

    @retry_on_conflict
    def remove(self, workspace_id: str, username: str, *, by: Who = APPLICATION) -> None:
        """End a membership, and withdraw an invitation that could renew it.

        Keys of that person no longer reach the workspace. Raises `NotFound` if the person is not a member,
        and `LastAdmin`.
        """
        by = caller_of(by)
        with self.administering(workspace_id, by) as workspace:
            self._set_role(workspace, self._member(workspace, username).user, None, by)

    @retry_on_conflict
    def set_role(
        self, workspace_id: str, username: str, role: Role | None, *, by: Who = APPLICATION
    ) -> Role | None:
        """Set the role of an account, member or not, without an invitation; None ends the membership.

        Returns the previous role. Raises `NotFound` for an unknown workspace or account, and `LastAdmin`.
        Only superusers and the application may call this; admins of a workspace have to invite.
        """
        by = caller_of(by)
        if by.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may add members without an invitation.")
        with self.administering(workspace_id, by) as workspace:
            user = account(username)
            if user is None:
                raise NotFound
            return self._set_role(workspace, user, role, by)

    def _set_role(self, workspace: Workspace, user: User, role: Role | None, by: Caller) -> Role | None:
        """Set the role in a locked workspace and return the previous one."""
        member = workspace.memberships.filter(user=user).first()
        if role is not Role.ADMIN and member is not None:
            _refuse_last_admin(workspace, member)
        if role is not None:
            Membership.objects.grant(user, workspace, role, by=by)
        else:
            for invitation in workspace.invitations.pending().filter(username=user.get_username()):
                withdraw(invitation, by)
            if member is not None:
                Membership.objects.end(member, by=by)
        return Role(member.role) if member is not None else None

    # API keys

    def keys(self, workspace_id: str, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return the keys that reach a workspace: its own, and its members' unlimited keys."""
        workspace = self.find(workspace_id, by=by)
        everywhere = Q(workspace=None, owner__in=workspace.memberships.values("user"))
        return _newest_first(ApiKey.objects.filter(Q(workspace=workspace) | everywhere))

    def unlimited_keys(self, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return unlimited keys of members of workspaces that the caller administers, without duplicates."""
        by = caller_of(by)
        members = Membership.objects.filter(within("workspace", by.scope(Right.ADMINISTER)))
        return _newest_first(ApiKey.objects.filter(workspace=None, owner__in=members.values("user")))

    def reach(self, keys: Sequence[ApiKey], *, by: Who = APPLICATION) -> Mapping[int, Sequence[Workspace]]:
        """Return, by key, the workspaces that unlimited keys reach, as far as the caller administers them.

        Others are not named: only their own admins may learn about a person's membership. Takes one query.
        """
        members = Membership.objects.filter(
            within("workspace", caller_of(by).scope(Right.ADMINISTER)),
            user__in={key.owner_id for key in keys},
        )
        found: dict[Any, Any] = {}
        for member in members.select_related("workspace").order_by("workspace__name", "workspace_id"):
            found.setdefault(member.user_id, []).append(member.workspace)
        return {key.pk: found.get(key.owner_id, []) for key in keys}

    @retry_on_conflict
    def issue_key(
        self,
        workspace_id: str,
        *,
        name: str,
        role: Role,
        expires_at: datetime.datetime | None = None,
        by: Who = APPLICATION,
    ) -> tuple[ApiKey, str]:
        """Create a key of the caller for this workspace only; return it with its secret.

        Raises `Invalid` without a name or if it would have expired already, and `Forbidden` if the caller is
        not a person.
        """
        by = caller_of(by)
        with self.administering(workspace_id, by) as workspace:
            if by.user_id is None:
                raise Forbidden("An API key belongs to a person.")
            owner = accounts().get(pk=by.user_id)
            if expires_at is not None and expires_at <= timezone.now():
                raise Invalid.field("expiresAt", "must lie in the future")
            return ApiKey.objects.issue(
                owner, name=_checked_name(name), workspace=workspace, role=role, expires_at=expires_at, by=by
            )

    @retry_on_conflict
    def revoke_key(self, workspace_id: str, prefix: str, *, by: Who = APPLICATION) -> ApiKey:
        """Revoke a key; only its owner can revoke one that reaches beyond this workspace."""
        by = caller_of(by)
        with self.administering(workspace_id, by):
            key = next((key for key in self.keys(workspace_id, by=by) if key.prefix == prefix), None)
            if key is None:
                raise NotFound
            if not may_revoke(key, by):
                raise Forbidden(
                    "This key reaches other workspaces too; only its owner or a superuser can revoke it."
                )
            key.revoke(by=by)
            return key

    @contextmanager
    def administering(self, workspace_id: str, by: Caller) -> Iterator[Workspace]:
        """Lock the workspace, so that two admins cannot remove each other, and yield it.

        Raises `KeyScope` for a key that may not administer, or is limited to some ids.
        """
        with events.transaction():
            self.find(workspace_id, by=by)
            require_whole(by)
            workspace = Workspace.objects.locked().get(pk=workspace_id)
            if by.read_again is not None:
                # The check before the commit exempts admins who change their own rights.
                self.find(workspace_id, by=by.read_again())
            yield workspace

    def _member(self, workspace: Workspace, username: str) -> Membership:
        found = workspace.memberships.select_related("user").filter(user=account(username)).first()
        if found is None:
            raise NotFound
        return found


def require_whole(by: Caller) -> None:
    """Raise `KeyScope` for a key that may not administer, or may do so for resources with some ids only."""
    by.require_action(Action.ADMIN)
    if by.id_prefix:
        raise KeyScope(Action.ADMIN.value, id_prefix=by.id_prefix)


def _what_belongs_to(workspace: Workspace) -> list[str]:
    """Return what keeps a workspace from being deleted, in the plural."""
    found = [
        str(model._meta.verbose_name_plural)
        for model in (*map(model_of, KINDS), *OWNED)
        if model._default_manager.filter(workspace=workspace).exists()
    ]
    is_of_code = workspace.pk == settings.EDITOR_CODE_WORKSPACE
    return [*found, "the agents that code defines"] if is_of_code else found


def withdraw(invitation: Invitation, by: Caller) -> None:
    """Withdraw an invitation: its link no longer works, and the log records it."""
    invitation.record("withdrawn", by)
    invitation.delete()


def may_revoke(key: ApiKey, by: Caller) -> bool:
    """Return whether the caller may revoke a key, wherever it reaches."""
    if key.workspace_id is not None:
        return by.may(Right.ADMINISTER, key.workspace_id)
    return by.everywhere is Role.ADMIN or key.owner_id == by.user_id


def _newest_first(keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    return keys.select_related("owner").order_by("-created_at", "-pk")


def _is_member(by: Caller, workspace_id: str) -> bool:
    # An impossible id is refused here, before it reaches a database that cannot represent it.
    return ids.problem(workspace_id) is None and by.may(Right.READ, workspace_id)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or not name.isprintable() or len(name) > MAX_NAME:
        problem = Message("must be a line of at most {limit} visible characters", limit=MAX_NAME)
        raise Invalid.field("name", problem if name else "is required")
    return name


def _refuse_last_admin(workspace: Workspace, member: Membership) -> None:
    """Raise `LastAdmin` if the workspace would be left without an admin who can sign in."""
    others = workspace.memberships.filter(role=Role.ADMIN, user__is_active=True).exclude(pk=member.pk)
    if member.role == Role.ADMIN and not others.exists():
        raise LastAdmin


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
