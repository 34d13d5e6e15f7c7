"""The service as a WSGI server meets it: the application itself, before Django has seen the request."""

from __future__ import annotations

import io
import json
from http.client import HTTPMessage
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, unquote_to_bytes, urlencode

from django.db import DEFAULT_DB_ALIAS, connections

from editor_project.wsgi import application
from tests.support.api import Answer, Api


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
        # The connection ends with a request, but a test's transaction has to outlive it.
        with patch.object(type(connections[DEFAULT_DB_ALIAS]), "close_if_unusable_or_obsolete"):
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
