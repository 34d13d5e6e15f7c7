"""The settings of streams and webhooks."""

from __future__ import annotations

from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from delivery.webhooks.targets import Allowed
from versioning.conf import Setting


def _check_allowed(name: str, value: Any) -> None:
    try:
        Allowed.read(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


SETTINGS: Final = (
    Setting(
        "EDITOR_WEBHOOK_ALLOW",
        (),
        "internal receivers that [webhooks](webhooks.md#which-receivers-are-allowed) may be sent to",
        "none",
        kind=list,
        check=_check_allowed,
        error_id="delivery.E001",
    ),
    Setting("EDITOR_WEBHOOK_KEY", "", "a long random text", "as `SECRET_KEY`"),
)
