"""API keys and service accounts, for keys that administer."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import field
from typing import Literal, TypedDict, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.administration import Action, Role
from editor_client.manage.schedules import ScheduleAction
from editor_client.methods import Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.reads.log import Reference
from editor_client.result import Result, Success, with_json_names

KeyState = Literal["active", "expired", "revoked", "ownerInactive"]


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


class NewKey(KeyRecord):
    """A new key with its secret, which the server does not return again."""

    key: str = field(repr=False)


class EndedSchedule(Result):
    """A schedule that a revoked key had made, and that has failed with it."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    release_id: str | None = None
    action: ScheduleAction
    run_at: datetime.datetime


class RevokedKey(Success):
    """A key was revoked, and what had been planned with it."""

    schedules: tuple[EndedSchedule, ...] = ()


class KeyPage(Page[KeyRecord]):
    """A page of keys, newest first."""

    keys_: tuple[KeyRecord, ...]


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


class ServiceAccountPage(Page[ServiceAccount]):
    """A page of service accounts, by username."""

    service_accounts: tuple[ServiceAccount, ...]


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


class OfWorkspace(Paging, total=False):
    """The filters and the order of a list of keys or service accounts."""

    workspace_id: str


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
