"""Both clients with the same interface: the asynchronous one behind a blocking façade.

Its event loop runs in a separate thread, so that its background tasks continue.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from editor_client import AsyncClient, Client
from editor_client.methods import Handle

SECONDS_TO_WAIT = 120
with_both_clients = pytest.mark.parametrize(
    "connect", [Client, AsyncClient], ids=["blocking", "awaiting"], indirect=True
)
"""Runs a test of what a client does with the network for the asynchronous client, too."""


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def wait_for(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(SECONDS_TO_WAIT)

    def stop(self) -> None:
        """End the loop."""
        self.wait_for(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Waiting:
    """An object of the asynchronous client; awaitable results are waited for."""

    def __init__(self, inner: Any, loop: Loop) -> None:
        self.inner = inner
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        return self._method(found) if callable(found) else found

    def _method(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._waited(method(*map(_inner, arguments), **named))

        return call

    def _waited(self, result: Any) -> Any:
        if inspect.isawaitable(result):
            return self._loop.wait_for(result)
        if isinstance(result, AsyncIterator):
            return self._each(result)
        return Waiting(result, self._loop) if isinstance(result, Handle) else result

    def _each(self, results: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self._loop.wait_for(anext(results))
                except StopAsyncIteration:
                    return
        finally:
            self._loop.wait_for(results.aclose())


def _inner(argument: Any) -> Any:
    if isinstance(argument, list):
        return [_inner(one) for one in argument]
    return argument.inner if isinstance(argument, Waiting) else argument


@dataclass
class Clients:
    """Makes clients of one kind, and closes them."""

    kind: type[Client | AsyncClient]
    _closings: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self, url: str, key: str = "ek_test", **settings: Any) -> Any:
        """Return a client, whichever kind it is, with the methods of the blocking one."""
        if self.kind is Client:
            client = Client(url, api_key=key, **settings)
            self._closings.append(client.close)
            return client
        loop = Loop()
        waiting = Waiting(loop.wait_for(_made(url, key, settings)), loop)
        self._closings += [loop.stop, waiting.close]
        return waiting

    def close(self) -> None:
        for close in reversed(self._closings):
            close()
        self._closings.clear()


async def _made(url: str, key: str, settings: dict[str, Any]) -> AsyncClient:
    return AsyncClient(url, api_key=key, **settings)


class Clock:
    """A clock that a test advances."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("editor_client.base.clock", lambda: self.now)
