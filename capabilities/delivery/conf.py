"""The settings of streams and webhooks."""

from __future__ import annotations

from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from capabilities.delivery.targets import Receivers
from versioning.conf import Setting


def _check_receivers(name: str, value: Any) -> None:
    try:
        Receivers.read(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from error


SETTINGS: Final = (
    Setting(
        "EDITOR_WEBHOOK_ALLOW",
        (),
        "internal receivers that [webhooks](webhooks.md#which-receivers-are-allowed) may be sent to",
        "none",
        kind=list,
        check=_check_receivers,
        error_id="delivery.E001",
    ),
    Setting(
        "EDITOR_WEBHOOK_DENY",
        (),
        "receivers that [webhooks](webhooks.md#which-receivers-are-allowed) are never sent to, also where "
        "`EDITOR_WEBHOOK_ALLOW` opens them",
        "none",
        kind=list,
        check=_check_receivers,
        error_id="delivery.E002",
    ),
    Setting("EDITOR_WEBHOOK_KEY", "", "a long random text", "as `SECRET_KEY`"),
)
