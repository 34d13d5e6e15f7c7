"""Invitations, by which a person becomes a member of a workspace.

Membership requires consent. That takes two things: the secret of the link, which was shown only to the
inviter, and the account with the invited name. If there is no such account yet, the holder of the link
creates it with their own password, and it joins only this workspace. If there is one, its owner has to sign
in. So neither an account created in advance nor a leaked link is enough for a membership.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from versioning.domain.access import APPLICATION, Caller, Role, Via
from versioning.domain.errors import Forbidden, IdTaken, Invalid, Message, NotFound, TooManyInvitations
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.workspaces import Workspaces, withdraw
from versioning.models import Event, Invitation, Membership, Workspace, caller_for, events
from versioning.models.accounts import (
    account,
    checked_new_name,
    is_mail_address,
    names_with_accounts,
    new_account,
    normalize_username,
)
from versioning.models.invitations import MAX_NAME
from versioning.models.text_keys import ByName, equals_caseless

if TYPE_CHECKING:
    from django.contrib.auth.models import User


_NEWEST_ENTRIES: Final = 100_000
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class PendingInvitation:
    """A pending invitation, with details for the admins of the workspace."""

    invitation: Invitation
    has_account: bool
    """Whether there is an account with that name, whose owner then has to sign in to accept."""
    is_acceptable: bool
    """Whether the link still works: it has not expired, and the inviter is still an admin."""

    @property
    def inviter(self) -> str | None:
        """The username of the person who made the link; None for the application."""
        by = self.invitation.invited_by
        return None if by is None else by.get_username()


def _refuse_too_many(by: Caller) -> None:
    """Raise `TooManyInvitations` for a person who has reached the limit across all workspaces."""
    limit = settings.EDITOR_INVITATIONS_PER_HOUR
    if not limit or by.username is None:
        return
    # The log has no index on times, so this reads only its newest entries.
    recent = Event.objects.filter(
        position__gt=events.position() - _NEWEST_ENTRIES,
        created_at__gt=timezone.now() - datetime.timedelta(hours=1),
        type="invitation.created",
        actor=by.username,
    )
    if recent.count() >= limit:
        raise TooManyInvitations(limit)


class Invitations:
    """Inviting people, and accepting invitations."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def pending(self, workspace_id: str, *, by: Who = APPLICATION) -> list[PendingInvitation]:
        """Return the invitations to a workspace that are not accepted yet, by user name."""
        workspace = self._workspaces.find(workspace_id, by=by)
        invitations = list(
            workspace.invitations.pending().select_related("invited_by").order_by(ByName("username"), "pk")
        )
        acceptable = set(workspace.invitations.acceptable().values_list("pk", flat=True))
        names = {invitation.username for invitation in invitations}
        accounts = names_with_accounts(names)
        return [
            PendingInvitation(
                invitation=invitation,
                has_account=invitation.username in accounts,
                is_acceptable=invitation.pk in acceptable,
            )
            for invitation in invitations
        ]

    @retry_on_conflict
    def invite(
        self, workspace_id: str, username: str, role: Role, *, mail: str = "", by: Who = APPLICATION
    ) -> tuple[Invitation, str]:
        """Invite a person; return the invitation and the secret of its link, which is not stored.

        Raises `Invalid` for a name that no account can have or that resembles an existing one, for an invalid
        mail address, for a member, for a deactivated account, and if an invitation is already pending. Raises
        `TooManyInvitations` for a person who has sent `EDITOR_INVITATIONS_PER_HOUR` of them within an hour.
        """
        by = caller_of(by)
        with self._workspaces.administering(workspace_id, by) as workspace:
            user = account(username)
            name = checked_new_name(username) if user is None else user.get_username()
            if len(name) > MAX_NAME:
                raise Invalid.field("username", Message("is longer than {limit} characters", limit=MAX_NAME))
            if user is not None and workspace.memberships.filter(user=user).exists():
                raise Invalid.field("username", "is already a member: change the role in the list")
            if user is not None and not user.is_active:
                raise Invalid.field("username", "belongs to an account that is switched off")
            if workspace.invitations.pending().filter(equals_caseless("username", name)).exists():
                raise Invalid.field("username", "is already invited: make a new link in the list")
            if mail and not is_mail_address(mail):
                raise Invalid.field("mail", "must be a mail address")
            invitation = Invitation(workspace=workspace, username=name, role=role, mail=mail)
            _refuse_too_many(by)
            return invitation, invitation.issue(by)

    @retry_on_conflict
    def renew(self, workspace_id: str, username: str, *, by: Who = APPLICATION) -> tuple[Invitation, str]:
        """Return a pending invitation with a new secret; the caller becomes the inviter.

        The previous link no longer works. Raises `NotFound` if there is no pending invitation for that
        name, and `TooManyInvitations` as `invite` does.
        """
        by = caller_of(by)
        with self._workspaces.administering(workspace_id, by) as workspace:
            invitation = self._pending(workspace, username)
            _refuse_too_many(by)
            return invitation, invitation.issue(by)

    @retry_on_conflict
    def withdraw_by_id(self, workspace_id: str, invitation_id: str, *, by: Who = APPLICATION) -> None:
        """Withdraw a pending invitation by its id; raises `NotFound` if there is none."""
        by = caller_of(by)
        with self._workspaces.administering(workspace_id, by) as workspace:
            number = int(invitation_id) if _NUMBER.fullmatch(invitation_id) else 0
            invitation = workspace.invitations.pending().select_for_update().filter(pk=number).first()
            if invitation is None:
                raise NotFound
            withdraw(invitation, by)

    @retry_on_conflict
    def withdraw(self, workspace_id: str, username: str, *, by: Who = APPLICATION) -> None:
        """Withdraw a pending invitation; raises `NotFound` if there is none."""
        by = caller_of(by)
        with self._workspaces.administering(workspace_id, by) as workspace:
            withdraw(self._pending(workspace, username), by)

    # Actions of the invited person

    def find(self, digest: str) -> Invitation:
        """Return the invitation whose secret has this digest; raises `NotFound` if it cannot be accepted."""
        invitations = Invitation.objects.acceptable().filter(digest=digest)
        invitation = invitations.select_related("workspace", "invited_by").first()
        if invitation is None:
            raise NotFound
        return invitation

    def accept(self, digest: str, *, by: User, via: Via = Via.PYTHON) -> Invitation:
        """Let an existing account join the workspace; `by` is the person who is signed in.

        A person who has become a member in the meantime keeps that role. Raises `Forbidden` for an account
        other than the invited one, and `NotFound` for an invitation that cannot be accepted.
        """
        with self._accepting(digest) as invitation:
            if by.get_username() != invitation.username or not by.is_active:
                raise Forbidden(Message("This invitation is for {name}.", name=invitation.username))
            self._join(invitation, by, via)
            return invitation

    def accept_with_new_account(self, digest: str, password: str, *, via: Via = Via.PYTHON) -> User:
        """Create the account with the invited name and this password, and let it join the workspace.

        Raises `IdTaken` if the account now exists: its owner has to sign in and accept. Raises `Invalid` if
        an account with a similar name now exists, and `NotFound` for an invitation that cannot be accepted.
        """
        with self._accepting(digest) as invitation:
            name = invitation.username
            name_taken = IdTaken(
                Message(
                    "There is now an account with the user name {name}: sign in with it to accept.", name=name
                )
            )
            if account(name) is not None:
                raise name_taken
            try:
                with transaction.atomic():
                    user = new_account(checked_new_name(name), password)
            except IntegrityError:  # created by another request, through another invitation
                raise name_taken from None
            self._join(invitation, user, via)
            return user

    @contextmanager
    def _accepting(self, digest: str) -> Iterator[Invitation]:
        """Lock the invitation, and its workspace as admins do, and yield the invitation.

        Invitations of other workspaces for the same name, in any case, are locked too; otherwise two
        accounts that differ only in case could be created at the same time. Raises `NotFound`.
        """
        with events.transaction():
            opened = self.find(digest)
            if not Workspace.objects.with_lock().filter(pk=opened.workspace_id):
                raise NotFound
            same_name = equals_caseless("username", opened.username)
            alike = Invitation.objects.pending().filter(same_name).order_by("pk")
            list(alike.select_for_update())  # always in the same order, to prevent deadlocks
            invitation = Invitation.objects.acceptable().filter(digest=digest).first()
            if invitation is None:
                raise NotFound
            yield invitation

    def _join(self, invitation: Invitation, user: User, via: Via) -> None:
        if not Membership.objects.filter(user=user, workspace=invitation.workspace).exists():
            inviter = invitation.invited_by
            Membership.objects.grant(
                user,
                invitation.workspace,
                Role(invitation.role),
                by=caller_for(user, via),
                detail={"invitedBy": inviter.get_username()} if inviter else {},
            )
        invitation.accepted_at = timezone.now()
        invitation.save(update_fields=["accepted_at"])

    def _pending(self, workspace: Workspace, username: str) -> Invitation:
        name = normalize_username(username)
        invitation = workspace.invitations.pending().select_for_update().filter(username=name or "").first()
        if invitation is None:
            raise NotFound
        return invitation
