"""Random keys, generated once and stored encrypted under a key derived from the settings.

Signatures and secrets made with such a key stay valid when `SECRET_KEY` changes: the key is decrypted with
any of the texts in the settings, including `SECRET_KEY_FALLBACKS`, and then encrypted under the newest
(docs/decisions/0023).
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar, Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.core import signing
from django.db import models

from versioning.capabilities import session_store
from versioning.domain.errors import VersioningError

KEY_BYTES: Final = 32


class KeyUnreadable(VersioningError):
    """No text in the settings decrypts a stored key; code that needs the key fails until one does."""

    code = "key_unreadable"


class SealedKey(models.Model):
    """The one row with a key, encrypted. Each use of keys has its own table."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    sealed = models.TextField()

    purpose: ClassVar[bytes]
    """The purpose of the key: no two purposes encrypt under the same key."""
    unreadable: ClassVar[type[KeyUnreadable]]

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return "sealed"

    @classmethod
    def texts(cls) -> list[str]:
        """Return the settings' texts from which keys are derived: the first encrypts, all decrypt."""
        return [settings.SECRET_KEY, *filter(None, settings.SECRET_KEY_FALLBACKS)]

    @classmethod
    def load_key(cls) -> bytes:
        """Return the key, 32 bytes, generated if there is none yet.

        If an older text of the settings decrypts it, it is encrypted again under the newest. Raises the
        `unreadable` of the class if no text does.
        """
        # Not at the top: cryptography takes 7 MiB, and few processes need a key.
        from versioning.models import sealing  # noqa: PLC0415

        rows = cls._default_manager
        keys = sealing.Keys(cls.texts(), cls.purpose)
        stored = rows.values_list("sealed", flat=True).first()
        if stored is None:
            sealed = keys.seal(secrets.token_bytes(KEY_BYTES))
            rows.bulk_create([cls(sealed=sealed)], ignore_conflicts=True)
            stored = rows.values_list("sealed", flat=True).get()
        try:
            key, renewed = keys.open(stored)
        except sealing.Unreadable:
            raise cls.unreadable from None
        if renewed is not None:
            rows.filter(sealed=stored).update(sealed=renewed)
        return key

    @classmethod
    def is_under_fallback(cls) -> bool:
        """Return whether the stored key is encrypted under an older text of the settings.

        Raises the `unreadable` of the class if no text decrypts it.
        """
        from versioning.models import sealing  # noqa: PLC0415  as above

        stored = cls._default_manager.values_list("sealed", flat=True).first()
        if stored is None:
            return False
        try:
            return sealing.Keys(cls.texts(), cls.purpose).open(stored)[1] is not None
        except sealing.Unreadable:
            raise cls.unreadable from None

    @classmethod
    def keep_up(cls) -> None:
        """Encrypt the key again if there is one and the newest text of the settings has changed."""
        if cls._default_manager.exists():
            cls.load_key()


class LockKeyUnreadable(KeyUnreadable):
    """The key that signs locks cannot be read; no lock can be made or used."""

    code = "lock_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key that signs locks cannot be read: SECRET_KEY was changed. Put the previous SECRET_KEY "
            "into SECRET_KEY_FALLBACKS."
        )


class LockKey(SealedKey):
    """The key that signs locks, so that an installation recognizes its own."""

    purpose = b"the key of the editor's locks"
    unreadable = LockKeyUnreadable


_AT_ONCE: Final = 500


def sealed_keys() -> list[type[SealedKey]]:
    """Return the models of stored keys, of all applications."""
    return [model for model in apps.get_models() if issubclass(model, SealedKey)]


def rotate_sessions() -> int:
    """Sign sessions of an earlier `SECRET_KEY` with the current one; return their number.

    People stay signed in. Sessions outside the database are not signed again.
    """
    store = session_store()
    if not issubclass(store, SessionStore):
        return 0
    rows = store.get_model_class()._default_manager
    changed = 0
    for row in rows.order_by("pk").iterator(_AT_ONCE):
        session = store().decode(row.session_data)
        if session and _rotate_contents(store(), row.session_data, session):
            # A session that changed in the meantime has been signed with the current key.
            changed += rows.filter(pk=row.pk, session_data=row.session_data).update(
                session_data=store().encode(session)
            )
    return changed


def _rotate_contents(store: Any, data: str, session: dict[str, Any]) -> bool:
    """Bring the contents of a session up to date; return whether anything is under an earlier key."""
    try:
        signing.loads(data, salt=store.key_salt, serializer=store.serializer, fallback_keys=[])
        was_signed_earlier = False
    except signing.BadSignature:
        was_signed_earlier = True
    digest, person_id = session.get(HASH_SESSION_KEY), session.get(SESSION_KEY)
    person = get_user_model()._default_manager.filter(pk=person_id).first() if digest and person_id else None
    if person is not None and digest in set(person.get_session_auth_fallback_hash()):
        session[HASH_SESSION_KEY] = person.get_session_auth_hash()
        return True
    return was_signed_earlier
