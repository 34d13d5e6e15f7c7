"""Administration: workspaces and their members.

Every verb requires the right to administer the workspace. Only admins have it, and admin is the highest role,
so people cannot raise their own role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from editor_client.shared import ids
from editor_client.shared.configurations import check_id, id_of_new

from versioning.domain.access import APPLICATION, Action, Caller, Right, Role
from versioning.domain.errors import Conflict, Forbidden, IdTaken, Invalid, KeyScope, Message, NotFound
from versioning.domain.kinds import KINDS
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import ApiKey, Invitation, Membership, Workspace, events
from versioning.models.accounts import account, accounts, checked_new_name, new_account, username_lookup
from versioning.models.querysets import within
from versioning.models.text_keys import ByName
from versioning.models.versioned import find_model
from versioning.models.workspaces import OWNED


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


def list_admins(workspace_ids: Iterable[str], *, by: Who = APPLICATION) -> dict[str, list[str]]:
    """Return the user names of the admins of those workspaces that the caller may read, by id."""
    by = caller_of(by)
    readable = [workspace_id for workspace_id in workspace_ids if by.may(Right.READ, workspace_id)]
    admins = Membership.objects.filter(workspace__in=readable, role=Role.ADMIN, user__is_active=True)
    names_by_workspace: dict[str, list[str]] = {}
    name = username_lookup("user")
    for workspace_id, username in admins.order_by(name).values_list("workspace_id", name):
        names_by_workspace.setdefault(workspace_id, []).append(username)
    return names_by_workspace


def memberships_beyond(right: Right, *, by: Who = APPLICATION) -> list[Membership]:
    """Return the caller's memberships whose role does not include the right."""
    by = caller_of(by)
    own = Membership.objects.filter(user_id=by.user_id).select_related("workspace")
    return [membership for membership in own if not by.may(right, membership.workspace_id)]


if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_NAME: Final = 200


class LastAdmin(Conflict):
    """The workspace would have no admin any more."""

    code = "last_admin"

    def __init__(self) -> None:
        super().__init__("The last admin of a workspace cannot be removed: make someone else an admin first.")


class Workspaces:
    """The verbs of admins for their workspaces."""

    def list(self, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION) -> QuerySet[Workspace]:
        """Return the workspaces in which the caller has the right, by name."""
        return workspaces_with(right, by=by).order_by(ByName("name"), "id")

    def find(self, workspace_id: str, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION) -> Workspace:
        """Return a workspace; raises `NotFound` for strangers, `Forbidden` for members without the right."""
        by = caller_of(by)
        # An impossible id is refused here, before it reaches a database that cannot represent it.
        is_member = ids.problem(workspace_id) is None and by.may(Right.READ, workspace_id)
        workspace = Workspace.objects.filter(pk=workspace_id).first() if is_member else None
        if workspace is None:
            raise NotFound
        by.require(right, workspace_id)
        return workspace

    @retry_on_conflict
    def create(self, workspace_id: str, name: str, *, by: Who = APPLICATION) -> Workspace:
        """Create a workspace with the caller as its first admin; only superusers may.

        An empty id is replaced by a slug of the name. Raises `Invalid`, and `IdTaken` if the id is taken.
        """
        by = caller_of(by)
        if by.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may create workspaces.")
        requested_id = workspace_id or None
        workspace_id = id_of_new(requested_id, {"name": checked_name(name)})
        check_id(workspace_id, given=requested_id)
        with events.transaction():
            workspace, is_new = Workspace.objects.make(workspace_id, checked_name(name), by=by)
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
            Workspace.objects.rename(workspace, checked_name(name), by=by)
            return workspace

    @retry_on_conflict
    def delete(self, workspace_id: str, *, by: Who = APPLICATION) -> None:
        """Delete a workspace, with its members, invitations and keys; only superusers may.

        Raises `Conflict` with the code `not_empty` while other things belong to it.
        """
        by = caller_of(by)
        with events.transaction():
            self.find(workspace_id, by=by)
            if by.everywhere is not Role.ADMIN:
                raise Forbidden("Only superusers may delete workspaces.")
            require_whole(by)
            workspace = Workspace.objects.select_for_update().filter(pk=workspace_id).first()
            if workspace is None:
                raise NotFound
            owned = _what_belongs_to(workspace)
            if owned:
                message = Message("This workspace is not empty, it has {owned}.", owned=", ".join(owned))
                raise Conflict(message, code="not_empty")
            for membership in workspace.memberships.select_related("user"):
                _end(membership, by)
            for key in ApiKey.objects.filter(workspace=workspace, revoked_at=None).select_related("owner"):
                key.revoke(by=by)
            workspace.deleted_by = by
            workspace.delete()

    # Members

    def members(
        self, workspace_id: str, *, right: Right = Right.ADMINISTER, by: Who = APPLICATION
    ) -> QuerySet[Membership]:
        """Return the members with their accounts, by name; callers need the right to administer."""
        workspace = self.find(workspace_id, right=right, by=by)
        return workspace.memberships.select_related("user").order_by(ByName(username_lookup("user")), "pk")

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
        if role is not Role.ADMIN and member is not None and is_last_admin(member):
            raise LastAdmin
        if role is not None:
            Membership.objects.grant(user, workspace, role, by=by)
        else:
            for invitation in workspace.invitations.pending().filter(username=user.get_username()):
                withdraw(invitation, by)
            if member is not None:
                _end(member, by)
        return Role(member.role) if member is not None else None

    # Service accounts

    def service_accounts(self, *, by: Who = APPLICATION) -> QuerySet[Membership]:
        """Return the memberships of the service accounts that the caller administers, by name."""
        memberships = Membership.objects.filter(is_service=True).select_related("user")
        in_scope = within("workspace", caller_of(by).scope(Right.ADMINISTER))
        return memberships.filter(in_scope).order_by(ByName(username_lookup("user")), "pk")

    @retry_on_conflict
    def create_service_account(
        self, workspace_id: str, username: str, role: Role, *, by: Who = APPLICATION
    ) -> Membership:
        """Create an account for programs, which has no password, as a member of one workspace.

        Raises `Invalid` for a name that no account can have, and `IdTaken` for one that is taken.
        """
        by = caller_of(by)
        with self.administering(workspace_id, by) as workspace:
            name_taken = IdTaken(Message("The user name {name!r} is taken.", name=username))
            if account(username) is not None:
                raise name_taken
            try:
                with transaction.atomic():
                    user = new_account(checked_new_name(username))
            except IntegrityError:  # created by another request
                raise name_taken from None
            return Membership.objects.grant(
                user, workspace, role, by=by, is_service=True, detail={"service": True}
            )

    def delete_service_account(self, username: str, *, by: Who = APPLICATION) -> None:
        """Deactivate a service account permanently, with its keys; raises `NotFound`."""
        by = caller_of(by)
        member = self.service_accounts(by=by).filter(user=account(username)).first()
        if member is None:
            raise NotFound
        self.remove(member.workspace_id, username, by=by)

    @contextmanager
    def administering(self, workspace_id: str, by: Caller) -> Iterator[Workspace]:
        """Lock the workspace, so that two admins cannot remove each other, and yield it.

        Raises `KeyScope` for a key that may not administer, or is limited to some ids.
        """
        with events.transaction():
            self.find(workspace_id, by=by)
            require_whole(by)
            workspace = Workspace.objects.with_lock().filter(pk=workspace_id).first()
            if workspace is None:  # deleted in the meantime
                raise NotFound
            if by.read_again is not None:
                # The check before the commit exempts admins who change their own rights.
                self.find(workspace_id, by=by.read_again())
            yield workspace

    def _member(self, workspace: Workspace, username: str) -> Membership:
        membership = workspace.memberships.select_related("user").filter(user=account(username)).first()
        if membership is None:
            raise NotFound
        return membership


def require_whole(by: Caller) -> None:
    """Raise `KeyScope` for a key that may not administer, or is limited to resources with some ids."""
    by.require_action(Action.ADMIN)
    if by.id_prefix:
        raise KeyScope(Action.ADMIN.value, id_prefix=by.id_prefix)


def _what_belongs_to(workspace: Workspace) -> list[str]:
    """Return the names, in the plural, of objects that prevent the deletion of a workspace."""
    names = [
        str(model._meta.verbose_name_plural)
        for model in (*map(find_model, KINDS), *OWNED)
        if model._default_manager.filter(workspace=workspace).exists()
    ]
    is_of_code = workspace.pk == settings.EDITOR_CODE_WORKSPACE
    return [*names, "the agents that code defines"] if is_of_code else names


def _end(membership: Membership, by: Caller) -> None:
    """End a membership; a service account, which has no other, is deactivated with it."""
    Membership.objects.end(membership, by=by)
    if membership.is_service:
        for key in ApiKey.objects.filter(owner=membership.user, revoked_at=None):
            key.revoke(by=by)
        membership.user.is_active = False
        membership.user.save(update_fields=["is_active"])


def withdraw(invitation: Invitation, by: Caller) -> None:
    """Withdraw an invitation: its link no longer works, and the log records it."""
    invitation.record("withdrawn", by)
    invitation.delete()


def checked_name(name: str) -> str:
    """Return the name of a workspace or a key without white space at its ends; raises `Invalid`."""
    name = name.strip()
    if not name or not name.isprintable() or len(name) > MAX_NAME:
        problem = Message("must be a line of at most {limit} visible characters", limit=MAX_NAME)
        raise Invalid.field("name", problem if name else "is required")
    return name
