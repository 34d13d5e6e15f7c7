"""Clients of the service in this process, over a way that a test can cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from editor_client import Client

from tests.support.api import Api

MODES = ("ask", "poll", "stream")


@dataclass
class InProcess:
    """The way to the service; a reader of the log hears of nothing."""

    is_cut: bool = False
    asked: list[str] = field(default_factory=list)
    """The paths of the requests, but for those that follow the log."""
    _open: ExitStack = field(default_factory=ExitStack)

    def client(self, api: Api, updates: str = "ask", url: str = "http://testserver", **settings: Any) -> Any:
        """Return a client with the key of a member of the cast."""
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        client = Client(url, api_key=api.key, updates=updates, retries=0, http_client=http, **settings)
        return self._open.enter_context(client)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        if self.is_cut:
            raise httpx2.ConnectError("cut")
        path = request.url.raw_path.decode().removeprefix("/api")
        if path.startswith("/events/stream"):
            return httpx2.Response(404, json={"error": "no", "code": "not_found"})
        if path.startswith("/events"):
            return httpx2.Response(200, json={"events": [], "next": 1, "hasMore": False, "epoch": "e"})
        self.asked.append(path)
        api = Api(request.headers["Authorization"].removeprefix("Bearer "))
        tag = request.headers.get("If-None-Match")
        answer = api.request(request.method, path, **({} if tag is None else {"if_none_match": tag}))
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        return httpx2.Response(answer.status, headers=dict(answer.headers), content=content)


@contextmanager
def in_process() -> Iterator[InProcess]:
    """Make clients, and close them."""
    way = InProcess()
    with way._open:
        yield way
