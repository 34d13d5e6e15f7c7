"""Invitations: shown once as a link, stored as a hash, accepted by the invited person."""

from __future__ import annotations

import datetime
import re
import secrets
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.core import signing
from django.db import models
from django.utils import timezone

from versioning.domain.access import Role
from versioning.models import events
from versioning.models.keys import hash_secret
from versioning.models.workspaces import ROLE_CHOICES, Membership, Workspace

if TYPE_CHECKING:
    from versioning.domain.access import Caller

MAX_NAME: Final = 150
"""The maximum length of a user name in Django's own model; other user models may allow more."""

VALID_FOR: Final = datetime.timedelta(days=3)
_MAILED: Final = re.compile(r"ei_([0-9]{1,18})-[A-Za-z0-9_-]{43}")


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def pending(self) -> InvitationQuerySet:
        """Return the invitations that are not accepted, expired ones included."""
        return self.filter(accepted_at=None)

    def acceptable(self) -> InvitationQuerySet:
        """Return the invitations that can be accepted now.

        Excluded are accepted and expired invitations, and those whose inviter has lost the right to invite: a
        former admin must not return through an earlier invitation. An invitation without an inviter was made
        by the application.
        """
        administers = Membership.objects.filter(
            user=models.OuterRef("invited_by"), workspace=models.OuterRef("workspace"), role=Role.ADMIN
        )
        may_invite = models.Q(invited_by=None) | models.Q(invited_by__is_active=True) & (
            models.Q(invited_by__is_superuser=True) | models.Exists(administers)
        )
        return self.pending().filter(may_invite, expires_at__gt=timezone.now())

    def digest_of(self, token: str) -> str:
        """Return the digest by which the invitation of a link is found; it need not exist."""
        mailed = _MAILED.fullmatch(token)
        row = self.filter(pk=int(mailed[1])).first() if mailed else None
        return hash_secret(token) if row is None or not row.is_mailed_token(token) else row.digest


class Invitation(models.Model):
    """A role offered to the person who has, or creates, an account with this name."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="invitations")
    username = models.CharField(max_length=MAX_NAME)
    role = models.CharField(max_length=16, choices=ROLE_CHOICES)
    mail = models.EmailField(blank=True, default="", db_default="")
    """The mail address for the link, if the inviter gave one and the installation sends mail."""
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, editable=False)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["username"]
        constraints = [
            models.UniqueConstraint(name="invitation_digest_unique", fields=["digest"]),
            models.UniqueConstraint(
                name="invitation_pending_once",
                fields=["workspace", "username"],
                condition=models.Q(accepted_at=None),
            ),
            models.CheckConstraint(
                name="invitation_role_known", condition=models.Q(role__in=[role.value for role in Role])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.username} is invited to {self.workspace_id} as {self.role}"

    def issue(self, by: Caller) -> str:
        """Save the invitation as made now by the caller, and return the secret of its link.

        A previous link no longer works.
        """
        # The prefix lets editor_project.log_config remove the secret from log lines.
        token = f"ei_{secrets.token_urlsafe(32)}"
        self.digest = hash_secret(token)
        self.invited_by_id = by.user_id
        self.expires_at = timezone.now() + VALID_FOR
        self.save()
        self.record("created", by)
        return token

    @property
    def mailed_token(self) -> str:
        """The secret of the link in mail.

        The secret that `issue` returned is not stored, so this one is made of its hash and `SECRET_KEY`. Both
        lead to the same invitation, and a new link ends both.
        """
        return f"ei_{self.pk}-{self._signer.signature(str(self.pk))}"

    def is_mailed_token(self, token: str) -> bool:
        """Return whether this is its `mailed_token`, or was with an earlier `SECRET_KEY`."""
        try:
            self._signer.unsign(token.removeprefix("ei_").replace("-", ":", 1))
        except signing.BadSignature:
            return False
        return True

    @property
    def _signer(self) -> signing.Signer:
        return signing.Signer(salt=f"{__name__} {self.digest}")

    def record(self, event: str, by: Caller) -> None:
        """Record an event of the invitation."""
        detail: dict[str, Any] = {"username": self.username, "role": self.role}
        events.record(f"invitation.{event}", by=by, workspace_id=self.workspace_id, **detail)
