"""What the directory calls an account."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class DirectoryAccount(models.Model):
    """An account that the directory has made or looks after."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    external_id = models.CharField(max_length=255, null=True, unique=True)  # noqa: DJ001  unique
    is_made_here = models.BooleanField(default=False)
    """Whether the directory has made it, so that a sign-in with this id as its subject is its own."""
    mail_type = models.CharField(max_length=64, default="work")
    mail_is_primary = models.BooleanField(default=True)
    """What the directory says of the mail address, the only one that an account has."""
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"{self.external_id} is {self.user}"
