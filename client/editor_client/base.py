"""The common part of both clients: their methods, validated settings, and requests in httpx2's form."""

from __future__ import annotations

import os
import socket
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from time import monotonic as clock
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, Unpack, get_args
from urllib.parse import urlencode

import httpx2

from editor_client.calls import Answer, Call, Query, Request
from editor_client.certificates import ssl_context
from editor_client.errors import Unreachable
from editor_client.manage.administration import KeyMethods, WebhookMethods, WorkspaceMethods
from editor_client.manage.datasets import DatasetMethods
from editor_client.manage.experiments import ExperimentMethods, GateMethods
from editor_client.manage.releases import ReleaseMethods, RolloutMethods, ScheduleMethods
from editor_client.manage.reviews import CommentMethods, ReviewMethods
from editor_client.manage.stored import StoredMethods
from editor_client.reads.agents import Agent, AgentMethods, ServedAgent
from editor_client.reads.cache import DiskCache, Rights
from editor_client.reads.cached import Policy, Updates
from editor_client.reads.exchange import Flow, NoAnswer, classes
from editor_client.reads.feed import SILENCE_SECONDS
from editor_client.reads.flows import Flows, LogMethods
from editor_client.reads.reporting import UsageMethods, UsedByRun, checked_usage, reporting_key

if TYPE_CHECKING:
    import httpx

Http = TypeVar("Http", httpx2.Client, httpx2.AsyncClient)
OnUnauthorized = Literal["forget", "keep"]

NEEDED_HEADERS = {b"etag", b"retry-after", b"x-request-id", b"editor-rights"}
ENVIRONMENT = {"url": "EDITOR_URL", "api_key": "EDITOR_API_KEY"}
"""The variables that `from_env` reads."""


class BaseClient(
    AgentMethods,
    StoredMethods,
    LogMethods,
    WebhookMethods,
    ReleaseMethods,
    ReviewMethods,
    RolloutMethods,
    ScheduleMethods,
    UsageMethods,
    ExperimentMethods,
    GateMethods,
    CommentMethods,
    DatasetMethods,
    WorkspaceMethods,
    KeyMethods,
    Generic[Http],
):
    """The methods of a client, and its settings.

    timeout                 seconds that a call may take, retries and pauses included
    run_timeout             the same for `generate`; for a stream, `timeout` limits each silence
    retries                 how often a read is retried if no server answers
    idempotent              whether each POST has an `Idempotency-Key`: then it is retried like a read, and
                            the server performs it once
    max_age                 seconds for which a read counts as fresh; 0 sends a request every time
    stale_while_revalidate  seconds after `max_age` in which a read is answered from the cache immediately,
                            and refreshed in the background
    cache_dir               a folder for the last good answers, to survive a restart
    api_prefix              the path prefix of the server's API
    updates                 how to detect changes: by a request for each read (`ask`), by one request a second
                            for all reads (`poll`), or by a stream (`stream`)
    on_unauthorized         whether to delete cached answers if the key is refused (401): `forget`, or `keep`
                            to serve them as stale
    report_usage            whether each agent that is read is reported, in the background, as a run of its
                            version; for applications that call the model themselves
    http_client             the application's own httpx2 client, with its transport, proxies and hooks; it is
                            never closed here. Until 0.3 an httpx client is also accepted

    Raises `ValueError` for a setting that makes no sense.
    """

    _http_class: ClassVar[Any]
    """The class of httpx2 clients that the driver uses."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str,
        timeout: float = 10,
        run_timeout: float = 300,
        retries: int = 2,
        idempotent: bool = False,
        max_age: float = 0,
        stale_while_revalidate: float = 0,
        cache_dir: str | Path | None = None,
        api_prefix: str = "/api",
        updates: Updates = "ask",
        on_unauthorized: OnUnauthorized = "forget",
        report_usage: bool = False,
        http_client: Http | httpx.Client | httpx.AsyncClient | None = None,
    ) -> None:
        _check_choice("updates", updates, get_args(Updates))
        _check_choice("on_unauthorized", on_unauthorized, get_args(OnUnauthorized))
        policy = Policy(
            timeout=timeout,
            run_timeout=run_timeout,
            retries=retries,
            idempotent=idempotent,
            max_age=max_age,
            stale_while_revalidate=stale_while_revalidate,
            updates=updates,
            keeps_unauthorized=on_unauthorized == "keep",
            reports_usage=report_usage,
        )
        _check(url, api_key, policy)
        if http_client is not None:
            self._check_http(http_client)
        custom_http: Any = http_client
        self._custom_http: Http | None = custom_http
        self._root = "/".join(part.strip("/") for part in (url, api_prefix) if part.strip("/"))
        self._headers = {"Authorization": f"Bearer {api_key}", "Accept": "application/json"}
        self._timeout = timeout
        rights = Rights(self._root, api_key)
        disk = None if cache_dir is None else DiskCache(Path(cache_dir), rights.key_digest)
        self._clock = clock
        prefix, hint = api_prefix.strip("/"), ""
        if prefix and url.rstrip("/").endswith(f"/{prefix}"):  # then nothing is found
            hint = f"The client's url ends in /{prefix}, which api_prefix adds: remove it from the url."
        self._flows = Flows(rights, policy, disk, clock, hint)
        self._start()

    @classmethod
    def from_env(cls, **settings: Any) -> Self:
        """Return a client for the server at `EDITOR_URL` with the key `EDITOR_API_KEY`.

        `settings` are those of the class. Raises `ValueError` if a variable is not set.
        """
        for name, variable in ENVIRONMENT.items():
            if name not in settings:
                value = os.environ.get(variable, "")
                if not value:
                    raise ValueError(f"the environment variable {variable} is not set")
                settings[name] = value
        return cls(**settings)

    @property
    def address(self) -> str:
        """The address of the API."""
        return self._root

    def add_usage(self, agent: ServedAgent, **used: Unpack[UsedByRun]) -> None:
        """Add usage of a run to the report of an agent; returns at once, in both clients.

        `agent` is the result of `details()`, which was already counted as a run. Raises `RuntimeError` for a
        client without `report_usage`, and `ValueError` for a number below 0.
        """
        reports = self._flows.reports
        if reports is None:
            raise RuntimeError(
                "this client reports no usage: make it with report_usage=True, or call send_usage"
            )
        if agent.source == "fallback":
            return
        reports.add(reporting_key(agent), checked_usage(used))
        if (later := reports.due()) is not None:
            self._later(later)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._root!r})"

    @abstractmethod
    def _start(self) -> None:
        """Create the driver's own objects."""

    @abstractmethod
    def _later(self, flow: Flow[None]) -> None:
        """Run a flow in the background."""

    def _reads(self, resources: Iterable[Any]) -> list[Call[Any]]:
        """Return the calls for the arguments of `prefetch`."""
        handles = (Agent(self, agent) if isinstance(agent, str) else agent for agent in resources)
        return [handle._details() for handle in handles]  # noqa: SLF001

    def _check_http(self, http_client: object) -> None:
        """Raise `ValueError` for anything but a client of this kind; warn about one that 0.3 will refuse."""
        name = self._http_class.__name__
        if not isinstance(http_client, classes(name)):
            raise ValueError(f"http_client must be an httpx2.{name}, not {http_client!r}")  # noqa: TRY004  as for other settings
        if not isinstance(http_client, self._http_class):
            message = f"http_client is an httpx.{name}, which is accepted until 0.3: use httpx2"
            warnings.warn(message, DeprecationWarning, stacklevel=3)

    def _new_http(self) -> Http:
        """Return the httpx2 client of the application, or a new one."""
        return self._http_class(verify=ssl_context()) if self._custom_http is None else self._custom_http

    def _request_arguments(
        self, request: Request, etag: str | None = None, accept: str | None = None
    ) -> dict[str, Any]:
        """Return a request as the arguments of `httpx2.Client.request`."""
        headers = self._headers.copy()
        if etag is not None:
            headers["If-None-Match"] = etag
        if request.if_match is not None:
            headers["If-Match"] = request.if_match
        if request.idempotency_key is not None:
            headers["Idempotency-Key"] = request.idempotency_key
        if accept is not None:
            # A proxy that compresses a stream delays parts of it.
            headers |= {"Accept": accept, "Accept-Encoding": "identity"}
        if request.body is not None:
            headers["Content-Type"] = "application/octet-stream" if request.is_file else "application/json"
        return {
            "method": request.method,
            # httpx2 takes 40 µs to add parameters to an address.
            "url": self._root + request.path + _after_the_path(request.query),
            "headers": headers,
            "content": request.body,
        }


def _check(url: str, api_key: str, policy: Policy) -> None:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, not be {url!r}")
    if not api_key or not api_key.isascii() or not api_key.isprintable():
        raise ValueError("api_key is empty or has invalid characters")
    if api_key.partition(" ")[0].lower() == "bearer":
        raise ValueError("api_key is the key alone: the client adds 'Bearer'")
    if policy.updates != "ask" and (policy.max_age or policy.stale_while_revalidate):
        raise ValueError(f"max_age and stale_while_revalidate are for updates='ask', not {policy.updates!r}")
    numbers = {name: value for name, value in vars(policy).items() if isinstance(value, int | float)}
    for name, number in numbers.items():
        if not number >= 0 or (number == 0 and name.endswith("timeout")):
            raise ValueError(f"{name} must not be {number!r}")


@lru_cache(maxsize=1024)
def _after_the_path(query: Query) -> str:
    return f"?{urlencode(query)}" if query else ""


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def to_answer(response: httpx2.Response) -> Answer:
    """Return a response that has been read, in the form that the flows need."""
    headers = {
        header.decode(): value.decode("latin-1")
        for name, value in response.headers.raw
        if (header := name.lower()) in NEEDED_HEADERS
    }
    return Answer(response.status_code, headers, response.content)


class OpenedStream:
    """A stream of events, and how another thread ends the wait for its next bytes."""

    def __init__(self, response: httpx2.Response, pieces: Any) -> None:
        self.response, self.pieces = response, pieces
        self.rights: str = response.headers.get("editor-rights", "")

    def interrupt(self) -> None:
        """End the wait for the next bytes."""
        network = self.response.extensions.get("network_stream")
        connection = network.get_extra_info("socket") if network is not None else None
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def is_stream(response: httpx2.Response) -> bool:
    """Return whether an answer is a stream of events."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.status_code == httpx2.codes.OK and kind == "text/event-stream"


def stream_limits(seconds: float) -> tuple[float, float, float, float]:
    """Return the time limits for opening a stream within the seconds: to connect, read, write and wait."""
    return seconds, SILENCE_SECONDS, seconds, seconds


def request_errors() -> tuple[type[Any], ...]:
    """Return the errors of a request without a complete response."""
    return classes("RequestError")


def no_answer(error: Exception) -> NoAnswer:
    """Return the error for a missing or partial response."""
    late = isinstance(error, classes("TimeoutException"))
    reason = "it took too long" if late else str(error) or type(error).__name__
    sent = not isinstance(error, classes("ConnectError", "ConnectTimeout", "PoolTimeout"))
    return NoAnswer(reason, in_time=not late, sent=sent)


@contextmanager
def unreachable_when_broken() -> Iterator[None]:
    """Raise `Unreachable` if a stream breaks off."""
    try:
        yield
    except request_errors() as error:
        raise Unreachable(
            f"The stream broke off: {no_answer(error).reason}.", code="stream_broken"
        ) from error
