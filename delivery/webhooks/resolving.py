"""Looking up the host of a receiver, once and within a time, and checking every address of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from django.conf import settings

from delivery.webhooks.addresses import Address, Allowed, Refused, Target, checked_addresses, target_of


class NotResolved(Refused):
    """The host has no address, or nobody has said in time."""


def allowed() -> Allowed:
    """Return what `EDITOR_WEBHOOK_ALLOW` opens."""
    return Allowed.read(settings.EDITOR_WEBHOOK_ALLOW)


def looked_up(url: str, seconds: float) -> tuple[Target, list[Address]]:
    """Return what a URL means and the addresses of its host, all of which may be sent to.

    Raises `Refused` if not, and `NotResolved` if the host does not resolve within so many seconds.
    """
    target = target_of(url)
    return target, checked_addresses(target, _resolved(target, seconds), allowed())


def _resolved(target: Target, seconds: float) -> Sequence[str]:
    """Return the addresses of a host, in the order in which they should be tried.

    The system's resolver cannot be stopped, so it works in a thread that is left behind if it takes longer.
    """
    found: list[str] = []

    def look_up() -> None:
        try:
            answers = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # the latter for a name that no host can have
            return
        found.extend(str(answer[4][0]) for answer in answers)

    thread = threading.Thread(target=look_up, name="webhook resolver", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if thread.is_alive():
        raise NotResolved("has a host that did not resolve in time")
    if not found:
        raise NotResolved("has a host that does not resolve")
    return found
