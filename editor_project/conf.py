"""The settings of the deployment."""

from __future__ import annotations

import re
from typing import Final

from django.core.exceptions import ImproperlyConfigured

from versioning.conf import Setting, written_as

_ADDRESS: Final = r"(\[[0-9a-fA-F:]+\]|[^\s:]+):[0-9]{1,5}"

KEY: Final = re.compile(r"ek_[A-Za-z0-9_-]{43}")
"""An API key as the editor makes it."""


def _check_key(name: str, value: str) -> None:
    """Raise `ImproperlyConfigured` for what is no key; the sentence does not repeat it."""
    if value and not KEY.fullmatch(value):
        raise ImproperlyConfigured(
            f"{name} has to be ek_ and 43 of the characters A-Z, a-z, 0-9, _ and -, chosen at random."
        )


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
        "the address at which a process serves its [metrics](operating.md#metrics)",
        "off",
        check=written_as(_ADDRESS, "an address and a port, such as 127.0.0.1:9108"),
    ),
    Setting(
        "EDITOR_TRANSACTION_POOLING",
        default=False,
        meaning="`on` behind a pooler in transaction mode, such as [pgbouncer](deployment.md#pgbouncer)",
        shown="off",
    ),
)
