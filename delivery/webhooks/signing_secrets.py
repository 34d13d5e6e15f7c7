"""The secrets with which messages are signed: derived, never stored.

A secret follows from a root key, the id of the webhook and a generation, which rises when it is rotated.
The root key is random and made once. The database holds it encrypted under a key that follows from
`EDITOR_WEBHOOK_KEY`, or from `SECRET_KEY` without it: docs/decisions/0023.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

from django.conf import settings

from delivery.webhooks.models import RootKey, Webhook
from delivery.webhooks.signatures import SECRET_PREFIX
from versioning.domain.errors import VersioningError

KEY_BYTES: Final = 32


class RootKeyUnreadable(VersioningError):
    """None of the keys in the settings opens the root key; nothing can be signed until one does."""

    code = "webhook_key_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "The key of the webhooks cannot be read: EDITOR_WEBHOOK_KEY or SECRET_KEY was changed. Put the "
            "previous SECRET_KEY into SECRET_KEY_FALLBACKS, or the previous EDITOR_WEBHOOK_KEY behind the "
            "new one, after a comma."
        )


def secret_of(webhook: Webhook, root: bytes, *, generation: int | None = None) -> str:
    """Return the secret of a webhook, `whsec_…`; the newest one unless another generation is named."""
    named = f"{webhook.pk}:{webhook.generation if generation is None else generation}"
    derived = hmac.new(root, named.encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(derived).decode()


def root_key() -> bytes:
    """Return the root key, made if there is none yet.

    If an older key of the settings opens it, it is encrypted anew under the newest. Raises
    `RootKeyUnreadable` if no key does.
    """
    # Not at the top: cryptography takes 7 MiB, and few processes have to do with webhooks.
    from delivery.webhooks import sealing  # noqa: PLC0415

    keys = sealing.Keys(_texts())
    stored = RootKey.objects.values_list("sealed", flat=True).first()
    if stored is None:
        made = keys.seal(secrets.token_bytes(KEY_BYTES))
        RootKey.objects.bulk_create([RootKey(sealed=made)], ignore_conflicts=True)
        stored = RootKey.objects.values_list("sealed", flat=True).get()
    try:
        root, renewed = keys.open(stored)
    except sealing.Unreadable:
        raise RootKeyUnreadable from None
    if renewed is not None:
        RootKey.objects.filter(sealed=stored).update(sealed=renewed)
    return root


def _texts() -> list[str]:
    """Return the texts of the settings that keys are made of: the first encrypts, all of them decrypt."""
    own = [text for part in settings.EDITOR_WEBHOOK_KEY.split(",") if (text := part.strip())]
    fallbacks = [text for text in settings.SECRET_KEY_FALLBACKS if text]
    return [*own, settings.SECRET_KEY, *fallbacks]
