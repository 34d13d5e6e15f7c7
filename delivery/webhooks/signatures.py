"""The headers of a message, as Standard Webhooks 1.0 has them. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable

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
