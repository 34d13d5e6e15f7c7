"""The limits of a worker's connections, and closing inactive ones.

Connections cost a stranger nothing, so none may stay open forever, whether without a request or with an
unread answer.
"""

from __future__ import annotations

import resource
import socket
from typing import Any, Final

from granian.http import HTTP1Settings

CONNECTIONS: Final = 4096
"""The maximum per worker, if the system allows that many open files; further ones wait."""

IDLE_SECONDS: Final = 30
"""The seconds that a connection may stay open without a complete request head, or without its client reading.
"""

MAX_HEAD: Final = 72 * 1024  # bytes; an address alone may have 64 KiB
_OTHER_FILES: Final = 512  # a worker's own: the database, static files, sockets, modules

HTTP: Final = HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000, max_buffer_size=MAX_HEAD)


def possible(most: int = CONNECTIONS) -> int:
    """Return how many connections a worker may accept, up to `most`; raises the limit on open files.

    The initial limit is often 1 024, which one silent client can use up.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    required_files = most + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < required_files:
        soft = required_files if hard == resource.RLIM_INFINITY else min(required_files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else max(min(most, soft - _OTHER_FILES), 64)


def that_ends(sockets: Any) -> Any:
    """Return a worker's listening sockets, set to close connections whose clients do not read.

    Connections inherit the option from the listening socket. Only Linux supports it; on other systems an
    unread answer stays open as long as the client likes.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return sockets
    (to_be_made, existing), other = sockets
    listening = existing or to_be_made.build()
    with socket.socket(fileno=socket.dup(listening.get_fd())) as duplicate:
        duplicate.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, IDLE_SECONDS * 1000)
    return (None, listening), other
