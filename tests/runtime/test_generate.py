"""What a run takes and answers, on the echo model."""

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
    assert agent().generate(messages).text == "text\n\nthree"


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
    assert run_id and set(usage) == {"inputTokens", "outputTokens", "totalTokens"}
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
        "warnings": [],
    }


def test_usage_counts_the_sub_agents_too(lead: Agent, writer: Agent, framework: Framework) -> None:
    result = lead.generate("hello")
    own = sum(step.usage["totalTokens"] for step in result.steps)
    assert result.usage["totalTokens"] == own + writer.generate("hello").usage["totalTokens"]


def test_the_messages_of_an_answer_can_be_sent_again() -> None:
    first = agent().generate("hello")
    again = agent().generate([*first.messages, {"role": "user", "content": "and now?"}])
    assert again.text == "text\n\nand now?"


def test_an_unknown_option_is_a_type_error() -> None:
    options: dict[str, Any] = {"temperature": 1}
    with pytest.raises(TypeError, match="temperature"):
        agent().generate("hello", **options)


def test_instructions_of_the_call_replace_those_of_the_called_agent_alone(
    lead: Agent, framework: Framework
) -> None:
    result = lead.generate("hello", instructions="other")
    assert result.text == "other\n\nhello\n\nwriter in code\n\nhello"


@pytest.mark.parametrize(
    ("stored", "called", "steps"), [(None, None, 2), (1, None, 1), (None, 1, 1), (1, 2, 2), (0, None, 2)]
)
def test_the_steps_of_the_called_agent_are_limited(
    stored: int | None, called: int | None, steps: int, writer: Agent
) -> None:
    options = {} if stored is None else {"maxSteps": stored}
    boss = agent(agents=[writer], default_options=options)
    result = boss.generate("hello", max_steps=called)
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


@pytest.mark.parametrize(
    ("provider", "says"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("openai-responses", "OPENAI_API_KEY"),
        ("deepseek", "DEEPSEEK_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("anthropic", r"pydantic-ai-slim\[anthropic\]"),
        ("acme", "unknown.*OPENAI_API_KEY"),
        ("test", "unknown"),
    ],
    ids=repr,
)
def test_a_provider_that_cannot_be_used_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, provider: str, says: str
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ProviderUnavailable, match=says) as refusal:
        agent(model={"provider": provider, "name": "m"}).generate("hello")
    assert refusal.value.code == "provider_unavailable"


def test_an_empty_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(ProviderUnavailable, match="OPENAI_API_KEY is empty"):
        agent(model={"provider": "openai", "name": "m"}).generate("hello")


def test_the_asynchronous_form_answers_the_same(lead: Agent, framework: Framework) -> None:
    assert asyncio.run(lead.agenerate("hello")).text == lead.generate("hello").text


def test_the_synchronous_form_can_be_called_from_a_running_loop(writer: Agent, framework: Framework) -> None:
    async def ask() -> str:
        return writer.generate("hello").text

    assert asyncio.run(ask()) == "writer in code\n\nhello"
