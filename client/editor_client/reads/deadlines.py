"""A deadline for a whole request.

httpx2 limits each wait separately, so a server that sends a byte now and then could occupy a caller forever.
Only this module accesses the layer below httpx2, where the waits happen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

import httpcore2
import httpx2


class Deadline(threading.local):
    """The deadline for the request of this thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.time: float | None = None

    def at(self, moment: float) -> Self:
        """Set the deadline for requests of this thread within a `with` block."""
        self.time = moment
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        self.time = None

    def limit(self, timeout: float | None, error: type[Exception]) -> float | None:
        """Return how long a wait may take; raises the error if no time is left."""
        if self.time is None:
            return timeout
        left = self.time - self._clock()
        if left <= 0:
            raise error("there is no time left")
        return left if timeout is None else min(timeout, left)

    def apply_to(self, client: httpx2.Client) -> None:
        """Apply the deadline to the connections of an httpx2 client, including those through proxies."""
        for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
            pool = getattr(transport, "_pool", None)
            backend = getattr(pool, "_network_backend", None)
            if pool is not None and backend is not None:
                pool._network_backend = _Backend(backend, self)  # noqa: SLF001


class _Backend(httpcore2.NetworkBackend):
    """Connects like another backend, within the deadline."""

    def __init__(self, inner: httpcore2.NetworkBackend, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        limit = self._deadline.limit(timeout, httpcore2.ConnectTimeout)
        stream = self._inner.connect_tcp(host, port, limit, local_address, socket_options)
        return _Stream(stream, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    """A connection whose waits are all within the deadline."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.limit(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.limit(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        limit = self._deadline.limit(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, limit), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
