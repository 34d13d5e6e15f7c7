"""An httpx2 transport that answers as a server would."""

from __future__ import annotations

import hashlib
import json
import secrets
from threading import RLock
from typing import Final
from urllib.parse import parse_qsl

import httpx2

from editor_client.reads.http_libraries import http_libraries
from editor_client.shared import canonical
from editor_client.shared.credentials import why_no_key
from editor_client.shared.errors import Invalid, VersioningError
from editor_client.testing import (  # some are imported to register their routes
    agents,  # noqa: F401
    datasets,
    gates,  # noqa: F401
    labels,  # noqa: F401
    reports,  # noqa: F401
    serving,
)
from editor_client.testing.editor import Editor, Generate, Score
from editor_client.testing.protocol import Answer, Refused, Request, find_route, not_done, refuse_unknown
from editor_client.testing.stored import BEYOND

_PREFIX_LENGTH: Final = 11


class FakeEditor(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """An editor in memory, for tests of applications: one workspace, and one person with all rights.

    It implements the rules of the lifecycle, of selectors and of evaluation, and refuses with the server's
    status codes and bodies. It has no rights, and does not check the contents of fields. It answers
    unsupported requests with 501 and an explanation.

    workspace, username   what records and events name
    generate              answers the runs of agents, given the agent and the body; by default the rule of
                          the echo model does
    score                 says what a scorer says that is tried, given its configuration and the body; by
                          default those of the type `equals` compare with the ground truth
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
        score: Score | None = None,
        api_prefix: str = "/api",
    ) -> None:
        self._editor = Editor(workspace, username, generate or serving.echo, score or datasets.compares)
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
        library = next(one for one in http_libraries() if isinstance(request, one.Request))
        if self.is_down:
            raise library.ConnectError("the editor is down", request=request)
        response: type[httpx2.Response] = library.Response
        try:
            with self._lock:
                answer = self._answer(request, content)
        except (AttributeError, KeyError, TypeError) as problem:
            # Requests that a real editor refuses before processing.
            refused = not_done(f"the checking of what is inside of a field, where it met {problem!r}")
            return response(refused.status, json=refused.body)
        except Refused as refused:
            return response(refused.status, json=refused.body)
        except VersioningError as error:
            body = {"error": error.message, "code": error.code, **error.details()}
            return response(400, json=body)
        if answer.is_stream:
            frames = (f"data: {json.dumps(event)}\n\n" for event in answer.content)
            events = "".join([*frames, "data: [DONE]\n\n"])
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
        route, names = find_route(request.method, path.removeprefix(self._prefix))
        query = dict(parse_qsl(raw_query, keep_blank_values=True))
        for name in query.keys() & BEYOND - set(route.parameters):
            raise not_done(f"{name!r}")
        refuse_unknown(query, route.parameters, "is not a parameter of this address")
        body = canonical.parse(content) if content else {}
        if not isinstance(body, dict):
            raise Invalid.field("body", "must be a JSON object")
        self._editor.key_prefix = key[:_PREFIX_LENGTH]
        asked = Request(names=names, query=query, body=body, if_match=request.headers.get("If-Match"))
        return route.handler(self._editor, asked)
