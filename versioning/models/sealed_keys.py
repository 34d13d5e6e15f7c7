"""Keys that are random, made once, and stored encrypted under a key that follows from the settings.

What is signed or derived with such a key stays valid when `SECRET_KEY` changes: the key is read with
whichever text of the settings opens it, `SECRET_KEY_FALLBACKS` included, and then encrypted under the newest
(docs/decisions/0023).
"""

from __future__ import annotations

import secrets
from typing import ClassVar, Final

from django.conf import settings
from django.db import models

from versioning.domain.errors import VersioningError

KEY_BYTES: Final = 32


class KeyUnreadable(VersioningError):
    """None of the texts in the settings opens a stored key; what needs it fails until one does."""

    code = "key_unreadable"


class SealedKey(models.Model):
    """The one row with a key, encrypted. Each use of keys has a table of its own."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    sealed = models.TextField()

    purpose: ClassVar[bytes]
    """What the key is for: no two purposes encrypt under the same key."""
    unreadable: ClassVar[type[KeyUnreadable]]

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return "sealed"

    @classmethod
    def texts(cls) -> list[str]:
        """Return the texts of the settings that keys are made of: the first encrypts, all of them decrypt."""
        return [settings.SECRET_KEY, *filter(None, settings.SECRET_KEY_FALLBACKS)]

    @classmethod
    def opened(cls) -> bytes:
        """Return the key, 32 bytes, made if there is none yet.

        If an older text of the settings opens it, it is encrypted again under the newest. Raises the
        `unreadable` of the class if no text does.
        """
        # Not at the top: cryptography takes 7 MiB, and few processes need a key.
        from versioning.models import sealing  # noqa: PLC0415

        rows = cls._default_manager
        keys = sealing.Keys(cls.texts(), cls.purpose)
        stored = rows.values_list("sealed", flat=True).first()
        if stored is None:
            made = keys.seal(secrets.token_bytes(KEY_BYTES))
            rows.bulk_create([cls(sealed=made)], ignore_conflicts=True)
            stored = rows.values_list("sealed", flat=True).get()
        try:
            key, renewed = keys.open(stored)
        except sealing.Unreadable:
            raise cls.unreadable from None
        if renewed is not None:
            rows.filter(sealed=stored).update(sealed=renewed)
        return key

    @classmethod
    def keep_up(cls) -> None:
        """Encrypt the key again, if there is one and another text of the settings is the newest now."""
        if cls._default_manager.exists():
            cls.opened()


class LockKeyUnreadable(KeyUnreadable):
    """The key that signs locks cannot be read; no lock can be made or used."""

    code = "lock_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key that signs locks cannot be read: SECRET_KEY was changed. Put the previous SECRET_KEY "
            "into SECRET_KEY_FALLBACKS."
        )


class LockKey(SealedKey):
    """The key that signs locks: by it an installation knows its own."""

    purpose = b"the key of the editor's locks"
    unreadable = LockKeyUnreadable
