"""Streams: the events, the two ways to consume them, and what happens before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import FallsSilent, ModelServer
from tests.support.factories import CodeAgentFactory
from versioning.domain.errors import Invalid, NotFound
from versioning.runtime import Agent, Framework, NoModel, ProviderUnavailable
from versioning.runtime.results import Event
from versioning.runtime.runner import background_loop

OPENAI = {"provider": "openai", "name": "small"}
SOON = 5  # seconds; waits that should take one get more, because machines are busy


@pytest.fixture
def slow(model_server: ModelServer) -> Agent:
    """An agent whose model sends two words and falls silent."""
    model_server.model = lambda request: FallsSilent("first words")
    agent = Agent(id="slow", name="Slow", instructions="slow", model=OPENAI)
    Framework(agents=[agent])
    return agent


def kinds(events: Iterable[Event | None]) -> list[str]:
    return [kind for kind, _ in groupby(event["type"] for event in events if event)]


async def collected(agent: Agent, messages: Any, **options: Any) -> list[Event | None]:
    return [event async for event in agent.astream(messages, **options)]


STEPS_WITH_A_DELEGATION = [
    "start",
    "step-start",
    "tool-call",
    "tool-result",
    "step-finish",
    "step-start",
    "text-start",
    "text-delta",
    "text-end",
    "step-finish",
    "finish",
]


def test_the_events_of_a_run_come_in_order(lead: Agent, framework: Framework) -> None:
    found = list(lead.stream("hello"))
    assert kinds(found) == STEPS_WITH_A_DELEGATION and None not in found
    events = [event for event in found if event]
    assert {event["from"] for event in events} == {"AGENT"}
    assert len({event["runId"] for event in events}) == 1
    assert all(set(event) == {"type", "runId", "from", "payload"} for event in events)
    assert kinds(asyncio.run(collected(lead, "hello"))) == STEPS_WITH_A_DELEGATION


def test_the_payloads_match_the_answer_of_generate(lead: Agent, framework: Framework) -> None:
    events = [event for event in lead.stream("hello there") if event]
    payloads: dict[str, dict[str, Any]] = {event["type"]: event["payload"] for event in events}
    answer = lead.generate("hello there").as_dict()
    deltas = [event["payload"]["text"] for event in events if event["type"] == "text-delta"]
    assert len(deltas) > 3 and "".join(deltas) == answer["text"]
    assert [payloads["tool-call"]] == answer["toolCalls"]
    assert [payloads["tool-result"]] == answer["toolResults"]
    assert payloads["step-start"]["messageId"] == payloads["start"]["messageId"]
    assert payloads["finish"]["finishReason"] == "stop"
    assert payloads["finish"]["resolvedVersions"] == {"lead": None, "writer": None}
    assert payloads["finish"]["usage"].keys() == answer["usage"].keys()
    assert payloads["finish"]["warnings"] == []


def test_a_limit_of_steps_ends_the_stream_with_tool_calls(lead: Agent, framework: Framework) -> None:
    events = list(lead.stream("hello", max_steps=1))
    assert kinds(events) == [*STEPS_WITH_A_DELEGATION[:5], "finish"]
    assert events[-1] and events[-1]["payload"]["finishReason"] == "tool-calls"


@pytest.mark.parametrize(
    ("agent_id", "messages", "error"),
    [("mute", "hello", NoModel), ("keyless", "hello", ProviderUnavailable), ("lead", "", Invalid)],
)
def test_errors_of_a_call_are_raised_when_the_stream_is_created(
    monkeypatch: pytest.MonkeyPatch, lead: Agent, agent_id: str, messages: str, error: type[Exception]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    mute = Agent(id="mute", name="Mute", instructions="mute")
    keyless = Agent(id="keyless", name="Keyless", instructions="keyless", model=OPENAI)
    framework = Framework(agents=[mute, keyless, lead])
    with pytest.raises(error):
        framework.stream(agent_id, messages)

    async def made() -> None:
        await framework.astream(agent_id, messages)

    async def iterated() -> None:
        await anext(framework.astream(agent_id, messages))

    for broken in (made, iterated):
        with pytest.raises(error):
            asyncio.run(broken())


def test_versions_are_resolved_when_the_stream_is_created(
    lead: Agent, framework: Framework, store: MemoryStore
) -> None:
    with pytest.raises(NotFound):
        lead.stream("hello", versions={"self": {"versionId": "gone"}})
    store.put("writer", "writer 1", active=1)
    stream = lead.stream("hello")
    store.put("writer", "writer 2", active=1)
    text = "".join(event["payload"].get("text", "") for event in stream if event)
    assert text.endswith("writer 1\n\nhello")


def test_the_first_words_arrive_while_the_model_is_busy_and_closing_stops_its_call(
    slow: Agent, model_server: ModelServer
) -> None:
    stream = slow.stream("hello")
    words = [next(stream) for _ in range(5)]
    assert kinds(words) == ["start", "step-start", "text-start", "text-delta"]
    assert not model_server.client_left.is_set()
    stream.close()
    assert model_server.client_left.wait(SOON)


def test_closing_the_asynchronous_stream_stops_the_model_call(slow: Agent, model_server: ModelServer) -> None:
    async def listen_and_leave() -> bool:
        stream = slow.astream("hello")
        for _ in range(5):
            await anext(stream)
        await stream.aclose()
        return await asyncio.to_thread(model_server.client_left.wait, SOON)

    assert asyncio.run(listen_and_leave())


def test_cancelling_the_consuming_task_stops_the_model_call(slow: Agent, model_server: ModelServer) -> None:
    async def listen() -> None:
        await collected(slow, "hello")

    async def cancel() -> bool:
        task = asyncio.create_task(listen())
        await asyncio.to_thread(model_server.asked.wait, SOON)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(model_server.client_left.wait, SOON)

    assert asyncio.run(cancel())


def test_a_stream_closed_before_its_first_event_calls_no_model(
    slow: Agent, model_server: ModelServer
) -> None:
    async def close_first() -> list[Event | None]:
        stream = slow.astream("hello")
        await stream.aclose()
        return [event async for event in stream]

    slow.stream("hello").close()
    assert asyncio.run(close_first()) == []
    assert model_server.requests == []


def test_heartbeats_are_sent_while_a_model_is_silent(slow: Agent, model_server: ModelServer) -> None:
    stream = slow.stream("hello", heartbeat=0.05)
    events = [next(stream) for _ in range(12)]
    stream.close()
    assert events[-1] is None
    assert kinds(events) == ["start", "step-start", "text-start", "text-delta"]

    async def listen() -> list[Event | None]:
        quiet = slow.astream("hello", heartbeat=0.05)
        heard = [await anext(quiet) for _ in range(12)]
        await quiet.aclose()
        return heard

    assert asyncio.run(listen())[-1] is None


def test_many_streams_share_one_thread(slow: Agent, model_server: ModelServer) -> None:
    streams = [slow.stream("hello") for _ in range(20)]
    for stream in streams:
        assert kinds([next(stream) for _ in range(5)])[-1] == "text-delta"
    for stream in streams:
        stream.close()
    assert len(model_server.requests) == 20


def test_the_background_loop_refuses_to_wait_for_itself(framework: Framework) -> None:
    echo = CodeAgentFactory(id="inner")
    Framework(agents=[echo])

    async def ask_within_the_loop() -> None:
        with pytest.raises(RuntimeError, match="agenerate"):
            echo.generate("hello")
        with pytest.raises(RuntimeError, match="astream"):
            echo.stream("hello")
        assert (await echo.agenerate("hello")).text == "inner\n\nhello"

    background_loop().run(ask_within_the_loop())
