"""API keys and service accounts, for keys that administer."""

from __future__ import annotations

from typing import Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.shapes import (
    KeyLimits,
    KeyPage,
    NewKey,
    OfWorkspace,
    RevokedKey,
    Role,
    ServiceAccount,
    ServiceAccountPage,
)
from editor_client.methods import Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import Success, with_json_names


class KeyMethods(Driver):
    """The methods of a client for keys and service accounts."""

    @method
    def list_keys(self, **filters: Unpack[OfWorkspace]) -> Call[KeyPage]:
        """List the owner's keys, and those of the workspaces that the key administers, newest first."""
        return listing("/keys", KeyPage, filters)

    iter_keys = iterating(list_keys)

    @method
    def create_key(self, name: str, **limits: Unpack[KeyLimits]) -> Call[NewKey]:
        """Create a key that may no more than the client's own; only the result has its secret."""
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
        """Switch a service account off for good, with its keys."""
        return Call.to("DELETE", f"/service-accounts/{segment('username', username)}", reading(Success))
