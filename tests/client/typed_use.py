"""Typed use of the clients: mypy checks this file, and nothing runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, assert_type

from editor_client import AsyncClient, Client
from editor_client.manage.shapes import AgentPage, AgentRecord, AgentVersion, PromptBlockRecord, ReleaseRecord
from editor_client.manage.stored import StoredAgent
from editor_client.reads.agents import Agent, ServedAgent
from editor_client.reads.feed import LogEvent
from editor_client.reads.streams import Event


def blocking(client: Client) -> None:
    assert_type(client.get_agent("support", label="next"), Agent[Client])
    assert_type(client.get_agent("support").details(request_context={}), ServedAgent)
    assert_type(client.get_agent("support").stream("Hello", max_steps=2), Iterator[Event])
    stored = client.get_stored_agent("support")
    assert_type(stored, StoredAgent[Client])
    assert_type(stored.update(name="x", base=stored.details()), AgentRecord)
    assert_type(stored.iter_versions(per_page=5), Iterator[AgentVersion])
    assert_type(client.list_stored_agents(search="x"), AgentPage)
    assert_type(client.iter_releases(), Iterator[ReleaseRecord])
    assert_type(client.events(after=None, type="agent.*"), Iterator[LogEvent])
    stored.update(nonsense=1)  # type: ignore[call-arg]
    stored.details(status=1)  # type: ignore[arg-type]


async def awaiting(client: AsyncClient) -> None:
    details: Callable[[], Coroutine[Any, Any, ServedAgent]] = client.get_agent("support").details
    assert_type(await details(), ServedAgent)
    assert_type(client.get_agent("support").stream("Hello"), AsyncIterator[Event])
    block = client.get_stored_prompt_block("tone")
    assert_type(await block.update(content="x"), PromptBlockRecord)
    assert_type(await client.create_stored_prompt_block(name="x", content="y"), PromptBlockRecord)
    assert_type(client.iter_stored_agents(status="all"), AsyncIterator[AgentRecord])
    assert_type(client.events(), AsyncIterator[LogEvent])
    await client.prefetch(["support", block])
