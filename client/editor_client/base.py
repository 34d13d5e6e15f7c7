"""What both clients share: validated settings, and requests in the form that httpx takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic as clock
from typing import Any

import httpx

from editor_client.cache import Scope
from editor_client.calls import Answer, Request
from editor_client.client_calls import ClientCalls
from editor_client.disk import DiskCache
from editor_client.effects import NoAnswer
from editor_client.errors import Unreachable
from editor_client.flows import Flows, Policy

NEEDED_HEADERS = {b"etag", b"retry-after"}


class BaseClient(ABC):
    """The settings of a client.

    timeout                 seconds that a call may take, retries and pauses included
    run_timeout             the same for `generate`; of a stream `timeout` limits each silence
    retries                 how often a read is sent again when no server answers
    max_age                 seconds for which a read counts as fresh; 0 asks the server every time
    stale_while_revalidate  seconds after `max_age` in which a read is answered from the cache at
                            once, while the server is asked in the background
    cache_dir               a folder for the last good answers, for the time after a restart
    api_prefix              where the server has its API

    Raises `ValueError` for a setting that makes no sense.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str,
        timeout: float = 10,
        run_timeout: float = 300,
        retries: int = 2,
        max_age: float = 0,
        stale_while_revalidate: float = 0,
        cache_dir: str | Path | None = None,
        api_prefix: str = "/api",
    ) -> None:
        policy = Policy(
            timeout=timeout,
            run_timeout=run_timeout,
            retries=retries,
            max_age=max_age,
            stale_while_revalidate=stale_while_revalidate,
        )
        _check(url, api_key, policy)
        self._root = "/".join(part.strip("/") for part in (url, api_prefix) if part.strip("/"))
        self._headers = {"Authorization": f"Bearer {api_key}", "Accept": "application/json"}
        self._timeout = timeout
        self._calls = ClientCalls()
        scope = Scope.of(self._root, api_key)
        disk = None if cache_dir is None else DiskCache(Path(cache_dir), scope)
        self._clock = clock
        self._flows = Flows(scope, policy, disk, clock)
        self._start()

    @property
    def address(self) -> str:
        """The address of the API."""
        return self._root

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._root!r})"

    @abstractmethod
    def _start(self) -> None:
        """Create what the driver needs."""

    def _as_sent(
        self, request: Request, etag: str | None = None, accept: str | None = None
    ) -> dict[str, Any]:
        """Return a request as the arguments of `httpx.Client.request`."""
        headers = {"If-None-Match": etag, "If-Match": request.if_match, "Accept": accept}
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": request.method,
            "url": self._root + request.path,
            "params": request.query or None,
            "headers": {name: value for name, value in headers.items() if value is not None},
            "content": request.body,
        }


def _check(url: str, api_key: str, policy: Policy) -> None:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, not be {url!r}")
    if not api_key or not api_key.isascii() or not api_key.isprintable():
        raise ValueError("api_key is empty, or holds characters that no key has")
    for name, number in vars(policy).items():
        if not number >= 0 or (number == 0 and name.endswith("timeout")):
            raise ValueError(f"{name} must not be {number!r}")


def answer_of(response: httpx.Response) -> Answer:
    """Return a response that has been read, in the form that the flows need."""
    names = ((name.lower(), value) for name, value in response.headers.raw)
    headers = {name.decode(): value.decode("latin-1") for name, value in names if name in NEEDED_HEADERS}
    return Answer(response.status_code, headers, response.content)


def no_answer(error: httpx.RequestError) -> NoAnswer:
    """Return why there was no response, or only a part of one."""
    late = isinstance(error, httpx.TimeoutException)
    reason = "it took too long" if late else str(error) or type(error).__name__
    sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return NoAnswer(reason, in_time=not late, sent=sent)


@contextmanager
def unreachable_when_broken() -> Iterator[None]:
    """Raise `Unreachable` if a stream breaks off."""
    try:
        yield
    except httpx.RequestError as error:
        raise Unreachable(
            f"The stream broke off: {no_answer(error).reason}.", code="stream_broken"
        ) from error
