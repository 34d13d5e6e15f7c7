"""Workspaces, their members and invitations, and the caller's identity, over HTTP."""

from __future__ import annotations

from typing import Final

from editor_client.shared import ids
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.accounts.administration.schemas import (
    ErasedPersonAnswer,
    InvitationAnswer,
    InvitationCreate,
    InvitationCreated,
    InvitationList,
    Me,
    MemberAnswer,
    MemberPage,
    RoleOfMember,
    WorkspaceAnswer,
    WorkspaceCreate,
    WorkspacePage,
    WorkspaceUpdate,
)
from capabilities.accounts.administration.verbs import as_seen, identity_of, members_as_seen
from studio.workspaces.views import invitation_address
from versioning.api import addresses
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging
from versioning.api.schemas import Json, Nothing, Success, content_etag
from versioning.conf import get_editor
from versioning.domain.access import Action, Right, Role
from versioning.models.accounts import username_lookup

WORKSPACE_PAGING: Final = Paging(100, fields=("name", "createdAt"), direction="ASC", then="id")
MEMBER_PAGING: Final = Paging(
    100, fields=("username",), columns={"username": username_lookup("user")}, direction="ASC", then="id"
)
WORKSPACE: Final = ({"type": "string"}, "The id of the workspace.")
USERNAME: Final = ({"type": "string"}, "The username of the account.")
NOT_STORED: Final = {"Cache-Control": "private, no-store"}
"""`Cache-Control` for answers with a secret."""


class WorkspaceViewSet(EditorViewSet):
    """The workspaces that the caller is a member of."""

    job = "Administer"
    subject = "workspace"
    actions = dict.fromkeys(("create", "update", "destroy"), Action.ADMIN)
    created = frozenset({"create"})
    errors = {"create": (409,), "destroy": (409,)}
    query = {"list": WORKSPACE_PAGING.parameters}
    requests = {"create": WorkspaceCreate, "update": WorkspaceUpdate, "destroy": Nothing}
    responses = {
        "list": WorkspacePage,
        "create": WorkspaceAnswer,
        "retrieve": WorkspaceAnswer,
        "update": WorkspaceAnswer,
        "destroy": Success,
    }
    paths = {"id": WORKSPACE}

    def list(self, request: Request) -> Response:
        """List the workspaces, by name."""
        page = WORKSPACE_PAGING.read(request.query_params)
        workspaces = get_editor().workspace.list(right=Right.READ, by=self.caller)
        return self.page_of(page, workspaces, lambda rows: as_seen(rows, self.caller))

    def create(self, request: Request) -> Response:
        """Create a workspace, with the caller as its first admin; only superusers may."""
        body = WorkspaceCreate.read(request)
        workspace = get_editor().workspace.create(body.get("id", ""), body["name"], by=self.caller)
        location = addresses.location(f"workspaces/{ids.encode(workspace.pk)}")
        return with_etag(request, self._dump(workspace), status=201, headers={"Location": location})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a workspace."""
        return with_etag(
            request, self._dump(get_editor().workspace.find(id, right=Right.READ, by=self.caller))
        )

    def update(self, request: Request, id: str) -> Response:
        """Rename a workspace; its id stays."""
        body = WorkspaceUpdate.read(request)
        return with_etag(request, self._dump(get_editor().workspace.rename(id, body["name"], by=self.caller)))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete an empty workspace with its members and keys; only superusers may."""
        Nothing.read(request)
        get_editor().workspace.delete(id, by=self.caller)
        return Response(self.dump(f"The workspace {id!r} is deleted."))

    def _dump(self, workspace: object) -> Json:
        [record] = as_seen([workspace], self.caller)  # type: ignore[list-item]
        return self.dump(record)


class MemberViewSet(EditorViewSet):
    """The members of a workspace."""

    job = "Administer"
    subject = "member"
    actions = dict.fromkeys(("update", "destroy"), Action.ADMIN)
    errors = {"update": (409,), "destroy": (409,)}
    query = {"list": MEMBER_PAGING.parameters}
    requests = {"update": RoleOfMember, "destroy": Nothing}
    responses = {"list": MemberPage, "update": MemberAnswer, "destroy": Success}
    paths = {"id": WORKSPACE, "username": USERNAME}

    def list(self, request: Request, id: str) -> Response:
        """List the members, by username."""
        page = MEMBER_PAGING.read(request.query_params)
        members = get_editor().workspace.members(id, right=Right.READ, by=self.caller)
        return self.page_of(page, members, lambda rows: members_as_seen(rows, self.caller))

    def update(self, request: Request, id: str, username: str) -> Response:
        """Change the role of a member; other people have to be invited."""
        role = Role(RoleOfMember.read(request)["role"])
        membership = get_editor().workspace.change_role(id, username, role, by=self.caller)
        [member] = members_as_seen([membership], self.caller)
        return with_etag(request, self.dump(member))

    def destroy(self, request: Request, id: str, username: str) -> Response:
        """End a membership; the person's keys no longer reach the workspace."""
        Nothing.read(request)
        get_editor().workspace.remove(id, username, by=self.caller)
        return Response(self.dump(f"{username} is no member of the workspace {id!r} any more."))


class InvitationViewSet(EditorViewSet):
    """Invitations to a workspace."""

    job = "Administer"
    subject = "invitation"
    actions = dict.fromkeys(("create", "destroy"), Action.ADMIN)
    created = frozenset({"create"})
    requests = {"create": InvitationCreate, "destroy": Nothing}
    responses = {"list": InvitationList, "create": InvitationCreated, "destroy": Success}
    paths = {"id": WORKSPACE, "invitation": ({"type": "string"}, "The id of the invitation.")}

    def list(self, request: Request, id: str) -> Response:
        """List the invitations that are not accepted yet, by username."""
        return Response(self.dump(get_editor().invitation.pending(id, by=self.caller)))

    def create(self, request: Request, id: str) -> Response:
        """Invite a person; only this answer has the link to accept."""
        payload = InvitationCreate.read(request)
        role, mail = Role(payload["role"]), payload.get("mail") or ""
        invitations = get_editor().invitation
        invitation, token = invitations.invite(id, payload["username"], role, mail=mail, by=self.caller)
        pending = invitations.pending(id, by=self.caller)
        body = InvitationAnswer.dump(next(row for row in pending if row.invitation.pk == invitation.pk))
        url = request.build_absolute_uri(invitation_address(token))
        location = addresses.location(f"workspaces/{ids.encode(id)}/invitations/{invitation.pk}")
        headers = {"Location": location, **NOT_STORED}
        return with_etag(request, {**body, "url": url}, etag=content_etag(body), status=201, headers=headers)

    def destroy(self, request: Request, id: str, invitation: str) -> Response:
        """Withdraw an invitation: its link no longer works."""
        Nothing.read(request)
        get_editor().invitation.withdraw_by_id(id, invitation, by=self.caller)
        return Response(self.dump("The invitation is withdrawn."))


class PersonViewSet(EditorViewSet):
    """People themselves, for superusers."""

    job = "Administer"
    subject = "person"
    actions = {"erase": Action.ADMIN}
    errors = {"erase": (409,)}
    requests = {"erase": Nothing}
    responses = {"erase": ErasedPersonAnswer}
    paths = {"username": USERNAME}

    def erase(self, request: Request, username: str) -> Response:
        """Replace a person's name and mail address everywhere and deactivate the account; for superusers.

        Records of the person's actions stay under the returned name.
        """
        Nothing.read(request)
        return Response(self.dump(get_editor().person.erase(username, by=self.caller)))


class MeViewSet(EditorViewSet):
    """The caller."""

    job = "Administer"
    subject = "caller"
    actions = {"retrieve": None}
    responses = {"retrieve": Me}

    def retrieve(self, request: Request) -> Response:
        """Read the caller's identity and the limits of the key."""
        return with_etag(request, self.dump(identity_of(self.caller)))
