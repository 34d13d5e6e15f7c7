"""For the tests of applications: an editor in memory, without a server.

`Client("http://editor", api_key="ek_test", http_client=httpx2.Client(transport=FakeEditor()))` is a normal
client; its methods fill the editor.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from threading import RLock
from urllib.parse import parse_qsl, unquote

import httpx2

from editor_client.reads.exchange import http_libraries
from editor_client.shared import canonical
from editor_client.shared.errors import Invalid, VersioningError
from editor_client.shared.request_contexts import PARAMETER, why_no_key
from editor_client.testing import editor
from editor_client.testing.editor import Answer, Editor, Generate, Refused, Request, not_done

__all__ = ["FakeEditor"]


class FakeEditor(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """An editor in memory, for tests of applications: one workspace, and one person with all rights.

    It has what applications use at run time: agents and prompt blocks with versions and labels, request
    contexts, rollouts, runs, usage, feedback and the log. It refuses with the server's status codes and
    bodies, has no rights, and does not check the contents of fields. It answers other requests with 501 and
    an explanation; `versioning.testing.live_editor` of the server's distribution is a real editor.

    workspace, username   what records and events name
    generate              answers the runs of agents, given the agent and the body; by default the rule of
                          the echo model does
    api_prefix            as the client's

    Any key is accepted, but one is required. Several clients, of threads and of event loops, can share an
    editor. Each editor is an installation of its own. While `is_down` is set, it answers nothing.
    """

    def __init__(
        self,
        *,
        workspace: str = "default",
        username: str = "tester",
        generate: Generate | None = None,
        api_prefix: str = "/api",
    ) -> None:
        self._editor = Editor(workspace, username, generate or editor.echo)
        self._prefix = "/" + api_prefix.strip("/")
        self.is_down = False
        self._lock = RLock()
        self._rights = f"{secrets.token_hex(8)}-all"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of a blocking client."""
        return self._response(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of an awaiting client."""
        return self._response(request, await request.aread())

    def _response(self, request: httpx2.Request, content: bytes) -> httpx2.Response:
        # That of the application's client, which may be httpx.
        library = next(library for library in http_libraries() if isinstance(request, library.Request))
        if self.is_down:
            raise library.ConnectError("the editor is down", request=request)
        response: type[httpx2.Response] = library.Response
        try:
            with self._lock:
                answer = self._answer(request, content)
        except (AttributeError, LookupError, TypeError, ValueError) as problem:
            # Requests that a real editor refuses before processing.
            refusal = not_done(f"the checking of what is inside of a field, where it met {problem!r}")
            return response(refusal.status, json=refusal.body)
        except Refused as refusal:
            return response(refusal.status, json=refusal.body)
        except VersioningError as error:
            return response(400, json={"error": error.message, "code": error.code, **error.details()})
        if answer.is_stream:
            events = "".join(f"data: {event}\n\n" for event in [*map(json.dumps, answer.content), "[DONE]"])
            return response(200, text=events, headers={"Content-Type": "text/event-stream"})
        etag = answer.etag or hashlib.sha256(canonical.dump(answer.content).encode()).hexdigest()[:32]
        headers = {"ETag": f'"{etag}"', "Editor-Rights": self._rights}
        if request.method == "GET" and headers["ETag"] in request.headers.get("If-None-Match", ""):
            return response(304, headers=headers)
        return response(answer.status, json=answer.content, headers=headers)

    def _answer(self, request: httpx2.Request, content: bytes) -> Answer:
        path, _, raw_query = request.url.raw_path.decode().partition("?")
        authorization = request.headers.get("Authorization", "")
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Refused(401, "unauthorized", why_no_key(authorization))
        segments = path.removeprefix(self._prefix).strip("/").split("/")
        body = canonical.parse(content) if content else {}
        if not isinstance(body, dict):
            raise Invalid.field("body", "must be a JSON object")
        self._editor.key_prefix = key[:11]
        query, if_match = dict(parse_qsl(raw_query, keep_blank_values=True)), request.headers.get("If-Match")
        asked = Request(request.method, tuple(map(unquote, segments)), query, body, if_match)
        answer = editor.answer(self._editor, asked)
        for name in asked.query.keys() - {PARAMETER}:
            raise not_done(f"the parameter {name!r} of {request.method} {path}")
        return answer
