"""The service as a WSGI server meets it: the application itself, before Django has seen the request."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPMessage
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode

from django.core.signals import request_finished, request_started
from django.db import close_old_connections

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


class FrontDoor(Api):
    """A caller whose requests go through the whole WSGI application."""

    def request(
        self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None, **headers: str
    ) -> Answer:
        """Send a request without a body, as `Api` does."""
        answered: list[Any] = []
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote_to_bytes(quote(self.prefix + path, safe="/%")).decode("latin-1"),
            "QUERY_STRING": urlencode(query or {}),
            "HTTP_HOST": "testserver",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
            "wsgi.errors": io.StringIO(),
            **({"HTTP_AUTHORIZATION": f"Bearer {self.key}"} if self.key else {}),
            **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
        }
        with one_connection():
            chunks = application(environ, lambda status, headers, *_: answered.extend([status, headers]))
            content = b"".join(chunks)
            if hasattr(chunks, "close"):
                chunks.close()
        message = HTTPMessage()
        for name, value in answered[1]:
            message[name] = value
        is_json = message.get("Content-Type", "").startswith("application/json")
        parsed = json.loads(content) if is_json and content else None
        return Answer(int(answered[0].split()[0]), parsed, message)
