"""The key from which the secrets of all webhooks are derived."""

from __future__ import annotations

from django.conf import settings

from versioning.models.sealed_keys import KeyUnreadable, SealedKey


class RootKeyUnreadable(KeyUnreadable):
    """No key in the settings decrypts the root key, so nothing can be signed."""

    code = "webhook_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key of the webhooks cannot be read: EDITOR_WEBHOOK_KEY or SECRET_KEY was changed. Put the "
            "previous SECRET_KEY into SECRET_KEY_FALLBACKS, or the previous EDITOR_WEBHOOK_KEY behind the "
            "new one, after a comma."
        )


class RootKey(SealedKey):
    """The root key, which the database stores encrypted."""

    purpose = b"the root key of the editor's webhooks"
    unreadable = RootKeyUnreadable

    @classmethod
    def texts(cls) -> list[str]:
        """Return the keys in `EDITOR_WEBHOOK_KEY`, followed by the others."""
        own = [text for part in settings.EDITOR_WEBHOOK_KEY.split(",") if (text := part.strip())]
        return [*own, *super().texts()]
