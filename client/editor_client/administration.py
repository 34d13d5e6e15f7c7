"""Workspaces, their members and invitations, keys and service accounts, for keys that administer."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.methods import D_co, Driver, Handle, iterator, method
from editor_client.pages import Ordering, Page, PageNumber, Pages, Paging, listing
from editor_client.result import Result, Success, with_json_names

Role = Literal["viewer", "editor", "publisher", "admin"]
Action = Literal["read", "run", "write", "publish", "admin", "directory"]
KeyState = Literal["active", "expired", "revoked", "ownerInactive"]


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkspaceRecord(Result):
    """A workspace, and the caller's role in it."""

    id: str
    name: str
    created_at: datetime.datetime
    role: Role


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkspacePage(Page[WorkspaceRecord]):
    """A page of workspaces, by name."""

    workspaces: tuple[WorkspaceRecord, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Member(Result):
    """A member of a workspace."""

    username: str
    display_name: str
    role: Role
    origin: Literal["manual", "directory"]
    service: bool
    """Whether it is a service account, not a person."""
    last_sign_in_at: datetime.datetime | None = None
    """For admins; None for other callers."""
    since: datetime.datetime | None = None

    @property
    def id(self) -> str:
        """The username."""
        return self.username


@dataclass(frozen=True, kw_only=True, eq=False)
class MemberPage(Page[Member]):
    """A page of members, by username."""

    members: tuple[Member, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class InvitationRecord(Result):
    """An invitation that is not accepted yet."""

    id: str
    username: str
    role: Role
    mail: str | None = None
    invited_by: str | None = None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    has_account: bool
    """Whether there is an account with this name, whose owner has to sign in."""
    is_acceptable: bool
    """Whether its link works: it is not too old, and the inviter is still an admin."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NewInvitation(InvitationRecord):
    """A new invitation, with its link, which the server does not return again."""

    url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class InvitationList(Result):
    """The invitations that are not accepted yet, by username."""

    invitations: tuple[InvitationRecord, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyRecord(Result):
    """An API key, without its secret."""

    prefix: str
    name: str
    owner: str
    workspace_id: str | None = None
    role: Role | None = None
    actions: tuple[Action, ...] | None = None
    """All that it may do; None for everything that its role allows."""
    id_prefix: str | None = None
    created_at: datetime.datetime
    expires_at: datetime.datetime | None = None
    last_used_at: datetime.datetime | None = None
    """To the hour."""
    state: KeyState

    @property
    def id(self) -> str:
        """The prefix."""
        return self.prefix


@dataclass(frozen=True, kw_only=True, eq=False)
class NewKey(KeyRecord):
    """A new key with its secret, which the server does not return again."""

    key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyPage(Page[KeyRecord]):
    """A page of keys, newest first."""

    keys_: tuple[KeyRecord, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ServiceAccount(Result):
    """An account for programs."""

    username: str
    workspace_id: str
    role: Role
    created_at: datetime.datetime | None = None

    @property
    def id(self) -> str:
        """The username."""
        return self.username


@dataclass(frozen=True, kw_only=True, eq=False)
class ServiceAccountPage(Page[ServiceAccount]):
    """A page of service accounts, by username."""

    service_accounts: tuple[ServiceAccount, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class RoleInWorkspace(Result):
    """A workspace of the caller."""

    id: str
    role: Role


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyInUse(Result):
    """The key of the client, and its limits."""

    prefix: str
    actions: tuple[Action, ...] | None = None
    id_prefix: str | None = None
    expires_at: datetime.datetime | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Identity(Result):
    """Who the key acts for, and where."""

    username: str
    display_name: str
    superuser: bool
    workspaces: tuple[RoleInWorkspace, ...]
    key: KeyInUse | None = None


class KeyLimits(TypedDict, total=False):
    """What a new key is limited to; what is left out is that of the client's own key."""

    workspace_id: str | None
    role: Role | None
    actions: Sequence[Action] | None
    id_prefix: str | None
    expires_at: str | None
    """ISO 8601, such as `2030-01-31T12:00:00Z`."""
    owner: str | None
    """A service account; None for the owner of the client's key."""


class OfWorkspace(Ordering, total=False):
    """The filters and the order of a list of keys or service accounts."""

    workspace_id: str


class OfWorkspaceList(OfWorkspace, PageNumber, total=False):
    """The arguments of such a list."""


class Workspace(Handle[D_co]):
    """A workspace, by id."""

    def __init__(self, client: D_co, workspace_id: str) -> None:
        super().__init__(client, workspace_id, f"/workspaces/{segment('id', workspace_id)}")

    @method
    def details(self) -> Call[WorkspaceRecord]:
        """Read the workspace."""
        return Call.to("GET", self._path, reading(WorkspaceRecord, id=self.id))

    @method
    def rename(self, name: str) -> Call[WorkspaceRecord]:
        """Give the workspace another name; its id stays."""
        return Call.to("PATCH", self._path, reading(WorkspaceRecord, id=self.id), body={"name": name})

    @method
    def delete(self) -> Call[Success]:
        """Delete the workspace, if it owns nothing, with its members and keys; for superusers."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def list_members(self, **page: Unpack[Paging]) -> Call[MemberPage]:
        """List the members, by username."""
        return listing(f"{self._path}/members", MemberPage, page)

    @iterator
    def iter_members(self, **order: Unpack[Ordering]) -> Pages[Member]:
        """Iterate over all members, by username."""
        return Pages.of(f"{self._path}/members", MemberPage, order)

    @method
    def set_role(self, username: str, role: Role) -> Call[Member]:
        """Change the role of a member."""
        path = f"{self._path}/members/{segment('username', username)}"
        return Call.to("PUT", path, reading(Member), body={"role": role})

    @method
    def remove_member(self, username: str) -> Call[Success]:
        """End a membership."""
        path = f"{self._path}/members/{segment('username', username)}"
        return Call.to("DELETE", path, reading(Success))

    @method
    def list_invitations(self) -> Call[InvitationList]:
        """List the invitations that are not accepted yet, by username."""
        return Call.to("GET", f"{self._path}/invitations", reading(InvitationList))

    @method
    def invite(self, username: str, role: Role, *, mail: str | None = None) -> Call[NewInvitation]:
        """Invite a person; only the result has the link to accept."""
        body = {"username": username, "role": role, **({} if mail is None else {"mail": mail})}
        return Call.to("POST", f"{self._path}/invitations", reading(NewInvitation), body=body)

    @method
    def withdraw_invitation(self, invitation_id: str) -> Call[Success]:
        """Withdraw an invitation: its link no longer works."""
        path = f"{self._path}/invitations/{segment('invitation_id', invitation_id)}"
        return Call.to("DELETE", path, reading(Success))


class AdministrationMethods(Driver):
    """The methods of a client for administration."""

    @method
    def me(self) -> Call[Identity]:
        """Read who the key acts for, where, and what it is limited to."""
        return Call.to("GET", "/me", reading(Identity))

    @method
    def list_workspaces(self, **page: Unpack[Paging]) -> Call[WorkspacePage]:
        """List the workspaces that the key reaches, by name."""
        return listing("/workspaces", WorkspacePage, page)

    @iterator
    def iter_workspaces(self, **order: Unpack[Ordering]) -> Pages[WorkspaceRecord]:
        """Iterate over all workspaces, page by page."""
        return Pages.of("/workspaces", WorkspacePage, order)

    @method
    def create_workspace(self, name: str, *, workspace_id: str | None = None) -> Call[WorkspaceRecord]:
        """Create a workspace, by default with an id made of the name; for superusers."""
        body = {"name": name, **({} if workspace_id is None else {"id": workspace_id})}
        return Call.to("POST", "/workspaces", reading(WorkspaceRecord), body=body)

    def get_workspace(self, workspace_id: str) -> Workspace[Self]:
        """Return a workspace; no request is sent yet."""
        return Workspace(self, workspace_id)

    @method
    def list_keys(self, **filters: Unpack[OfWorkspaceList]) -> Call[KeyPage]:
        """List the owner's keys, and those of the workspaces that the key administers, newest first."""
        return listing("/keys", KeyPage, filters)

    @iterator
    def iter_keys(self, **filters: Unpack[OfWorkspace]) -> Pages[KeyRecord]:
        """Iterate over all keys, page by page."""
        return Pages.of("/keys", KeyPage, filters)

    @method
    def create_key(self, name: str, **limits: Unpack[KeyLimits]) -> Call[NewKey]:
        """Create a key that may no more than the client's own; only the result has its secret."""
        body = {"name": name, **with_json_names(limits)}
        return Call.to("POST", "/keys", reading(NewKey), body=body)

    @method
    def revoke_key(self, prefix: str) -> Call[Success]:
        """Revoke a key, by its first eleven characters."""
        return Call.to("DELETE", f"/keys/{segment('prefix', prefix)}", reading(Success))

    @method
    def list_service_accounts(self, **filters: Unpack[OfWorkspaceList]) -> Call[ServiceAccountPage]:
        """List the service accounts of the workspaces that the key administers, by username."""
        return listing("/service-accounts", ServiceAccountPage, filters)

    @iterator
    def iter_service_accounts(self, **filters: Unpack[OfWorkspace]) -> Pages[ServiceAccount]:
        """Iterate over all service accounts, page by page."""
        return Pages.of("/service-accounts", ServiceAccountPage, filters)

    @method
    def create_service_account(self, username: str, workspace_id: str, role: Role) -> Call[ServiceAccount]:
        """Create an account for programs, which has no password."""
        body = {"username": username, "workspaceId": workspace_id, "role": role}
        return Call.to("POST", "/service-accounts", reading(ServiceAccount), body=body)

    @method
    def delete_service_account(self, username: str) -> Call[Success]:
        """Switch a service account off for good, with its keys."""
        return Call.to("DELETE", f"/service-accounts/{segment('username', username)}", reading(Success))
