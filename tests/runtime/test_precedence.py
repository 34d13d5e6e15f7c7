"""Four places can select a sub-agent's version; the strongest counts, at any depth, for one request."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

from tests.runtime.memory import MemoryStore
from tests.support.factories import CodeAgentFactory
from versioning.runtime import Agent, Framework, RequestContext

# Weakest first; each place selects another version.
PLACES = ("framework", "request context", "body", "call")
PUBLISHED = "writer-5"


def selecting(place: str) -> dict[str, Any]:
    return {"agents": {"writer": {"versionId": f"writer-{PLACES.index(place) + 1}"}}}


def supervising(store: MemoryStore, depth: int, versions: dict[str, Any] | None) -> Framework:
    """Return a framework in which `lead` reaches the writer over `depth` delegations."""
    below: Agent | str = "writer"
    for level in range(depth - 1):
        below = CodeAgentFactory(id=f"level{level}", instructions="level", agents=[below])
    lead = CodeAgentFactory(id="lead", agents=[below])
    store.put("writer", *(f"text {number}" for number in range(1, 6)), active=5)
    return Framework(agents=[lead], editor=store, versions=versions)


def test_the_strongest_place_with_a_selector_counts(store: MemoryStore) -> None:
    for depth, present in product([1, 3], product([False, True], repeat=len(PLACES))):
        given = {name: selecting(name) if here else None for name, here in zip(PLACES, present, strict=True)}
        framework = supervising(store, depth, given["framework"])
        context = RequestContext.of({"versions": given["request context"]}, given["body"])
        result = framework.generate("lead", "hello", request_context=context, versions=given["call"])
        expected = [selected for selected in given.values() if selected]
        version = expected[-1]["agents"]["writer"]["versionId"] if expected else PUBLISHED
        assert result.resolved_versions["writer"] == version
        assert result.text.endswith(f"text {version[-1]}\n\nhello")


def test_entries_for_different_agents_come_from_different_places(store: MemoryStore) -> None:
    store.put("editor", "editor 1", "editor 2", active=1)
    store.put("writer", "writer 1", "writer 2", active=1)
    lead = CodeAgentFactory(id="lead", agents=["writer", "editor"])
    framework = Framework(
        agents=[lead], editor=store, versions={"agents": {"editor": {"status": "draft"}}, "strict": True}
    )
    result = lead.generate("hello", versions={"agents": {"writer": {"status": "draft"}}})
    assert framework.get_agent_by_id("lead") is lead
    assert result.resolved_versions == {"lead": None, "writer": "writer-2", "editor": "editor-2"}


def test_the_default_status_of_the_request_overrides_only_that_of_the_framework(
    store: MemoryStore,
) -> None:
    framework = supervising(store, 1, {"agents": {"writer": {"versionId": "writer-1"}}})
    result = framework.generate("lead", "hello", versions={"defaultStatus": "draft"})
    assert result.resolved_versions["writer"] == "writer-1"
    framework = supervising(store, 1, {"defaultStatus": "draft"})
    store.put("writer", "text 1", "text 2", active=1)
    assert framework.generate("lead", "hello").resolved_versions["writer"] == "writer-2"
    result = framework.generate("lead", "hello", versions={"defaultStatus": "published"})
    assert result.resolved_versions["writer"] == "writer-1"


def test_concurrent_requests_in_threads_do_not_mix_their_versions(store: MemoryStore) -> None:
    framework = supervising(store, 2, None)
    store.put("writer", *(f"text {number}." for number in range(1, 21)), active=20)

    def ask(number: int) -> bool:
        versions = {"agents": {"writer": {"versionId": f"writer-{number}"}}}
        result = framework.generate("lead", "hello", versions=versions)
        return result.text.endswith(f"text {number}.\n\nhello")

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(ask, range(1, 21)))


def test_concurrent_requests_on_one_loop_do_not_mix_their_versions(store: MemoryStore) -> None:
    framework = supervising(store, 2, None)
    store.put("writer", *(f"text {number}." for number in range(1, 21)), active=20)

    async def ask(number: int) -> bool:
        selector = {"versionId": f"writer-{number}"} if number % 2 else {"status": "published"}
        result = await framework.agenerate("lead", "hello", versions={"agents": {"writer": selector}})
        return result.text.endswith(f"text {number if number % 2 else 20}.\n\nhello")

    async def ask_all() -> list[bool]:
        return await asyncio.gather(*(ask(number) for number in range(1, 21)))

    assert all(asyncio.run(ask_all()))
    assert framework.generate("lead", "hello").resolved_versions["writer"] == "writer-20"  # nothing is left
