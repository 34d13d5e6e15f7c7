"""A model behind HTTP: answers, tools, delegation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import (
    Calls,
    Model,
    ModelServer,
    Reply,
    Request,
    Says,
)
from versioning.runtime import (
    Agent,
    DelegationStopped,
    Framework,
    VersionUnresolved,
)

OPENAI = {"provider": "openai", "name": "small"}
KEY = "sk-test-0123456789abcdef"


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.

    """
    return a + b


async def shout(text: str) -> dict[str, str]:
    """Say it louder."""
    return {"said": text.upper()}


@pytest.fixture
def agent(model_server: ModelServer) -> Agent:
    """An agent with tools, alone in its framework."""
    made = Agent(id="a", name="A", instructions="Be brief.", model=OPENAI, tools=[add, shout])
    Framework(agents=[made])
    return made


def system_of(request: Request) -> str:
    return "\n".join(
        message["content"] for message in request["messages"] if message["role"] in {"system", "developer"}
    )


def tool_results(request: Request) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def once(call: Calls) -> Model:
    """Return a model that calls the tool and then answers with its result."""

    def model(request: Request) -> Reply:
        results = tool_results(request)
        return Says(f"It gave {results[-1]}") if results else call

    return model


def generated(agent: Agent, **options: Any) -> str:
    return agent.generate("hello", **options).text


def generated_asynchronously(agent: Agent, **options: Any) -> str:
    return asyncio.run(agent.agenerate("hello", **options)).text


def streamed(agent: Agent, **options: Any) -> str:
    events = [event for event in agent.stream("hello", **options) if event]
    assert [event["type"] for event in events][-1] == "finish"
    return "".join(event["payload"]["text"] for event in events if event["type"] == "text-delta").strip()


ASK = pytest.mark.parametrize("ask", [generated, generated_asynchronously, streamed])
Ask = Callable[..., str]


@ASK
def test_the_model_receives_instructions_and_message(
    agent: Agent, model_server: ModelServer, ask: Ask
) -> None:
    assert ask(agent) == "Hello there."
    (request,) = model_server.requests
    assert system_of(request) == "Be brief."
    assert request["messages"][-1] == {"role": "user", "content": "hello"}
    assert request["model"] == "small"
    assert model_server.keys == [f"Bearer {KEY}"]


@ASK
def test_tools_are_called(agent: Agent, model_server: ModelServer, ask: Ask) -> None:
    for call, result in (
        (Calls("add", {"a": 2, "b": 3}), "5"),
        (Calls("add", {"a": 2}), "3"),
        (Calls("shout", {"text": "hi"}), '{"said":"HI"}'),
    ):
        model_server.model = once(call)
        assert ask(agent) == f"It gave {result}"


def test_an_override_changes_descriptions_of_tools_and_adds_tools_of_the_framework(
    model_server: ModelServer, store: MemoryStore
) -> None:
    made = Agent(id="a", name="A", instructions="text", model=OPENAI, tools=[add])
    framework = Framework(agents=[made], tools=[shout], editor=store)
    tools: dict[str, Any] = {"add": {"description": "Sum."}, "shout": {}, "gone": {}}
    store.put("a", "stored", active=1, tools=tools)
    result = framework.generate("a", "hello")
    described = [tool["function"] for tool in model_server.requests[-1]["tools"]]
    assert [(tool["name"], tool["description"]) for tool in described] == [
        ("add", "Sum."),
        ("shout", "Say it louder."),
    ]
    assert [(notice.code, notice.field) for notice in result.warnings] == [("unknown_tool", "tools.gone")]
    assert made.tool_descriptions == {"add": "Add two numbers."}
    parameters = model_server.requests[-1]["tools"][0]["function"]["parameters"]["properties"]
    assert parameters["a"] == {"type": "integer", "description": "The first."}
    assert made.generate("hello").warnings == ()


@ASK
def test_delegation_is_a_tool_call(model_server: ModelServer, store: MemoryStore, ask: Ask) -> None:
    def model(request: Request) -> Reply:
        if "You help." in system_of(request):
            return Says(f"helped with {request['messages'][-1]['content']}")
        results = tool_results(request)
        return (
            Says(f"The helper {results[-1]}") if results else Calls("agent-helper", {"message": "the task"})
        )

    model_server.model = model
    store.put("helper", "You help.", active=1, model=OPENAI, description="Helps.")
    lead = Agent(id="lead", name="Lead", instructions="You lead.", model=OPENAI, agents=["helper"])
    Framework(agents=[lead], editor=store)
    assert ask(lead) == "The helper helped with the task"
    (tool,) = model_server.requests[0]["tools"]
    assert tool["function"]["description"] == "Helps."
    assert list(tool["function"]["parameters"]["properties"]) == ["message"]
    assert "tools" not in model_server.requests[1]


def test_nothing_of_the_store_is_held_while_the_model_is_asked(
    model_server: ModelServer, store: MemoryStore
) -> None:
    def model(request: Request) -> Reply:
        return Says(f"given back by {len(store.given_back)}")

    model_server.model = model
    store.put("poet", "poet 1", active=1, model=OPENAI)
    poet = Framework(editor=store).get_agent_by_id("poet")
    assert generated(poet) == "given back by 1"
    assert streamed(poet) == "given back by 2"


def test_settings_reach_the_model_and_those_of_the_call_take_precedence(model_server: ModelServer) -> None:
    stored = {"modelSettings": {"temperature": 0.1, "topP": 0.5, "unheard": 1}}
    made = Agent(id="a", name="A", instructions="text", model=OPENAI, default_options=stored)
    Framework(agents=[made])
    made.generate("hello", model_settings={"temperature": 0.9, "maxOutputTokens": 7, "stopSequences": ["x"]})
    (request,) = model_server.requests
    assert (request["temperature"], request["top_p"], request["stop"]) == (0.9, 0.5, ["x"])
    assert 7 in (request.get("max_tokens"), request.get("max_completion_tokens"))


def test_a_conversation_reaches_the_model_in_order(agent: Agent, model_server: ModelServer) -> None:
    turns = [("system", "Be kind."), ("user", "one"), ("assistant", "two"), ("user", "three")]
    agent.generate([{"role": role, "content": text} for role, text in turns])
    (request,) = model_server.requests
    said = [(message["role"], message["content"]) for message in request["messages"]]
    assert said[-3:] == turns[1:]
    assert "Be brief." in system_of(request) and "Be kind." in system_of(request)


def test_wrong_tool_arguments_are_reported_to_the_model_which_may_retry(
    agent: Agent, model_server: ModelServer
) -> None:
    def model(request: Request) -> Reply:
        attempts = len(tool_results(request))
        return [Calls("add", {"a": "x"}), Calls("add", {"a": 1, "b": 1}), Says("two")][attempts]

    model_server.model = model
    assert agent.generate("hello").text == "two"


def test_a_model_that_keeps_calling_tools_is_stopped(model_server: ModelServer) -> None:
    model_server.model = lambda request: Calls("add", {"a": 1})
    made = Agent(id="a", name="A", instructions="text", model=OPENAI, tools=[add])
    Framework(agents=[made], request_limit=5)
    with pytest.raises(DelegationStopped, match="5 model requests"):
        made.generate("hello")
    assert len(model_server.requests) == 5
    result = made.generate("hello", max_steps=3)
    assert (len(result.steps), result.finish_reason) == (3, "tool-calls")
    assert [one["result"] for one in result.tool_results] == [2, 2, 2]


def test_no_model_is_called_before_every_version_is_resolved(model_server: ModelServer) -> None:
    lead = Agent(id="lead", name="Lead", instructions="You lead.", model=OPENAI, agents=["nobody"])
    Framework(agents=[lead])
    with pytest.raises(VersionUnresolved):
        lead.generate("hello", versions={"strict": True})
    assert model_server.requests == []


def test_a_changed_key_takes_effect_immediately(
    agent: Agent, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.generate("hello")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    agent.generate("hello")
    assert model_server.keys == [f"Bearer {KEY}", "Bearer another-key"]
