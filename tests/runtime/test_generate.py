"""The arguments and results of a run, on the echo model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.factories import CodeAgentFactory
from versioning.runtime import Agent, Framework, NoModel, ProviderUnavailable


def agent(**changes: Any) -> Agent:
    made = CodeAgentFactory(**{"id": "a", "instructions": "text", **changes})
    Framework(agents=[made])
    return made


def test_echo_answers_with_the_system_prompt_and_the_last_user_message() -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    first = agent().generate(messages)
    assert first.text == "text\n\nthree"
    again = agent().generate([*first.messages, {"role": "user", "content": "and now?"}])
    assert again.text == "text\n\nand now?"


def test_echo_delegates_once_to_the_first_sub_agent_and_adds_its_answer(lead: Agent) -> None:
    second = CodeAgentFactory(id="second")
    boss = agent(agents=[lead, second])
    result = boss.generate("hello")
    assert result.text == "text\n\nhello\n\nlead in code\n\nhello\n\nwriter in code\n\nhello"
    assert [call["toolName"] for call in result.tool_calls] == ["agent-lead"]


def test_the_answer_over_http_is_plain_json(lead: Agent, framework: Framework) -> None:
    answer = json.loads(json.dumps(lead.generate("hello").as_dict()))
    run_id, usage = answer.pop("runId"), answer.pop("usage")
    steps = answer.pop("steps")
    assert run_id and set(usage) == {"inputTokens", "outputTokens", "totalTokens", "cost"}
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"] > 0
    assert [step["finishReason"] for step in steps] == ["tool-calls", "stop"]
    text = "lead in code\n\nhello\n\nwriter in code\n\nhello"
    assert answer == {
        "text": text,
        "finishReason": "stop",
        "toolCalls": [{"toolCallId": "echo-1", "toolName": "agent-writer", "args": {"message": "hello"}}],
        "toolResults": [
            {"toolCallId": "echo-1", "toolName": "agent-writer", "result": "writer in code\n\nhello"}
        ],
        "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": text}],
        "resolvedVersions": {"lead": None, "writer": None},
        "rollouts": {"agents": {}, "promptBlocks": {}},
        "warnings": [],
    }


def test_usage_counts_the_sub_agents_too(lead: Agent, writer: Agent, framework: Framework) -> None:
    result = lead.generate("hello")
    own = sum(step.usage["totalTokens"] for step in result.steps)
    assert result.usage["totalTokens"] == own + writer.generate("hello").usage["totalTokens"]


def test_an_unknown_option_is_a_type_error() -> None:
    options: dict[str, Any] = {"temperature": 1}
    with pytest.raises(TypeError, match="temperature"):
        agent().generate("hello", **options)


def test_instructions_of_the_call_replace_only_those_of_the_called_agent(
    lead: Agent, framework: Framework
) -> None:
    result = lead.generate("hello", instructions="other")
    assert result.text == "other\n\nhello\n\nwriter in code\n\nhello"


def test_the_steps_of_the_called_agent_are_limited() -> None:
    for stored, called, steps in ((None, None, 2), (1, None, 1), (None, 1, 1), (1, 2, 2), (0, None, 2)):
        options = {} if stored is None else {"maxSteps": stored}
        writer = CodeAgentFactory(id="writer", instructions="writer in code")
        result = agent(agents=[writer], default_options=options).generate("hello", max_steps=called)
        assert len(result.steps) == steps
        assert result.finish_reason == ("stop" if steps == 2 else "tool-calls")
        assert [call["result"] for call in result.tool_results] == ["writer in code\n\nhello"]


def test_an_agent_without_a_model_is_an_error_and_a_sub_agent_without_one_a_warning() -> None:
    mute = Agent(id="mute", name="Mute", instructions="mute")
    boss = agent(agents=[mute])
    with pytest.raises(NoModel, match="mute"):
        mute.generate("hello")
    result = boss.generate("hello")
    assert result.text.endswith("The agent 'mute' is not available.")
    assert [(notice.code, notice.field) for notice in result.warnings] == [("no_model", "agents.mute")]


def test_a_provider_without_its_key_names_the_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderUnavailable, match="OPENAI_API_KEY") as refusal:
        agent(model={"provider": "openai", "name": "m"}).generate("hello")
    assert refusal.value.code == "provider_unavailable"
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(ProviderUnavailable, match="OPENAI_API_KEY is empty"):
        agent(model={"provider": "openai", "name": "m"}).generate("hello")


def test_the_synchronous_form_can_be_called_from_a_running_loop_and_answers_the_same(
    lead: Agent, framework: Framework
) -> None:
    async def ask() -> list[str]:
        return [lead.generate("hello").text, (await lead.agenerate("hello")).text]

    assert asyncio.run(ask()) == [lead.generate("hello").text] * 2
