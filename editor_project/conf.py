"""The settings of the deployment."""

from __future__ import annotations

from typing import Final

from versioning.conf import Setting, written_as

_ADDRESS: Final = r"(\[[0-9a-fA-F:]+\]|[^\s:]+):[0-9]{1,5}"

SETTINGS: Final = (
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
