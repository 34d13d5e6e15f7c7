"""Signatures of webhooks, with secrets derived from a key; that key, which is stored encrypted."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from datetime import UTC, datetime

from django.conf import settings
from standardwebhooks.webhooks import Webhook as Signer

from capabilities.delivery.webhooks.models import Webhook
from versioning.models.sealed_keys import KeyUnreadable, SealedKey

SECRET_PREFIX = "whsec_"  # noqa: S105  what every secret begins with


def signed_headers(message_id: str, timestamp: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """Return the id, the time and the signatures of a message: one signature for each secret.

    `timestamp` is in seconds since 1970, `secrets` are `whsec_` and base64.
    """
    time, text = datetime.fromtimestamp(timestamp, UTC), body.decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(Signer(secret).sign(message_id, time, text) for secret in secrets),
    }


def secret_of(webhook: Webhook, root: bytes, *, generation: int | None = None) -> str:
    """Return the secret of a webhook (`whsec_…`), by default of the newest generation."""
    named = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    derived = hmac.new(root, named.encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(derived).decode()


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
