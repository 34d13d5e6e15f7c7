"""The client of the tests: requests over HTTP as a member of the cast."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from django.test import Client


@dataclass(frozen=True)
class Answer:
    """An answer of the service."""

    status: int
    body: Any
    headers: Any

    @classmethod
    def of(cls, status: int, headers: Any, content: bytes) -> Answer:
        """Return an answer; only JSON is read, everything else has the body `None`."""
        is_json = headers.get("Content-Type", "").startswith("application/json")
        return cls(status, json.loads(content) if is_json and content else None, headers)

    @property
    def code(self) -> str:
        """The stable code of an error."""
        return str(self.body["code"])

    @property
    def fields(self) -> list[str]:
        """The fields that a validation error names, sorted."""
        return sorted(issue["field"] for issue in self.body["issues"])

    @property
    def etag(self) -> str:
        return str(self.headers["ETag"])


@dataclass
class Api:
    """A caller with an API key in this process; `key=""` is an anonymous caller.

    `RemoteApi` sends the same requests to a real server, `FrontDoor` through the server without a connection.
    """

    key: str
    prefix: str = "/api"
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """Send a request; the options are those of `prepare`."""
        return self.exchange(*self.prepare(method, path, body, **options))

    def prepare(
        self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None, **headers: str
    ) -> tuple[str, str, bytes | None, dict[str, str]]:
        """Return method, target, data and headers; `body` is sent as JSON, or as it is when it is bytes.

        Header names are keywords: `if_match='"…"'`, `content_type="text/plain"`.
        """
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key:
            sent["authorization"] = f"Bearer {self.key}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("content-type", "application/json")
        return method, f"{self.prefix}{path}" + (f"?{urlencode(query)}" if query else ""), data, sent

    def exchange(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        content_type = headers.pop("content-type", "")
        response = self.client.generic(method, target, data or b"", content_type, headers=headers)
        if response.streaming:  # nothing reads it
            response.close()
        content = b"" if response.streaming else response.content
        return Answer.of(response.status_code, response.headers, content)

    def get(self, path: str, **query: Any) -> Answer:
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.request("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.request("PATCH", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.request("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.request("DELETE", path, **headers)


@dataclass(frozen=True)
class Kind:
    """One kind of resource, with a valid body and the field that holds its text."""

    path: str
    list_key: str
    id_key: str
    text: str
    """The field with the text: `instructions` of an agent, `content` of a block."""
    required: tuple[tuple[str, str], ...] = ()
    """What else a new one needs."""

    def url(self, resource_id: str, *rest: str) -> str:
        """Return the path of a resource, or of something below it."""
        return "/".join([self.path, quote(resource_id, safe=""), *rest])

    def body(self, text: str = "one", **more: Any) -> dict[str, Any]:
        """Return a valid body for creating one."""
        return {"name": "Writer", self.text: text, **dict(self.required), **more}

    def make(self, api: Api, resource_id: str = "writer", text: str = "one", **more: Any) -> dict[str, Any]:
        """Create one, unpublished unless `autoPublish` says otherwise, and return its record."""
        answer = api.post(self.path, self.body(text, **{"id": resource_id, "autoPublish": False, **more}))
        assert answer.status == 201, answer.body
        return dict(answer.body)

    def save(self, api: Api, resource_id: str = "writer", text: str = "two", **more: Any) -> dict[str, Any]:
        """Save an edit of the text and return the record."""
        answer = api.patch(self.url(resource_id), {self.text: text, **more})
        assert answer.status == 200, answer.body
        return dict(answer.body)

    def publish(self, api: Api, resource_id: str, version_id: str) -> None:
        answer = api.post(self.url(resource_id, "versions", version_id, "activate"))
        assert answer.status == 200, answer.body

    def versions(self, api: Api, resource_id: str = "writer") -> list[dict[str, Any]]:
        """Return the newest versions."""
        return list(api.get(self.url(resource_id, "versions")).body["versions"])


AGENTS = Kind(path="/stored/agents", list_key="agents", id_key="agentId", text="instructions")
PROMPT_BLOCKS = Kind(path="/stored/prompt-blocks", list_key="promptBlocks", id_key="blockId", text="content")
SCORERS = Kind(
    path="/stored/scorers",
    list_key="scorerDefinitions",
    id_key="scorerDefinitionId",
    text="instructions",
    required=(("type", "equals"),),
)
