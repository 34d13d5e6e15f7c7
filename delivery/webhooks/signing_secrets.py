"""The secrets with which messages are signed: derived, never stored.

A secret follows from a root key, the id of the webhook and a generation, which rises when it is rotated.
The root key is random and made once. The database holds it encrypted under a key that follows from
`EDITOR_WEBHOOK_KEY`, or from `SECRET_KEY` without it: docs/decisions/0023.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from delivery.webhooks.models import Webhook
from delivery.webhooks.root_key import RootKey
from delivery.webhooks.signatures import SECRET_PREFIX


def secret_of(webhook: Webhook, root: bytes, *, generation: int | None = None) -> str:
    """Return the secret of a webhook, `whsec_…`; the newest one unless another generation is named."""
    named = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    derived = hmac.new(root, named.encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(derived).decode()


def root_key() -> bytes:
    """Return the root key, made if there is none yet; raises `RootKeyUnreadable`."""
    return RootKey.opened()
