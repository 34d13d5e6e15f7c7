"""Workspaces with members and invitations, API keys, service accounts and webhooks: for administrators."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.shapes import (
    Delivery,
    DeliveryPage,
    ErasedPerson,
    Identity,
    InvitationList,
    KeyLimits,
    KeyPage,
    Member,
    MemberPage,
    NewInvitation,
    NewKey,
    NewWebhook,
    OfWorkspace,
    RevokedKey,
    Role,
    RotatedSecret,
    ServiceAccount,
    ServiceAccountPage,
    WebhookArguments,
    WebhookChanges,
    WebhookFilters,
    WebhookPage,
    WebhookRecord,
    WorkspacePage,
    WorkspaceRecord,
)
from editor_client.methods import ById, D_co, Driver, Paging, iterating, listing, method
from editor_client.result import Success, with_json_names


class Workspace(ById[D_co, WorkspaceRecord]):
    """A workspace, by id."""

    _address, _record = "/workspaces", WorkspaceRecord

    @method
    def rename(self, name: str) -> Call[WorkspaceRecord]:
        """Rename the workspace; its id does not change."""
        return Call.to("PATCH", self._path, self._read, body={"name": name})

    @method
    def delete(self) -> Call[Success]:
        """Delete an empty workspace with its members and keys; for superusers."""
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
        """Read the key's owner, workspaces and limits."""
        return Call.to("GET", "/me", reading(Identity))

    @method
    def list_workspaces(self, **page: Unpack[Paging]) -> Call[WorkspacePage]:
        """List the workspaces that the key reaches, by name."""
        return listing("/workspaces", WorkspacePage, page)

    iter_workspaces = iterating(list_workspaces)

    @method
    def create_workspace(self, name: str, *, workspace_id: str | None = None) -> Call[WorkspaceRecord]:
        """Create a workspace, by default with an id derived from the name; for superusers."""
        body = {"name": name, **({} if workspace_id is None else {"id": workspace_id})}
        return Call.to("POST", "/workspaces", reading(WorkspaceRecord), body=body)

    @method
    def erase_person(self, username: str) -> Call[ErasedPerson]:
        """Replace a person's name and mail address everywhere; records of actions stay. For superusers."""
        path = f"/people/{segment('username', username)}/erase"
        return Call.to("POST", path, reading(ErasedPerson), body={})

    def get_workspace(self, workspace_id: str) -> Workspace[Self]:
        """Return a workspace; no request is sent yet."""
        return Workspace(self, workspace_id)


class KeyMethods(Driver):
    """The methods of a client for keys and service accounts."""

    @method
    def list_keys(self, **filters: Unpack[OfWorkspace]) -> Call[KeyPage]:
        """List the owner's keys, and those of the workspaces that the key administers, newest first."""
        return listing("/keys", KeyPage, filters)

    iter_keys = iterating(list_keys)

    @method
    def create_key(self, name: str, **limits: Unpack[KeyLimits]) -> Call[NewKey]:
        """Create a key with at most the rights of the client's own; only the result has its secret."""
        body = {"name": name, **with_json_names(limits)}
        return Call.to("POST", "/keys", reading(NewKey), body=body)

    @method
    def revoke_key(self, prefix: str) -> Call[RevokedKey]:
        """Revoke a key, by its first eleven characters; the result names the schedules that fail with it."""
        return Call.to("DELETE", f"/keys/{segment('prefix', prefix)}", reading(RevokedKey))

    @method
    def list_service_accounts(self, **filters: Unpack[OfWorkspace]) -> Call[ServiceAccountPage]:
        """List the service accounts of the workspaces that the key administers, by username."""
        return listing("/service-accounts", ServiceAccountPage, filters)

    iter_service_accounts = iterating(list_service_accounts)

    @method
    def create_service_account(self, username: str, workspace_id: str, role: Role) -> Call[ServiceAccount]:
        """Create an account for programs, which has no password."""
        body = {"username": username, "workspaceId": workspace_id, "role": role}
        return Call.to("POST", "/service-accounts", reading(ServiceAccount), body=body)

    @method
    def delete_service_account(self, username: str) -> Call[Success]:
        """Deactivate a service account permanently, with its keys."""
        return Call.to("DELETE", f"/service-accounts/{segment('username', username)}", reading(Success))


class Webhook(ById[D_co, WebhookRecord]):
    """A webhook, by id."""

    _address, _record = "/webhooks", WebhookRecord

    @method
    def update(self, **changes: Unpack[WebhookChanges]) -> Call[WebhookRecord]:
        """Change the given settings."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the webhook with its deliveries."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def rotate(self, *, keep_previous_hours: int) -> Call[RotatedSecret]:
        """Replace the secret; the previous one stays valid for up to 168 hours."""
        body = {"keepPreviousHours": keep_previous_hours}
        return Call.to("POST", f"{self._path}/rotate", reading(RotatedSecret), body=body)

    @method
    def ping(self) -> Call[Delivery]:
        """Send a test event to the receiver."""
        return Call.to("POST", f"{self._path}/ping", reading(Delivery))

    @method
    def list_deliveries(self, **page: Unpack[Paging]) -> Call[DeliveryPage]:
        """List the deliveries with their attempts, newest first."""
        return listing(f"{self._path}/deliveries", DeliveryPage, page)

    iter_deliveries = iterating(list_deliveries)

    @method
    def replay(self, delivery_id: str) -> Call[Delivery]:
        """Retry a delivery; its message keeps its id."""
        path = f"{self._path}/deliveries/{segment('delivery_id', delivery_id)}/replay"
        return Call.to("POST", path, reading(Delivery, id=delivery_id))


class WebhookMethods(Driver):
    """The methods of a client for webhooks."""

    @method
    def list_webhooks(self, **filters: Unpack[WebhookFilters]) -> Call[WebhookPage]:
        """List the webhooks of the workspaces that the key administers, newest first."""
        return listing("/webhooks", WebhookPage, filters)

    iter_webhooks = iterating(list_webhooks)

    @method
    def create_webhook(self, workspace_id: str, **fields: Unpack[WebhookArguments]) -> Call[NewWebhook]:
        """Create a webhook for future events; `url` and `event_types` are required."""
        body = {"workspaceId": workspace_id, **with_json_names(fields)}
        return Call.to("POST", "/webhooks", reading(NewWebhook), body=body)

    def get_webhook(self, webhook_id: str) -> Webhook[Self]:
        """Return a webhook; no request is sent yet."""
        return Webhook(self, webhook_id)
