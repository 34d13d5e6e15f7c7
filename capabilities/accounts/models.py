"""Accounts of the directory, identities at providers, sessions and second factors."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from versioning.models.sealed_keys import KeyUnreadable, SealedKey

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


MAX_ISSUER: Final = 255
MAX_EXTERNAL_ID: Final = 255
MAX_MAIL_TYPE: Final = 64


class Identity(models.Model):
    """The identity of a person at a provider, determined by issuer and subject only."""

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
    address = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(name="open_session_seen", fields=["seen_at"])]

    def __str__(self) -> str:
        return f"{self.user} since {self.created_at:%Y-%m-%d}"

    @classmethod
    def remove_idle(cls, idle: datetime.timedelta) -> None:
        cls._default_manager.filter(seen_at__lt=timezone.now() - idle).delete()


CODES: Final = 10
_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
_LENGTH: Final = 16


class Kind(models.TextChoices):
    TOTP = "totp"
    WEBAUTHN = "webauthn"
    RECOVERY = "recovery"
    """The codes for lost factors; alone they are not a second factor."""


class FactorKeyUnreadable(KeyUnreadable):
    """The key of second factors cannot be read, so people who have one cannot sign in."""

    code = "second_factor_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key of the second factors cannot be read: SECRET_KEY was changed. Put the previous "
            "SECRET_KEY into SECRET_KEY_FALLBACKS."
        )


class FactorKey(SealedKey):
    purpose = b"the key of the editor's second factors"
    unreadable = FactorKeyUnreadable


class SecondFactor(models.Model):
    """A second factor of a person. Its data is stored encrypted, recovery codes as hashes."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=80, blank=True)
    sealed = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                name="second_factor_once",
                fields=["user", "kind"],
                condition=models.Q(kind__in=[Kind.TOTP.value, Kind.RECOVERY.value]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.user}"

    @property
    def data(self) -> dict[str, Any]:
        """The data to verify it; raises `FactorKeyUnreadable`."""
        data: dict[str, Any] = json.loads(_box().decrypt(self.sealed))
        return data

    def store(self, data: dict[str, Any], **changes: Any) -> None:
        """Save the data to verify it, encrypted; raises `FactorKeyUnreadable`."""
        self.sealed = _box().encrypt(json.dumps(data).encode()).decode()
        for name, value in changes.items():
            setattr(self, name, value)
        self.save()

    @classmethod
    def of(cls, user: Any) -> models.QuerySet[SecondFactor]:
        return SecondFactor.objects.filter(user=user)

    @classmethod
    def is_set_up(cls, user: Any) -> bool:
        """Return whether a person has a second factor; recovery codes alone do not count."""
        return cls.of(user).exclude(kind=Kind.RECOVERY).exists()


def new_recovery_codes(user: Any) -> list[str]:
    """Return new recovery codes of a person, which replace earlier ones; only their hashes are stored."""
    codes = ["".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH)) for _ in range(CODES)]
    with transaction.atomic():
        row = SecondFactor.of(user).filter(kind=Kind.RECOVERY).first()
        row = row or SecondFactor(user=user, kind=Kind.RECOVERY)
        row.store({"digests": [_digest(code) for code in codes]}, created_at=timezone.now())
    return ["-".join(code[start : start + 4] for start in range(0, _LENGTH, 4)) for code in codes]


def use_recovery_code(user: Any, code: str) -> bool:
    digest = _digest("".join(code.lower().split()).replace("-", ""))
    with transaction.atomic():
        row = SecondFactor.of(user).filter(kind=Kind.RECOVERY).select_for_update().first()
        digests = row.data["digests"] if row is not None else []
        if row is None or digest not in digests:
            return False
        row.store(
            {"digests": [hashed for hashed in digests if hashed != digest]}, last_used_at=timezone.now()
        )
    return True


def recovery_codes_left(user: Any) -> int:
    row = SecondFactor.of(user).filter(kind=Kind.RECOVERY).first()
    return len(row.data["digests"]) if row is not None else 0


def _digest(code: str) -> str:
    # A code has 79 random bits: a fast hash is enough.
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


def _box() -> Fernet:
    # Not at the top: cryptography takes 7 MiB, and few processes need it.
    from cryptography.fernet import Fernet  # noqa: PLC0415

    return Fernet(base64.urlsafe_b64encode(FactorKey.load_key()))


class DirectoryAccount(models.Model):
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    external_id = models.CharField(max_length=MAX_EXTERNAL_ID, null=True, unique=True)  # noqa: DJ001  unique
    is_made_here = models.BooleanField(default=False)
    """Whether the directory created it, so that a sign-in with this id as its subject belongs to it."""
    mail_type = models.CharField(max_length=MAX_MAIL_TYPE, default="work")
    mail_is_primary = models.BooleanField(default=True)
    """The directory's flag of the mail address, the only one that an account has."""
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"{self.external_id} is {self.user}"


__all__ = ["DirectoryAccount", "FactorKey", "Identity", "OpenSession", "SecondFactor"]
