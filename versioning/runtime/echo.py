"""The echo model: offline and deterministic, for trying an agent without a provider's key.

It answers with the system prompt, a blank line and the last user message. An agent with sub-agents first
delegates the message to the first of them, once, and adds that answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from versioning.runtime.delegation import DELEGATES_TO

_CALL_ID = "echo-1"


def echo_model() -> FunctionModel:
    """Return the model; it has no state, so one serves all runs."""
    return FunctionModel(_respond, stream_function=_stream, model_name="echo")


async def _respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    tool_name = _next_delegation(messages, info)
    if tool_name is not None:
        args = {"message": _last_prompt(messages)}
        return ModelResponse(parts=[ToolCallPart(tool_name, args, tool_call_id=_CALL_ID)])
    return ModelResponse(parts=[TextPart(_answer(messages, info))])


async def _stream(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    tool_name = _next_delegation(messages, info)
    if tool_name is not None:
        args = json.dumps({"message": _last_prompt(messages)})
        yield {0: DeltaToolCall(name=tool_name, json_args=args, tool_call_id=_CALL_ID)}
        return
    for piece in re.findall(r"\S*\s*", _answer(messages, info)):
        yield piece


def _next_delegation(messages: Sequence[ModelMessage], info: AgentInfo) -> str | None:
    """Return the tool to delegate with, or None if there is none or it was used already."""
    if _tool_answer(messages) is not None:
        return None
    tools = (tool.name for tool in info.function_tools if DELEGATES_TO in (tool.metadata or {}))
    return next(tools, None)


def _answer(messages: Sequence[ModelMessage], info: AgentInfo) -> str:
    parts = (info.instructions, _last_prompt(messages), _tool_answer(messages))
    return "\n\n".join(part for part in parts if part)


def _last_prompt(messages: Sequence[ModelMessage]) -> str:
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    ]
    return prompts[-1]


def _tool_answer(messages: Sequence[ModelMessage]) -> str | None:
    parts = messages[-1].parts if isinstance(messages[-1], ModelRequest) else ()
    return next((part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)), None)
