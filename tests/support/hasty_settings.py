"""The settings of a server that closes idle connections after a few seconds, not after half a minute."""

from __future__ import annotations

from granian.http import HTTP1Settings

from editor_project.server import connections
from editor_project.settings import *  # noqa: F403

IDLE_SECONDS = 3
connections.IDLE_SECONDS = IDLE_SECONDS  # type: ignore[misc]
connections.HTTP = HTTP1Settings(  # type: ignore[misc]
    header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=connections.MAX_HEAD
)
