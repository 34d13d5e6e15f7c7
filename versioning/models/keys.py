"""API keys: shown once, stored as a hash, never with more rights than their owner."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from django.conf import settings
from django.db import models
from django.utils import timezone

from versioning.domain.access import APPLICATION, Action, Caller, Role, Via
from versioning.domain.errors import Invalid, Message, Unauthorized
from versioning.domain.registering import require_callable
from versioning.models import events, storage
from versioning.models.log import LogPosition
from versioning.models.statements import OneByKey
from versioning.models.workspaces import ROLE_CHOICES, Workspace, caller_for

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX_LENGTH = 11
KeyState = Literal["active", "expired", "revoked", "ownerInactive"]
UNUSABLE = Message("This API key is unknown, expired or revoked.")
OWNER_INACTIVE = Message("The owner of this API key has not signed in for too long.")
MAX_ID_PREFIX = 200
LAST_USED_STEP = datetime.timedelta(minutes=1)


OwnerLimit = Callable[["ApiKey"], datetime.datetime | None]
"""Returns when the owner of a key stops counting as active; None for no end. Takes no query."""
_limits: list[OwnerLimit] = []


KeyFollower = Callable[["ApiKey", Caller], Sequence[Any]]
"""Cancels a key's planned work when the caller revokes it, and returns it; part of the transaction."""
_followers: dict[str, KeyFollower] = {}


def register_follower(ends: Mapping[str, KeyFollower]) -> None:
    """Register functions that cancel a key's planned work when it is revoked (`EditorApp.ends_with_keys`)."""
    for follower in ends.values():
        require_callable(follower, by="EditorApp.ends_with_keys")
    _followers.update(ends)


def register_owner_limit(limit: OwnerLimit) -> None:
    """Refuse keys whose owners have not been active for too long (`EditorApp.key_limits`)."""
    require_callable(limit, by="EditorApp.key_limits")
    _limits.append(limit)


class ApiKeyManager(models.Manager["ApiKey"]):
    """Creating keys and finding them."""

    @events.transaction()
    def issue(
        self,
        owner: User,
        *,
        name: str = "",
        workspace: Workspace | None = None,
        role: Role | None = None,
        actions: Iterable[Action] | None = None,
        id_prefix: str = "",
        expires_at: datetime.datetime | None = None,
        by: Caller = APPLICATION,
        secret: str = "",
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its secret, which cannot be shown again.

        The secret is random; the caller may pass a random one.

        Without a workspace it reaches all workspaces of the owner. `role` limits its rights there, `actions`
        its actions, and `id_prefix` its resources. Raises `Invalid` if the owner has no role in the
        workspace, or a lower one.
        """
        if workspace is not None:
            owned = caller_for(owner)
            owner_role = owned.everywhere or owned.roles.get(workspace.id)
            if owner_role is None or (role is not None and role.rank > owner_role.rank):
                raise Invalid.field(
                    "role",
                    Message(
                        "{owner} has no such role in the workspace {workspace!r}",
                        owner=str(owner),
                        workspace=workspace.id,
                    ),
                )
        text = secret or f"ek_{secrets.token_urlsafe(32)}"
        key = self.create(
            owner=owner,
            name=name,
            prefix=text[:PREFIX_LENGTH],
            digest=hash_secret(text),
            workspace=workspace,
            role=role,
            actions=None
            if actions is None
            else [action.value for action in Action if action in set(actions)],
            id_prefix=id_prefix,
            expires_at=expires_at,
            issued_by_id=by.user_id,
        )
        key.record("created", by=by)
        return key, text

    def holding(self, text: str) -> ApiKey | None:
        """Return the usable key with this secret, with its owner loaded; None if there is none."""
        return self.find_by_digest(hash_secret(text))

    def find_by_digest(self, digest: str) -> ApiKey | None:
        """Return the key whose secret has this digest; otherwise like `holding`."""
        try:
            key: Any = _by_digest().get(pk=digest)
        except ApiKey.DoesNotExist:
            return None
        key.rights_position = key.newest_change or 0
        key.installation = key.named or ""
        return cast("ApiKey", key) if key.usable else None

    def find_by_secret_or_prefix(self, key_or_prefix: str) -> ApiKey | None:
        """Return the key with this secret or prefix, usable or not."""
        condition = models.Q(digest=hash_secret(key_or_prefix)) | models.Q(prefix=key_or_prefix)
        return self.filter(condition).first()


@cache
def _by_digest() -> OneByKey[ApiKey]:
    """Return the query that finds a key by its digest, compiled."""
    log = LogPosition.objects
    newest_change = models.Subquery(log.values("rights_position")[:1])
    installation = models.Subquery(log.values("installation")[:1])
    keys: Any = ApiKey.objects.select_related("owner").annotate(
        newest_change=newest_change, named=installation
    )
    return OneByKey(keys, found_by="digest")


class ApiKey(models.Model):
    """The credential of a program: acts for its owner, limited to a workspace and a role."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.TextField(blank=True)
    prefix = models.CharField(max_length=PREFIX_LENGTH)
    digest = models.CharField(max_length=64)
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    role = models.CharField(max_length=16, choices=ROLE_CHOICES, null=True, blank=True)  # noqa: DJ001  null = the owner's
    actions = models.JSONField(null=True, blank=True)
    """The actions of the key; null = all that the role allows."""
    id_prefix = models.CharField(max_length=MAX_ID_PREFIX, blank=True, default="", db_default="")
    """The only resources that exist for it; empty = all."""
    issued_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    """The person who saw its secret and can use it; null = the application."""
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    rights_position = 0
    """The position of the newest change of rights when the key was read; 0 unless `holding` has read it."""
    installation = ""
    """The name of the installation, if it has one and `holding` has read the key."""
    ended: Mapping[str, Sequence[Any]] = MappingProxyType({})
    """The planned work that ended with the key's revocation, by name."""

    objects = ApiKeyManager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(name="api_key_digest_unique", fields=["digest"]),
            models.UniqueConstraint(name="api_key_prefix_unique", fields=["prefix"]),
            models.CheckConstraint(
                name="api_key_role_known",
                condition=models.Q(role=None) | models.Q(role__in=[role.value for role in Role]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()

    @property
    def usable(self) -> bool:
        return self.state == "active"

    def caller(self, via: Via = Via.API, *, owner: Caller | None = None) -> Caller:
        """Return the caller for this key: its owner, limited to the key's workspace and role.

        Takes a statement, unless the caller for the owner is given.
        """
        return limit_caller(
            owner or caller_for(self.owner, via),
            workspace_id=self.workspace_id,
            role=Role(self.role) if self.role else None,
            actions=None if self.actions is None else frozenset(map(Action, self.actions)),
            id_prefix=self.id_prefix,
            key_prefix=self.prefix,
            read_again=partial(_caller_now, self.pk, via),
            rights_position=self.rights_position,
            installation=self.installation,
        )

    def mark_used(self) -> datetime.datetime:
        """Record that the key is used now, at most once a minute; return the recorded time.

        So reads seldom write. The log does not advance, because answers do not depend on it.
        """
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at >= LAST_USED_STEP:
            with storage.optional():  # on SQLite it waits for other writers
                ApiKey.objects.filter(pk=self.pk).update(last_used_at=now)
            self.last_used_at = now
        return self.last_used_at

    @property
    def state(self) -> KeyState:
        """Whether the key can be used now, and if not, why."""
        if self.revoked_at is not None:
            return "revoked"
        now = timezone.now()
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        until = self.owner_active_until
        is_active = self.owner.is_active and (until is None or now < until)
        return "active" if is_active else "ownerInactive"

    @property
    def owner_active_until(self) -> datetime.datetime | None:
        """When its owner stops counting as active; None for no end."""
        return min(filter(None, (limit(self) for limit in _limits)), default=None)

    @property
    def usable_until(self) -> datetime.datetime | None:
        """When it stops working unless something changes; None for no end."""
        return min(filter(None, (self.expires_at, self.owner_active_until)), default=None)

    @events.transaction()
    def revoke(self, *, by: Caller = APPLICATION) -> None:
        """Revoke the key in every process, from the next request on."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])
            self.record("revoked", by=by)
            self.ended = {name: follower(self, by) for name, follower in _followers.items()}

    def record(self, event: str, *, by: Caller) -> None:
        events.record(
            f"key.{event}",
            by=by,
            workspace_id=self.workspace_id,
            prefix=self.prefix,
            owner=self.owner.get_username(),
            name=self.name,
            role=self.role,
            **{name: value for name, value in self.limits.items() if value},
        )

    @property
    def limits(self) -> dict[str, Any]:
        """The actions and the prefix that it is limited to, by their JSON names."""
        return {"actions": self.actions, "idPrefix": self.id_prefix or None}


def refusal(text: str) -> Unauthorized:
    """Return why the key with this secret cannot be used."""
    key = ApiKey.objects.select_related("owner").filter(digest=hash_secret(text)).first()
    if key is not None and key.state == "ownerInactive" and key.owner.is_active:
        return Unauthorized(OWNER_INACTIVE, code="owner_inactive")
    return Unauthorized(UNUSABLE)


def _caller_now(key_id: int, via: Via) -> Caller:
    """Return the caller for the stored key; raises `Unauthorized` if the key cannot be used."""
    key = ApiKey.objects.select_related("owner").filter(pk=key_id).first()
    if key is None or not key.usable:
        raise Unauthorized(UNUSABLE)
    return key.caller(via)


def record_end_of_key(instance: ApiKey, **_signal: Any) -> None:
    """Record that a key was deleted together with its owner or its workspace."""
    if instance.revoked_at is None:
        with events.transaction():
            instance.record("revoked", by=APPLICATION)


def limit_caller(owner: Caller, *, workspace_id: str | None, role: Role | None, **key: Any) -> Caller:
    """Return the caller for a key: its owner, limited to the key's workspace and role."""
    everywhere, roles = owner.everywhere, dict(owner.roles)
    if workspace_id is not None:
        owner_role = everywhere or roles.get(workspace_id)
        everywhere, roles = None, {workspace_id: owner_role} if owner_role else {}
    return replace(
        owner,
        roles={workspace: owner_role.at_most(role) for workspace, owner_role in roles.items()},
        everywhere=everywhere.at_most(role) if everywhere else None,
        key_workspace=workspace_id,
        **key,
    )


def hash_secret(text: str) -> str:
    # The secret has 256 random bits: a fast hash is enough, and a lookup by it needs no scan.
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
