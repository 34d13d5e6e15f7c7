"""What is stored about signing in: identities at providers, and sessions."""

from __future__ import annotations

import datetime
from typing import Final

from django.conf import settings
from django.db import models
from django.utils import timezone

MAX_ISSUER: Final = 255


class Identity(models.Model):
    """Who a person is at a provider: the issuer and the subject, and nothing else, identify them."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    issuer = models.CharField(max_length=MAX_ISSUER)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="identity_unique", fields=["issuer", "subject"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class OpenSession(models.Model):
    """A session of a person, so that they can see where they are signed in."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_at = models.DateTimeField(default=timezone.now)
    """The latest request, to a few minutes."""
    browser = models.CharField(max_length=200, blank=True)
    """What the browser says that it is."""
    address = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(name="open_session_seen", fields=["seen_at"])]

    def __str__(self) -> str:
        return f"{self.user} since {self.created_at:%Y-%m-%d}"

    @classmethod
    def remove_idle(cls, idle: datetime.timedelta) -> None:
        """Delete the rows of sessions that nobody has used for so long."""
        cls._default_manager.filter(seen_at__lt=timezone.now() - idle).delete()
