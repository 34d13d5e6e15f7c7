"""Workspaces, their members and invitations, and the caller, for keys that administer."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.shapes import (
    ErasedPerson,
    Identity,
    InvitationList,
    Member,
    MemberPage,
    NewInvitation,
    Role,
    WorkspacePage,
    WorkspaceRecord,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Paging, listing
from editor_client.result import Success


class Workspace(ById[D_co, WorkspaceRecord]):
    """A workspace, by id."""

    _address, _record = "/workspaces", WorkspaceRecord

    @method
    def rename(self, name: str) -> Call[WorkspaceRecord]:
        """Give the workspace another name; its id stays."""
        return Call.to("PATCH", self._path, self._read, body={"name": name})

    @method
    def delete(self) -> Call[Success]:
        """Delete the workspace, if it owns nothing, with its members and keys; for superusers."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def list_members(self, **page: Unpack[Paging]) -> Call[MemberPage]:
        """List the members, by username."""
        return listing(f"{self._path}/members", MemberPage, page)

    iter_members = iterating(list_members)

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


class WorkspaceMethods(Driver):
    """The methods of a client for workspaces."""

    @method
    def me(self) -> Call[Identity]:
        """Read who the key acts for, where, and what it is limited to."""
        return Call.to("GET", "/me", reading(Identity))

    @method
    def list_workspaces(self, **page: Unpack[Paging]) -> Call[WorkspacePage]:
        """List the workspaces that the key reaches, by name."""
        return listing("/workspaces", WorkspacePage, page)

    iter_workspaces = iterating(list_workspaces)

    @method
    def create_workspace(self, name: str, *, workspace_id: str | None = None) -> Call[WorkspaceRecord]:
        """Create a workspace, by default with an id made of the name; for superusers."""
        body = {"name": name, **({} if workspace_id is None else {"id": workspace_id})}
        return Call.to("POST", "/workspaces", reading(WorkspaceRecord), body=body)

    @method
    def erase_person(self, username: str) -> Call[ErasedPerson]:
        """Replace a person's name and mail address everywhere; what the person did stays. For superusers."""
        path = f"/people/{segment('username', username)}/erase"
        return Call.to("POST", path, reading(ErasedPerson), body={})

    def get_workspace(self, workspace_id: str) -> Workspace[Self]:
        """Return a workspace; no request is sent yet."""
        return Workspace(self, workspace_id)
