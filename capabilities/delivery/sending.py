"""One request to a receiver, only to IP addresses that were checked, and within one deadline.

httpcore2 follows no redirects, reads no proxies from the environment and decompresses nothing. This module
adds the choice of the IP address, and one deadline for the whole request: httpcore2's own timeouts restart
with every byte.
"""

from __future__ import annotations

import codecs
import datetime
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

import httpcore2
from django.utils import timezone
from editor_client.certificates import ssl_context

from capabilities.delivery.models import DeliveryAttempt
from capabilities.delivery.targets import Address, Refused, resolve
from versioning.domain.texts import clip

SECONDS: Final = 15.0
"""The time for a whole request: to resolve the host, connect, send the message and read the answer."""
READ_BYTES: Final = 16 * 1024
KEPT_BYTES: Final = 1024
LONGEST_RETRY_AFTER: Final = 24 * 3600.0
_WITH_RETRY_AFTER: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


def send(url: str, headers: Mapping[str, str], message: bytes) -> DeliveryAttempt:
    """Send a message; return the attempt, unsaved. Failures are attempts too; nothing is raised."""
    at, began = timezone.now(), time.monotonic()
    deadline = _Deadline(began + SECONDS)
    status: int | None = None
    pause, body, error = 0.0, bytearray(), ""
    try:
        target, addresses = resolve(url, deadline.left)
        with (
            httpcore2.HTTPConnection(
                httpcore2.Origin(target.scheme.encode(), target.host.encode(), target.port),
                ssl_context=ssl_context() if target.scheme == "https" else None,
                network_backend=_CheckedBackend(addresses, deadline),
            ) as connection,
            connection.stream(
                "POST",
                httpcore2.URL(
                    scheme=target.scheme.encode(),
                    host=target.host.encode(),
                    port=target.port,
                    target=target.path.encode(),
                ),
                headers=[("Host", target.authority), ("Connection", "close"), *headers.items()],
                content=message,
            ) as response,
        ):
            status = response.status
            if status in _WITH_RETRY_AFTER:
                answered = {key.lower(): value.decode("latin-1") for key, value in response.headers[::-1]}
                pause = retry_after(answered.get(b"retry-after", ""), at)
            # Once there is a status, a missing body is not a failure.
            with suppress(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
                for chunk in response.iter_stream():
                    body += chunk
                    if len(body) >= READ_BYTES:
                        break
    except Refused as refusal:
        error = f"The URL {refusal}."
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        ssl.SSLError,
    ) as failure:
        error = _sentence(failure)
    if status is not None:
        redirects = "; redirects are not followed" if HTTPStatus(300) <= status < HTTPStatus(400) else ""
        is_success = HTTPStatus(200) <= status < HTTPStatus(300)
        error = "" if is_success else f"The receiver answered {status}{redirects}."
    attempt = DeliveryAttempt(
        at=at,
        status_code=status,
        milliseconds=round((time.monotonic() - began) * 1000),
        error=error,
        response=_text(bytes(body[:READ_BYTES])),
    )
    attempt.retry_after = pause
    return attempt


class _Deadline:
    """The time at which a request ends, complete or not."""

    def __init__(self, until: float) -> None:
        self._until = until

    @property
    def left(self) -> float:
        """The seconds left; never 0, which would make a socket non-blocking."""
        return max(self._until - time.monotonic(), 0.001)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until


class _CheckedBackend(httpcore2.NetworkBackend):
    """Connects to the first of the checked IP addresses that answers, without resolving the host again."""

    def __init__(self, addresses: Sequence[Address], deadline: _Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._backend = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect; the remaining time is divided among the remaining addresses."""
        for remaining, address in zip(range(len(self._addresses), 0, -1), self._addresses, strict=True):
            try:
                stream = self._backend.connect_tcp(
                    str(address), port, timeout=self._deadline.left / remaining
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if remaining == 1:
                    raise
            else:
                return _TimedStream(stream, self._deadline)
        raise httpcore2.ConnectError


class _TimedStream(httpcore2.NetworkStream):
    """A connection whose operations share one deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: _Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._deadline.is_over:
            raise httpcore2.ReadTimeout
        return self._stream.read(max_bytes, timeout=self._deadline.left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._deadline.is_over:
            raise httpcore2.WriteTimeout
        self._stream.write(buffer, timeout=self._deadline.left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=self._deadline.left)
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def retry_after(header: str, now: datetime.datetime) -> float:
    """Return the seconds that a `Retry-After` asks for, as a number or a date; 0 if it is neither."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:12]), LONGEST_RETRY_AFTER))
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for a number of twenty digits
        return 0.0
    if until.tzinfo is None:
        until = until.replace(tzinfo=datetime.UTC)
    return min(max((until - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER)


def _text(answer: bytes) -> str:
    """Return the beginning of any bytes as text that every database can store, cut between characters."""
    text = answer.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    beginning = codecs.getincrementaldecoder("utf-8")("replace").decode(answer[:KEPT_BYTES])
    return clip(text, len(beginning))


def _sentence(failure: Exception) -> str:
    match failure:
        case httpcore2.ConnectTimeout():
            return "The receiver did not accept the connection in time."
        case httpcore2.TimeoutException():
            return f"The receiver did not answer within {SECONDS:.0f} seconds."
        case httpcore2.ConnectError() | ssl.SSLError():
            return _text(f"The connection failed: {failure}".encode())
        case httpcore2.ProtocolError() if "disconnected" not in str(failure):
            return "The receiver's answer is not HTTP."
    return "The receiver ended the connection without an answer."
