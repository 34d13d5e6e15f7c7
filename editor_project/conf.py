"""The settings of the deployment."""

from __future__ import annotations

import re
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import Setting, written_as

HIGHEST_PORT: Final = 65535
_ADDRESS: Final = r"(\[[0-9a-fA-F:]+\]|[^\s:]+):[0-9]{1,5}"

KEY: Final = re.compile(r"ek_[A-Za-z0-9_-]{43}")
"""The form of the editor's API keys."""


def _check_key(name: str, value: str) -> None:
    """Raise `ImproperlyConfigured` for an invalid key, without repeating it."""
    if value and not KEY.fullmatch(value):
        raise ImproperlyConfigured(
            f"{name} has to be ek_ and 43 of the characters A-Z, a-z, 0-9, _ and -, chosen at random."
        )


def _check_address(name: str, value: str) -> None:
    written_as(_ADDRESS, "an address and a port, such as 127.0.0.1:9108")(name, value)
    if value and not 0 < int(value.rpartition(":")[2]) <= HIGHEST_PORT:
        raise ImproperlyConfigured(f"{name} has to name a port from 1 to {HIGHEST_PORT}, not {value!r}.")


def check_prefix(**_options: Any) -> list[CheckMessage]:
    """Return an error for a prefix of the API below which the service has other addresses.

    This is a Django system check; a project with its own addresses does not install this application.
    """
    first = str(settings.EDITOR_API_PREFIX).partition("/")[0]
    reserved = {"studio", "scim", "healthz", "readyz", settings.STATIC_URL.strip("/")}
    if first not in reserved:
        return []
    message = (
        f"EDITOR_API_PREFIX is {settings.EDITOR_API_PREFIX!r}, but the service has other addresses there."
    )
    return [Error(message, hint="Choose a prefix such as /api.", id="editor_project.E002")]


SETTINGS: Final = (
    Setting(
        "EDITOR_DEMO_KEY",
        "",
        "the API key that `manage.py demo` makes, and so `make run`",
        "none",
        check=_check_key,
    ),
    Setting(
        "EDITOR_METRICS_BIND",
        "",
        "the address at which a process serves its [metrics](metrics.md)",
        "off",
        check=_check_address,
    ),
    Setting(
        "EDITOR_TRANSACTION_POOLING",
        default=False,
        meaning="`on` behind a pooler in transaction mode, such as "
        "[pgbouncer](../guides/use-postgresql.md#use-pgbouncer)",
        shown="off",
    ),
)
