"""Claims the service's address, so that no other process listens on it."""

from __future__ import annotations

import errno
import socket
import sys
from typing import Final

_HIGHEST: Final = 65535


class Unusable(Exception):
    """The service cannot listen on the address; the message is a sentence."""


def parse(bind: str) -> tuple[str, int]:
    """Return the address and the port of `--bind`; raises `Unusable`."""
    host, _, port = bind.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > _HIGHEST:
        raise Unusable(f"--bind must look like 127.0.0.1:8000, not {bind!r}")
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unusable(f"--bind: no address is known for {host}") from None
    address = addresses[0][4]
    return str(address[0]), int(address[1])


def claim(address: str, port: int) -> socket.socket:
    """Return a socket that prevents others from listening on the address while it is open.

    Workers share their port by SO_REUSEPORT, with which a second service could silently join, and each would
    get half of the requests. So the port is first bound without it, which fails if it is in use, and shared
    afterwards. Raises `Unusable`.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Connections of a service that has just ended do not matter, a listening one does.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        if sys.platform == "linux":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        else:  # elsewhere a bound port cannot be shared, and granian's workers share one socket
            listener.close()
    except OSError as error:
        listener.close()
        raise Unusable(_sentence(error, address, port)) from error
    return listener


def _sentence(error: OSError, address: str, port: int) -> str:
    where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    match error.errno:
        case errno.EADDRINUSE:
            return f"{where} is in use: another program listens there. Choose another port with --bind."
        case errno.EACCES:
            return f"This user may not listen on {where}: choose a port from 1024 on with --bind."
        case errno.EADDRNOTAVAIL:
            return f"{where} cannot be listened on: {address} is no address of this machine."
        case _:
            return f"{where} cannot be listened on: {error.strerror}."
