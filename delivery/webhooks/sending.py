"""One request to a receiver: to the addresses that were checked, within one deadline, and nowhere else.

httpcore follows no redirects, reads no proxies from the environment and unpacks nothing. What is added here
is where it connects to, and that all of a request has one deadline: httpcore's own timeouts begin anew with
every byte.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import httpcore
import httpx
from django.utils import timezone

from delivery.webhooks.addresses import Address, Refused, Target
from delivery.webhooks.models import Outcome
from delivery.webhooks.resolving import looked_up
from delivery.webhooks.retries import retry_after

SECONDS: Final = 15.0
"""How long a receiver has for all of it: its host to resolve, to connect, to take the message and answer."""
READ_BYTES: Final = 16 * 1024
KEPT_BYTES: Final = 1024
_HEEDED: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


def send(url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Send a message and return what came of it; a failure is an outcome too, and nothing is raised."""
    at, began = timezone.now(), time.monotonic()
    deadline = _Deadline(began + SECONDS)
    status: int | None = None
    asked, answer, error = 0.0, b"", ""
    try:
        target, addresses = looked_up(url, deadline.left)
        with (
            httpcore.HTTPConnection(
                httpcore.Origin(target.scheme.encode(), target.host.encode(), target.port),
                ssl_context=_ssl_context() if target.scheme == "https" else None,
                network_backend=_CheckedAddresses(addresses, deadline),
            ) as connection,
            connection.stream("POST", _url(target), headers=_headers(target, headers), content=body) as found,
        ):
            status = found.status
            if status in _HEEDED:
                asked = retry_after(_header(found, b"retry-after"), at)
            answer = _beginning(found.iter_stream())
    except Refused as refusal:
        error = f"The URL {refusal}."
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        ssl.SSLError,
    ) as failure:
        error = _sentence(failure)
    if status is not None:
        error = "" if HTTPStatus(200) <= status < HTTPStatus(300) else _refusal(status)
    return Outcome(
        at=at,
        status_code=status,
        milliseconds=round((time.monotonic() - began) * 1000),
        error=error,
        response=_text(answer),
        retry_after=asked,
    )


class _Deadline:
    """The moment at which a request is over, whatever has arrived."""

    def __init__(self, until: float) -> None:
        self._until = until

    @property
    def left(self) -> float:
        """The seconds left, but never none at all, which a socket would take for "do not wait"."""
        return max(self._until - time.monotonic(), 0.001)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until


class _CheckedAddresses(httpcore.NetworkBackend):
    """Connects to the first address that answers, whatever the host resolves to by now."""

    def __init__(self, addresses: Sequence[Address], deadline: _Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect; the time that is left is divided among the addresses that are left."""
        *others, last = self._addresses
        for number, address in enumerate(others):
            share = self._deadline.left / (len(self._addresses) - number)
            try:
                stream = self._backend.connect_tcp(str(address), port, timeout=share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            return _TimedStream(stream, self._deadline)
        return _TimedStream(
            self._backend.connect_tcp(str(last), port, timeout=self._deadline.left), self._deadline
        )


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every step has the time that is left of the whole."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._deadline.is_over:
            raise httpcore.ReadTimeout
        return self._stream.read(max_bytes, timeout=self._deadline.left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._deadline.is_over:
            raise httpcore.WriteTimeout
        self._stream.write(buffer, timeout=self._deadline.left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=self._deadline.left)
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return what checks the certificates of receivers; `SSL_CERT_FILE` names authorities of one's own."""
    return httpx.create_ssl_context()


def _url(target: Target) -> httpcore.URL:
    return httpcore.URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=target.port,
        target=target.path.encode(),
    )


def _headers(target: Target, own: Mapping[str, str]) -> list[tuple[str, str]]:
    return [("Host", target.authority), ("Connection", "close"), *own.items()]


def _header(answer: httpcore.Response, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in answer.headers if key.lower() == name), "")


def _beginning(chunks: Iterable[bytes]) -> bytes:
    """Return the beginning of an answer; what is missing at the deadline is no failure any more."""
    read = bytearray()
    try:
        for chunk in chunks:
            read += chunk
            if len(read) >= READ_BYTES:
                break
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
        pass
    return bytes(read[:KEPT_BYTES])


def _text(answer: bytes) -> str:
    """Return bytes of anybody's as text that every database can store."""
    return answer.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _refusal(status: int) -> str:
    if 300 <= status < 400:  # noqa: PLR2004  redirects
        return f"The receiver answered {status}; redirects are not followed."
    return f"The receiver answered {status}."


def _sentence(failure: Exception) -> str:
    match failure:
        case httpcore.ConnectTimeout():
            return "The receiver did not accept the connection in time."
        case httpcore.TimeoutException():
            return f"The receiver did not answer within {SECONDS:.0f} seconds."
        case httpcore.ConnectError() | ssl.SSLError():
            return _text(f"The connection failed: {failure}".encode())[:KEPT_BYTES]
        case httpcore.ProtocolError() if "disconnected" not in str(failure):
            return "The receiver's answer is not HTTP."
    return "The receiver ended the connection without an answer."
