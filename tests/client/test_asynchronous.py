"""Both clients have the same methods, which send the same requests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import AsyncMock, create_autospec

import httpx2
import pytest
from editor_client import AsyncClient, Client, EditorError
from editor_client.methods import Handle, IteratorMethod, Method
from editor_client.testing import FakeEditor

GIVEN = {
    "int": 1,
    "Sequence": [],
    "Iterable": [],
    "Mapping": {},
    "ResourceKind": "agent",
    "VerdictValue": "approve",
}
HANDLES = sorted(name for name in dir(Client) if name.startswith("get_") and name != "get_review_policy")
CLIENT = ""


def handle(client: Any, getter: str) -> Any:
    """Return a resource, or the client itself."""
    if not getter:
        return client
    found = getattr(client, getter)
    return found(**arguments(found))


def methods() -> Iterator[tuple[str, str]]:
    """Yield (getter of a resource, method) for every method that sends a request."""
    client = Client("http://editor", api_key="ek_test")
    for getter in (CLIENT, *HANDLES):
        kind = type(handle(client, getter))
        for name in dir(kind):
            described = inspect.getattr_static(kind, name)
            if isinstance(described, Method | IteratorMethod):
                yield getter, name
    client.close()


def arguments(method: Callable[..., Any]) -> dict[str, Any]:
    """Return a value for every argument that a method requires."""
    required = [
        one
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD and one.name != "self"
    ]
    return {one.name: GIVEN.get(str(one.annotation).partition("[")[0], "x") for one in required}


METHODS = list(methods())


class Refusing:
    """A server that records and refuses every request."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        self.asked.append((request.method, str(request.url), request.content, dict(request.headers)))
        return httpx2.Response(403, json={"error": "No.", "code": "forbidden"})


def test_each_method_of_both_clients_sends_the_same_request() -> None:
    blocking, awaiting = Refusing(), Refusing()
    errors = []
    http = httpx2.Client(transport=httpx2.MockTransport(blocking), headers={"User-Agent": "test"})
    with Client("http://editor", api_key="ek_test", http_client=http) as client:
        for getter, name in METHODS:
            method = getattr(handle(client, getter), name)
            with pytest.raises(EditorError) as expected:
                next(method(**arguments(method)))
            errors.append(repr(expected.value))

    async def asynchronously() -> None:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(awaiting), headers={"User-Agent": "test"})
        async with AsyncClient("http://editor", api_key="ek_test", http_client=http) as client:
            for (getter, name), error in zip(METHODS, errors, strict=True):
                method = getattr(handle(client, getter), name)
                assert inspect.iscoroutinefunction(method) or name.startswith(("iter_", "events", "stream"))
                found = method(**arguments(method))
                with pytest.raises(EditorError) as raised:
                    await (found if inspect.isawaitable(found) else anext(found))
                assert repr(raised.value) == error

    asyncio.run(asynchronously())
    assert awaiting.asked == blocking.asked and len(blocking.asked) == len(METHODS)


def test_the_methods_have_names_signatures_and_docstrings() -> None:
    asynchronous = {name for name in dir(AsyncClient) if not name.startswith("_")}
    assert asynchronous == {name for name in dir(Client) if not name.startswith("_")}
    client = Client("http://editor", api_key="ek_test")
    for getter, name in METHODS:
        method = getattr(handle(client, getter), name)
        assert (method.__name__, bool(method.__doc__)) == (name, True)
        assert "self" not in inspect.signature(method).parameters
    assert {getter for getter, _ in METHODS} == {CLIENT, *HANDLES}
    assert all(isinstance(handle(client, getter), Handle) for getter in HANDLES)
    assert isinstance(create_autospec(AsyncClient, instance=True).list_agents, AsyncMock)


def test_one_editor_in_memory_serves_both_clients() -> None:
    editor = FakeEditor()

    async def filled() -> list[Any]:
        http = httpx2.AsyncClient(transport=editor)
        async with AsyncClient("http://editor", api_key="ek_test", http_client=http) as client:
            await client.create_stored_agent(id="writer", name="W", instructions="one")
            stored = client.get_stored_agent("writer")
            await stored.update(instructions="two", auto_publish=True, base=await stored.details())
            numbers = [version.version_number async for version in stored.iter_versions(per_page=1)]
            return [numbers, *await client.prefetch(["writer", stored])]

    numbers, served, record = asyncio.run(filled())
    assert (numbers, served.instructions, record.instructions) == ([2, 1], "two", "two")
    with Client("http://editor", api_key="ek_test", http_client=httpx2.Client(transport=editor)) as client:
        assert client.get_agent("writer").details() == served
