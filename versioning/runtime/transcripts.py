"""Messages in the form of the agent library: what it is given, and the steps found in what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import UsageBase
from pydantic_core import to_jsonable_python

from versioning.runtime.messages import Turn
from versioning.runtime.results import Step

_FINISH_REASONS = {"content_filter": "content-filter", "tool_call": "tool-calls"}


def model_history(turns: Iterable[Turn]) -> list[ModelMessage]:
    """Return previous messages in the form of the agent library.

    Consecutive messages of one side become one message with many parts. The library would merge them
    itself, copying the list each time, which takes minutes for ten thousand messages.
    """
    by_assistant = groupby(turns, lambda turn: turn.role == "assistant")
    return [_model_message(turns, by_assistant=is_so) for is_so, turns in by_assistant]


def usage_dict(usage: UsageBase) -> dict[str, int]:
    """Return the JSON form of the usage."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
    }


def tool_call_dict(part: ToolCallPart) -> dict[str, Any]:
    """Return the JSON form of a tool call."""
    args = to_jsonable_python(part.args_as_dict(), fallback=str)
    return {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "args": args}


def tool_result_dict(part: ToolReturnPart) -> dict[str, Any]:
    """Return the JSON form of a tool's result, whatever the function returned."""
    result = to_jsonable_python(part.content, fallback=str, inf_nan_mode="null")
    return {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "result": result}


def finish_reason_of(response: ModelResponse) -> str:
    """Return why the model stopped: `stop`, `length`, `content-filter`, `tool-calls` or `error`."""
    if response.tool_calls:
        return "tool-calls"
    reason = response.finish_reason or "stop"
    return _FINISH_REASONS.get(reason, reason)


def steps_of(messages: Sequence[ModelMessage]) -> tuple[Step, ...]:
    """Return the steps in the messages of one run."""
    return tuple(
        _step(message, messages[position + 1] if position + 1 < len(messages) else None)
        for position, message in enumerate(messages)
        if isinstance(message, ModelResponse)
    )


def _step(response: ModelResponse, following: ModelMessage | None) -> Step:
    answered = following.parts if isinstance(following, ModelRequest) else ()
    return Step(
        text=response.text or "",
        finish_reason=finish_reason_of(response),
        tool_calls=tuple(tool_call_dict(part) for part in response.tool_calls),
        tool_results=tuple(tool_result_dict(part) for part in answered if isinstance(part, ToolReturnPart)),
        usage=usage_dict(response.usage),
    )


def _model_message(turns: Iterable[Turn], *, by_assistant: bool) -> ModelMessage:
    if by_assistant:
        return ModelResponse(parts=[TextPart(turn.text) for turn in turns])
    return ModelRequest(
        parts=[
            SystemPromptPart(turn.text) if turn.role == "system" else UserPromptPart(turn.text)
            for turn in turns
        ]
    )
