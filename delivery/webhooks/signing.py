"""Sign messages as Standard Webhooks 1.0 specifies, with secrets that are derived and never stored.

A secret is derived from a root key, the id of the webhook and a generation, which increases with each
rotation. The root key is random and created once. The database holds it encrypted under a key derived from
`EDITOR_WEBHOOK_KEY`, or else from `SECRET_KEY`: docs/decisions/0023.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable

from delivery.webhooks.models import Webhook

SECRET_PREFIX = "whsec_"  # noqa: S105  what every secret begins with


def signed_headers(message_id: str, timestamp: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """Return the id, the time and the signatures of a message: one signature for each secret.

    `timestamp` is in seconds since 1970, `secrets` are `whsec_` and base64.
    """
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def secret_of(webhook: Webhook, root: bytes, *, generation: int | None = None) -> str:
    """Return the secret of a webhook (`whsec_…`), by default of the newest generation."""
    named = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    derived = hmac.new(root, named.encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(derived).decode()
