"""Agents and frameworks: how they are created and found, and that they are immutable."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import RunContext, Tool

from tests.runtime.memory import ECHO, STRANGER, VIEWER, MemoryStore
from tests.support.factories import CodeAgentFactory
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.domain.overrides import CodeAgent, Ownership
from versioning.runtime import Agent, Framework, SelectedAgent


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def fetch(url: str) -> str:
    """Fetch a page.

    Args:
        url: Where it is.

    """
    return url


def inspect(thread: threading.Thread) -> str:
    """Accept a type that no model can send."""
    return thread.name


def asks(ask: Callable[[], str]) -> str:
    """Accept a type that pydantic can check, and no model can send."""
    return ask()


def agent(**changes: Any) -> Agent:
    return CodeAgentFactory(**{"id": "a", "name": "A", "instructions": "text", **changes})


def test_an_agent_describes_its_code_to_the_editor() -> None:
    made: CodeAgent = agent(
        description="d",
        tools=[add, fetch],
        agents=["stored", agent(id="b")],
        editor={"instructions": True},
        visibility="private",
        default_options={"maxSteps": 3},
        metadata={"team": "x"},
    )
    assert made.tool_descriptions == {"add": "Add two numbers.", "fetch": "Fetch a page."}
    assert made.sub_agent_ids == ("stored", "b")
    assert made.ownership == Ownership(instructions=True, tools=False, tool_descriptions=False)
    assert (made.visibility, made.default_options, made.metadata) == (
        "private",
        {"maxSteps": 3},
        {"team": "x"},
    )


def test_an_invalid_definition_is_refused_immediately() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"id": ""}, "id"),
        ({"id": "a/versions"}, "reserved"),
        ({"name": " "}, "name"),
        ({"instructions": "  "}, "instructions"),
        ({"instructions": []}, "instructions"),
        ({"model": {"provider": "echo"}}, "model"),
        ({"model": "openai/gpt-4"}, r'must be {"provider": "openai", "name": "gpt-4"}, not'),
        ({"model": "anthropic:claude/3"}, r'must be {"provider": "anthropic", "name": "claude/3"}, not'),
        ({"model": "gpt-4"}, "must be such as .*, not 'gpt-4'"),
        ({"model": {"provider": "echo", "name": None}}, "model must be"),
        ({"visibility": "secret"}, "visibility"),
        ({"editor": True}, "editor"),
        ({"editor": {"prompts": True}}, "editor"),
        ({"tools": [add, add]}, "two tools"),
        ({"tools": [lambda: 1]}, "named function"),
        ({"tools": [inspect]}, "inspect"),
        ({"tools": [asks]}, "'asks' cannot be described"),
    ]
    for changes, reason in cases:
        with pytest.raises(ValueError, match=reason):
            agent(**changes)


def test_an_agent_is_immutable() -> None:
    model, instructions = dict(ECHO), [{"type": "text", "content": "one"}]
    made: Any = agent(model=model, instructions=instructions)
    model["name"] = "other"
    instructions[0]["content"] = "two"
    assert made.model == ECHO
    assert made.instructions == [{"type": "text", "content": "one"}]
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "B"
    with pytest.raises(TypeError):
        made.model["name"] = "other"


def test_an_editor_receives_all_agents_and_tools(store: MemoryStore) -> None:
    inner = agent(id="inner")
    framework = Framework(agents=[agent(agents=[inner])], tools=[add], editor=store)
    assert (list(store.code), store.tools) == (["a", "inner"], ["add"])
    assert framework.get_agent_by_id("inner") is inner
    assert framework.editor is store


def test_tools_are_described_as_the_agent_library_describes_them() -> None:
    def tool(context: RunContext[None], n: int) -> int:
        return n + context.run_step

    texts = [None, "", " One line. ", "Two\n    lines.", "Adds.\n\n    Args:\n        n: A number.\n"]
    for text in [*texts, ":returns: one", "Returns: 1"]:
        tool.__doc__ = text
        made = agent(tools=[tool])
        assert made.tool_descriptions == {"tool": Tool(tool).description or ""}
        assert made.toolbox["tool"].takes_ctx


def test_ids_and_tool_names_are_unique_and_an_agent_belongs_to_one_framework() -> None:
    with pytest.raises(ValueError, match="two agents"):
        Framework(agents=[agent(), agent()])
    with pytest.raises(ValueError, match="two agents"):
        Framework(agents=[agent(agents=[agent(id="b")]), agent(id="b")])
    with pytest.raises(ValueError, match="two tools"):
        Framework(tools=[add, add])
    with pytest.raises(Invalid, match=r"versions\.agents\.a"):
        Framework(versions={"agents": {"a": "draft"}})
    made = agent()
    with pytest.raises(RuntimeError, match=r"Framework\(agents="):
        made.generate("hello")
    Framework(agents=[made])
    with pytest.raises(ValueError, match="another framework"):
        Framework(agents=[made])


def test_without_a_selector_the_registered_object_itself_is_returned(
    framework: Framework, writer: Agent
) -> None:
    assert framework.get_agent_by_id("writer") is writer
    assert asyncio.run(framework.aget_agent_by_id("writer")) is writer


def test_with_a_selector_a_copy_is_returned_and_the_registered_agent_is_unchanged(
    framework: Framework, writer: Agent, store: MemoryStore
) -> None:
    assert framework.get_agent_by_id("writer", status="draft").instructions == "writer in code"
    store.put("writer", "first", "second", "third", active=2, labels={"blue": 1})
    before = {member.name: getattr(writer, member.name) for member in dataclasses.fields(writer)}
    selectors: list[tuple[dict[str, Any], str]] = [
        ({"status": "published"}, "second"),
        ({"status": "draft"}, "third"),
        ({"version_id": "writer-1"}, "first"),
        ({"label": "blue"}, "first"),
    ]
    for selector, text in selectors:
        chosen = framework.get_agent_by_id("writer", **selector)
        assert isinstance(chosen, SelectedAgent)
        assert (chosen.id, chosen.instructions) == ("writer", text)
        assert chosen.generate("hello").text == f"{text}\n\nhello"
    assert before == {member.name: getattr(writer, member.name) for member in dataclasses.fields(writer)}
    assert writer.generate("hello").text == "writer in code\n\nhello"


def test_stored_agents_are_found_too(framework: Framework, store: MemoryStore) -> None:
    store.put("poet", "poet 1", "poet 2", active=1)
    assert framework.get_agent_by_id("poet").instructions == "poet 1"
    assert asyncio.run(framework.aget_agent_by_id("poet", status="draft")).instructions == "poet 2"


def test_only_threads_of_the_event_loop_release_the_store(framework: Framework, store: MemoryStore) -> None:
    store.put("poet", "poet 1", active=1, model=ECHO)
    framework.get_agent_by_id("poet").generate("hello")
    assert store.closed == []
    store.threads.clear()
    asyncio.run(framework.aget_agent_by_id("poet"))
    asyncio.run(framework.agenerate("poet", "hello"))
    with pytest.raises(NotFound):
        asyncio.run(framework.agenerate("nobody", "hello"))
    assert store.closed == store.threads and len(store.closed) == 3


def test_a_missing_or_unreadable_agent_or_version_is_an_error(
    framework: Framework, store: MemoryStore
) -> None:
    store.put("writer", "writer 1")
    store.put("poet", "poet 1", "poet 2", active=1)
    cases: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("nobody", {}, NotFound),
        ("writer", {"version_id": "gone"}, NotFound),
        ("writer", {"status": "draft", "label": "blue"}, Invalid),
        ("writer", {"status": "old"}, Invalid),
        ("poet", {"by": STRANGER}, NotFound),
        ("poet", {"status": "draft", "by": VIEWER}, Forbidden),
    ]
    for agent_id, how, error in cases:
        with pytest.raises(error):
            framework.get_agent_by_id(agent_id, **how)


def test_blocks_in_code_are_rendered_in_the_context_of_the_request() -> None:
    made = agent(
        instructions=[
            {"type": "text", "content": "Speak {{ language || 'plainly' }}."},
            {"type": "prompt_block_ref", "id": "tone"},
        ]
    )
    Framework(agents=[made])
    assert made.generate("hello").text == "Speak plainly.\n\nhello"
    result = made.generate("hello", request_context={"language": "Latin"})
    assert result.text == "Speak Latin.\n\nhello"
    assert [(notice.code, notice.field) for notice in result.warnings] == [
        ("block_missing", "instructions.1.id")
    ]
