"""API keys: listing, creating and revoking them.

People make keys for themselves; admins make those of service accounts. A key never creates one with more
rights or a later expiry than its own. Omitted limits are inherited; wider ones are refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.utils import timezone

from versioning.domain.access import APPLICATION, Action, Caller, Right, Role
from versioning.domain.errors import Forbidden, Invalid, KeyScope, Message, NotFound
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.workspaces import Workspaces, checked_name
from versioning.models import ApiKey, Membership, Workspace, events
from versioning.models.accounts import account, accounts
from versioning.models.keys import MAX_ID_PREFIX
from versioning.models.querysets import covered_by, within
from versioning.models.text_keys import ByName

LEFT_OUT: Final[Any] = object()
"""An omitted argument; None is a value and means no limit."""


class Keys:
    """The verbs for a person's keys, and for admins' keys of their workspaces."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def list_keys(self, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return the caller's keys, and those limited to workspaces that the caller administers.

        The newest come first. Superusers see all. A key sees those within its own limits only.
        """
        by = caller_of(by)
        keys = ApiKey.objects.all()
        if by.everywhere is not Role.ADMIN:
            keys = keys.filter(Q(owner=by.user_id) | within("workspace", by.scope(Right.ADMINISTER)))
        if by.key_workspace is not None:
            keys = keys.filter(workspace=by.key_workspace)
        if by.id_prefix:
            keys = keys.filter(covered_by(by, "id_prefix"))
        return _newest_first(keys)

    def of_workspace(self, workspace_id: str, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return the keys that reach a workspace: its own, and its members' unlimited keys."""
        workspace = self._workspaces.find(workspace_id, by=by)
        everywhere = Q(workspace=None, owner__in=workspace.memberships.values("user"))
        return _newest_first(ApiKey.objects.filter(Q(workspace=workspace) | everywhere))

    def list_unlimited(self, *, by: Who = APPLICATION) -> QuerySet[ApiKey]:
        """Return unlimited keys of members of workspaces that the caller administers, without duplicates."""
        members = Membership.objects.filter(within("workspace", caller_of(by).scope(Right.ADMINISTER)))
        return _newest_first(ApiKey.objects.filter(workspace=None, owner__in=members.values("user")))

    def reach(self, keys: Sequence[ApiKey], *, by: Who = APPLICATION) -> Mapping[int, Sequence[Workspace]]:
        """Return, by key, the workspaces that unlimited keys reach, as far as the caller administers them.

        Others are not named: only their own admins may learn about a person's membership. Takes one query.
        """
        members = Membership.objects.filter(
            within("workspace", caller_of(by).scope(Right.ADMINISTER)),
            user__in={key.owner_id for key in keys},
        )
        workspaces_by_user: dict[Any, Any] = {}
        for member in members.select_related("workspace").order_by(ByName("workspace__name"), "workspace_id"):
            workspaces_by_user.setdefault(member.user_id, []).append(member.workspace)
        return {key.pk: workspaces_by_user.get(key.owner_id, []) for key in keys}

    @retry_on_conflict
    def issue(
        self,
        *,
        name: str,
        workspace_id: str | None = LEFT_OUT,
        role: Role | None = LEFT_OUT,
        actions: Collection[Action] | None = LEFT_OUT,
        id_prefix: str | None = LEFT_OUT,
        expires_at: datetime.datetime | None = LEFT_OUT,
        owner: str | None = None,
        by: Who = APPLICATION,
    ) -> tuple[ApiKey, str]:
        """Create a key of the caller, or of a service account (`owner`); return it with its secret.

        Omitted limits are inherited from the caller's key; without a key they are unlimited. Raises `Invalid`
        for wrong values and for a role that the owner does not have, `NotFound` for a workspace that the
        caller may not read, `Forbidden` for the application, and `KeyScope` for more than the caller's own
        key allows.
        """
        by = caller_of(by)
        with events.transaction():
            if by.user_id is None:
                raise Forbidden("An API key belongs to a person.")
            maker = ApiKey.objects.get(prefix=by.key_prefix) if by.key_prefix is not None else None
            limits = _Limits.of(maker).with_given(
                workspace_id=workspace_id,
                role=role,
                actions=actions,
                id_prefix=id_prefix,
                expires_at=expires_at,
            )
            user = accounts().get(pk=by.user_id)
            if owner is not None:
                membership = self._workspaces.service_accounts(by=by).filter(user=account(owner)).first()
                if membership is None:
                    raise Invalid.field("owner", "is not a service account that you administer")
                member = membership
                user = member.user
                if limits.workspace_id not in {None, member.workspace_id}:
                    raise Invalid.field("workspaceId", "must be the workspace of the service account")
                limits = limits.with_given(workspace_id=member.workspace_id)
                if role is LEFT_OUT and limits.role is not None:
                    limits = limits.with_given(role=Role(member.role).at_most(limits.role))
            workspace = None
            if limits.workspace_id is not None:
                workspace = self._workspaces.find(limits.workspace_id, right=Right.READ, by=by)
            limits.refuse_wrong(by)
            if maker is not None:
                limits.refuse_more_than(maker)
            return ApiKey.objects.issue(
                user,
                name=checked_name(name),
                workspace=workspace,
                role=limits.role,
                actions=limits.actions,
                id_prefix=limits.id_prefix or "",
                expires_at=limits.expires_at,
                by=by,
            )

    @retry_on_conflict
    def revoke(self, prefix: str, *, by: Who = APPLICATION) -> ApiKey:
        """Revoke a key; only its owner and superusers can revoke one that reaches several workspaces.

        Raises `NotFound` if the caller does not see it.
        """
        by = caller_of(by)
        if not prefix.isprintable():  # a database may not be able to represent it
            raise NotFound
        with events.transaction():
            key = self.list_keys(by=by).filter(prefix=prefix).first()
            if key is not None and may_revoke(key, by):
                key.revoke(by=by)
                return key
            if key is None and not self.list_unlimited(by=by).filter(prefix=prefix).exists():
                raise NotFound
            raise Forbidden(
                "This key reaches other workspaces too; only its owner or a superuser can revoke it."
            )


@dataclass(frozen=True, kw_only=True)
class _Limits:
    """The limits of a key; None means no limit."""

    workspace_id: str | None = None
    role: Role | None = None
    actions: frozenset[Action] | None = None
    id_prefix: str | None = None
    expires_at: datetime.datetime | None = None

    @classmethod
    def of(cls, key: ApiKey | None) -> _Limits:
        """Return the limits of a key; none without one."""
        if key is None:
            return cls()
        return cls(
            workspace_id=key.workspace_id,
            role=Role(key.role) if key.role else None,
            actions=None if key.actions is None else frozenset(map(Action, key.actions)),
            id_prefix=key.id_prefix or None,
            expires_at=key.expires_at,
        )

    def with_given(self, **limits: Any) -> _Limits:
        """Return these limits with the given ones replaced; omitted ones are unchanged."""
        changes = {name: value for name, value in limits.items() if value is not LEFT_OUT}
        if changes.get("actions") is not None:
            changes["actions"] = frozenset(changes["actions"])
        return _Limits(**{**vars(self), **changes})

    def refuse_wrong(self, by: Caller) -> None:
        """Raise `Invalid` for limits that make no sense, `Forbidden` for the directory without the right."""
        if self.actions is not None and not self.actions:
            raise Invalid.field("actions", "must name at least one action")
        prefix = self.id_prefix
        if prefix is not None and not (prefix and prefix.isprintable() and len(prefix) <= MAX_ID_PREFIX):
            message = Message("must be 1 to {limit} visible characters", limit=MAX_ID_PREFIX)
            raise Invalid.field("idPrefix", message)
        if self.expires_at is not None and self.expires_at <= timezone.now():
            raise Invalid.field("expiresAt", "must lie in the future")
        if Action.DIRECTORY in (self.actions or ()):
            if by.everywhere is not Role.ADMIN:
                raise Forbidden("Only superusers may create keys for the directory.")
            if self.workspace_id is not None or self.id_prefix is not None:
                raise Invalid.field("actions", "cannot include directory for a key with other limits")

    def refuse_more_than(self, maker: ApiKey) -> None:
        """Raise `KeyScope` if these limits are wider than those of the key that creates it."""
        own = _Limits.of(maker)
        is_less = (
            own.workspace_id in {None, self.workspace_id},
            own.role is None or (self.role is not None and self.role.rank <= own.role.rank),
            own.actions is None or (self.actions is not None and self.actions <= own.actions),
            own.id_prefix is None or (self.id_prefix or "").startswith(own.id_prefix),
            own.expires_at is None or (self.expires_at is not None and self.expires_at <= own.expires_at),
        )
        if not all(is_less):
            raise KeyScope(Action.ADMIN.value)


def may_revoke(key: ApiKey, by: Caller) -> bool:
    """Return whether the caller may revoke a key: their own, or one of a workspace they administer."""
    if key.owner_id == by.user_id or by.everywhere is Role.ADMIN:
        return True
    return key.workspace_id is not None and by.may(Right.ADMINISTER, key.workspace_id)


def _newest_first(keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    return keys.select_related("owner").order_by("-created_at", "-pk")
