"""Every way in which a model behind HTTP, or a tool, can fail."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.runtime.model_server import (
    BreaksOff,
    Calls,
    Fails,
    FallsSilent,
    ModelServer,
    Reply,
    Request,
)
from versioning.runtime import (
    Agent,
    Framework,
    ProviderFailed,
    ToolFailed,
)

OPENAI = {"provider": "openai", "name": "small"}
KEY = "sk-test-0123456789abcdef"
QUICKLY = {"maxRetries": 0, "timeout": 0.5}


def explode() -> str:
    """Fail."""
    raise ValueError("with a secret")


@pytest.fixture
def agent(model_server: ModelServer) -> Agent:
    """An agent with a tool, alone in its framework."""
    made = Agent(id="a", name="A", instructions="Be brief.", model=OPENAI, tools=[explode])
    Framework(agents=[made])
    return made


def system_of(request: Request) -> str:
    return "\n".join(
        message["content"] for message in request["messages"] if message["role"] in {"system", "developer"}
    )


FAILURES: list[tuple[Reply, str]] = [
    (Fails(500, "the disk is full"), "answered 500: the disk is full"),
    (Fails(401, f"Incorrect API key provided: {KEY}. And Bearer {KEY}"), "answered 401: Incorrect API key"),
    (Fails(429, "slow down"), "answered 429: slow down"),
    (FallsSilent(), "did not answer in time"),
]


def test_a_failing_provider_is_an_error_with_its_reason_and_without_the_key(
    agent: Agent, model_server: ModelServer
) -> None:
    for reply, reason in FAILURES:
        model_server.model = lambda request, reply=reply: reply  # type: ignore[misc]
        with pytest.raises(ProviderFailed, match=reason) as failure:
            agent.generate("hello", model_settings=QUICKLY)
        assert failure.value.code == "provider_failed"
        assert KEY not in str(failure.value)
        with pytest.raises(ProviderFailed, match=reason):
            asyncio.run(agent.agenerate("hello", model_settings=QUICKLY))


def test_a_failure_after_the_start_is_an_event_and_the_last_one(
    agent: Agent, model_server: ModelServer
) -> None:
    breaks_off = (BreaksOff("some words"), "could not be reached, or broke off")
    for reply, reason in (*FAILURES[:2], breaks_off):
        model_server.model = lambda request, reply=reply: reply  # type: ignore[misc]
        events = [event for event in agent.stream("hello", model_settings=QUICKLY) if event]
        assert events[0]["type"] == "start"
        assert events[-1]["type"] == "error"
        assert reason in events[-1]["payload"]["error"]
        assert events[-1]["payload"]["code"] == "provider_failed"
        assert KEY not in json.dumps(events)


def test_a_secret_of_the_environment_is_hidden_even_if_it_does_not_look_like_a_key(
    agent: Agent, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", "correct horse")
    model_server.model = lambda request: Fails(500, "asked with correct horse battery")
    with pytest.raises(ProviderFailed, match=r"asked with \[hidden\] battery"):
        agent.generate("hello", model_settings=QUICKLY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ProviderFailed, match="could not be reached"):
        agent.generate("hello", model_settings=QUICKLY)


def test_a_failing_sub_agent_fails_the_run(model_server: ModelServer) -> None:
    model_server.model = lambda request: (
        Fails(500, "no more")
        if "You help." in system_of(request)
        else Calls("agent-helper", {"message": "x"})
    )
    options = {"modelSettings": QUICKLY}
    helper = Agent(id="helper", name="H", instructions="You help.", model=OPENAI, default_options=options)
    lead = Agent(id="lead", name="Lead", instructions="You lead.", model=OPENAI, agents=[helper])
    Framework(agents=[lead])
    with pytest.raises(ProviderFailed, match="answered 500: no more"):
        lead.generate("hello")


def test_a_tool_that_raises_is_an_error_without_secrets(agent: Agent, model_server: ModelServer) -> None:
    model_server.model = lambda request: Calls("explode", {})
    with pytest.raises(ToolFailed, match="ValueError") as failure:
        agent.generate("hello")
    assert "secret" not in str(failure.value)
    assert isinstance(failure.value.__cause__, ValueError)
    (*_, last) = agent.stream("hello")
    assert last and (last["type"], last["payload"]["code"]) == ("error", "tool_failed")
