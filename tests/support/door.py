"""The service as its server meets it: a request as it arrives, before Django has seen it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPMessage
from typing import Any
from urllib.parse import quote

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from editor_project.server.gateway import Gateway
from editor_project.wsgi import application
from tests.support.api import Answer, Api


@contextmanager
def one_connection() -> Iterator[None]:
    """Keep a request on the connection of the test's transaction, as Django's own client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


class Exchange:
    """A request as granian hands it over, and its answer."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self.scope = scope
        self.proto = self
        self.sent: list[Mapping[str, Any]] = []

    @classmethod
    def of(cls, method: str, target: str, _data: bytes | None, headers: Mapping[str, str]) -> Exchange:
        """Make a request without a body, from what `Api.prepare` returns."""
        path, _, query = target.partition("?")
        sent = {"host": "testserver", **headers}
        return cls(
            {
                "method": method,
                "raw_path": quote(path, safe="/%").encode(),
                "query_string": query.encode(),
                "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
                "scheme": "http",
                "http_version": "1.1",
                "client": ("127.0.0.1", "40000"),
                "server": ("testserver", "80"),
            }
        )

    @property
    def answer(self) -> Answer:
        """The answer, when it is complete."""
        start, rest = self.sent
        headers = HTTPMessage()
        for name, value in start["headers"]:
            headers[name.decode()] = value.decode("latin-1")
        return Answer.of(start["status"], headers, rest["body"])

    def send(self, message: Mapping[str, Any]) -> None:
        """Take a part of the answer."""
        self.sent.append(message)

    def done(self) -> None:
        """Note that there will be no answer."""
        raise AssertionError("the request was given up")


class FrontDoor(Api):
    """A caller whose requests, which have no body, go through the whole server, except its connections."""

    def exchange(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        exchange = Exchange.of(method, target, data, headers)
        loop = asyncio.new_event_loop()
        with one_connection():
            Gateway(application, loop, threads=1, streams=1).take(exchange)
        loop.close()
        return exchange.answer
