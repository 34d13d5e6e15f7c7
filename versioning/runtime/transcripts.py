"""Convert between the agent library's messages and events and those of this package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, Final, NamedTuple
from uuid import uuid4

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import UsageBase
from pydantic_core import to_jsonable_python

from versioning.domain.errors import VersioningError
from versioning.domain.texts import StorablePieces, storable_json, storable_text
from versioning.runtime.calls import Turn
from versioning.runtime.results import Emit, Result, Step, notice_dict

Tags = tuple[str, str]
"""The tags that a model writes around a thought."""


class Piece(NamedTuple):
    """A piece of a model's output."""

    text: str
    is_thought: bool = False


class ThoughtSplitter:
    """Splits a streamed text into text and thoughts, regardless of the boundaries of its pieces.

    The result is that of the agent library for a whole text: an unclosed thought counts as text.
    """

    def __init__(self, tags: Tags) -> None:
        self._start, self._end = tags
        self._rest = ""
        """The end of the text so far, which may be the beginning of a tag."""
        self._thought: list[str] | None = None
        """The beginning of an open thought; None outside of thoughts."""

    def add(self, text: str) -> Iterator[Piece]:
        """Yield the pieces that are complete after the next part of the text."""
        text, self._rest = self._rest + text, ""
        while text:
            before, tag, text = text.partition(self._start if self._thought is None else self._end)
            if not tag:
                self._hold(before)
                before = "" if self._thought is not None else before[: len(before) - len(self._rest)]
            if self._thought is None:
                if before:
                    yield Piece(before)
                if tag:
                    self._thought = []
            elif tag:
                yield Piece("".join((*self._thought, before)), is_thought=True)
                self._thought = None

    def end(self) -> Iterator[Piece]:
        """Yield the rest at the end of the text."""
        text = "".join((*(self._thought or ()), self._rest))
        self._thought, self._rest = None, ""
        if text:
            yield Piece(text)

    def _hold(self, text: str) -> None:
        """Hold back a possible beginning of a tag; keep the rest of a thought until it is closed."""
        tag = self._start if self._thought is None else self._end
        lengths = range(min(len(text), len(tag) - 1), 0, -1)
        held_length = next((length for length in lengths if tag.startswith(text[-length:])), 0)
        self._rest = text[len(text) - held_length :]
        if self._thought is not None:
            self._thought.append(text[: len(text) - held_length])


IN_TAGS: Final = "content"
"""The id of thoughts that the agent library has removed from the text of a streamed response."""
_LONGEST_NUMBER: Final = 4000  # digits; Python parses no number of 4 300 and more
_WITH_TAGS: Final = {"OpenAIChatModel", "GroqModel", "HuggingFaceModel"}
_WITHOUT_FINISH_REASON: Final = {"FunctionModel", "SnowflakeModel", "TestModel"}


def thinking_tags(model: Model) -> Tags | None:
    """Return the tags whose content the agent library removes from the texts of a model; None for most."""
    kinds = _kinds(model)
    tags: Tags | None = model.profile.get("thinking_tags")
    return tags if kinds & _WITH_TAGS else None


def is_unfinished(response: ModelResponse, model: Model) -> bool:
    """Return whether a streamed response has ended without a finish reason, although the model gives one."""
    kinds = _kinds(model)
    if kinds & _WITHOUT_FINISH_REASON or "finish_reason" in (response.provider_details or {}):
        return False
    if "OpenAIChatModel" in kinds:  # for which the library reports "stop" if there was none
        return response.finish_reason != "content_filter"
    return response.finish_reason is None


def put_in_order(response: ModelResponse, tags: Tags | None) -> None:
    """Make all of a response storable, in place; `tags` are those of a streamed one."""
    parts = list(response.parts if tags is None else _without_thoughts(response.parts, tags))
    for part in parts:
        _make_storable(part)
    response.parts = parts


def make_results_storable(node: Any) -> None:
    """Make the results of tools storable before a node sends them to the model, if it does.

    Values of other than JSON's types are unchanged.
    """
    request = getattr(node, "request", None)
    for part in request.parts if isinstance(request, ModelRequest) else ():
        if isinstance(part, ToolReturnPart):
            part.content = storable_json(part.content)


def is_empty(response: ModelResponse) -> bool:
    """Return whether a response has neither text nor tool calls."""
    return not response.text and not response.tool_calls


def _kinds(model: Model) -> set[str]:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return {kind.__name__ for kind in type(model).__mro__}


def _make_storable(part: ModelResponsePart) -> None:
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(part, ToolCallPart) and field.name == "args" and isinstance(value, str):
            changed: Any = _storable_args(value)
        elif isinstance(value, str | dict | list):
            changed = storable_json(value)
        else:
            continue
        if changed is not value:
            setattr(part, field.name, changed)


def _storable_args(text: str) -> str:
    """Return arguments as JSON; those that cannot be parsed are unchanged, and the model gets an error."""
    try:
        args = json.loads(
            text, parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_NUMBER else float("inf")
        )
        storable = storable_json(args)
    except (ValueError, RecursionError):
        return storable_text(text)
    return text if storable == args else json.dumps(storable, ensure_ascii=False)


def _without_thoughts(parts: Iterable[ModelResponsePart], tags: Tags) -> Iterator[ModelResponsePart]:
    """Yield the parts of a streamed response, its texts split into texts and thoughts."""
    for is_text, grouped in groupby(parts, _is_text):
        group = list(grouped)
        text = "".join(text_with_tags(part, tags) for part in group) if is_text else ""
        if tags[0] not in text:
            yield from group
            continue
        splitter = ThoughtSplitter(tags)
        for piece in (*splitter.add(text), *splitter.end()):
            yield ThinkingPart(piece.text, id=IN_TAGS) if piece.is_thought else TextPart(piece.text)


def _is_text(part: ModelResponsePart) -> bool:
    return isinstance(part, TextPart) or is_in_tags(part)


def is_in_tags(part: object) -> bool:
    """Return whether a part is a thought that the agent library has removed from the text."""
    return isinstance(part, ThinkingPart) and part.id == IN_TAGS


def text_with_tags(part: Any, tags: Tags) -> str:
    """Return the model's original text, including the tags of a thought."""
    return f"{tags[0]}{part.content}{end_tag(part, tags)}" if is_in_tags(part) else str(part.content)


def end_tag(part: ThinkingPart, tags: Tags) -> str:
    """Return the end tag of a thought in tags, which its content lacks.

    If the content has one, text follows it: the library expects an end tag in a separate piece.
    """
    return "" if tags[1] in part.content else tags[1]


_FINISH_REASONS = {"content_filter": "content-filter", "tool_call": "tool-calls"}


def model_history(turns: Iterable[Turn]) -> list[ModelMessage]:
    """Return previous messages in the form of the agent library.

    Consecutive messages of one side become one message with many parts. The library would merge them
    itself, copying the list each time, which takes minutes for ten thousand messages.
    """
    by_assistant = groupby(turns, lambda turn: turn.role == "assistant")
    return [_model_message(turns, by_assistant=is_so) for is_so, turns in by_assistant]


def usage_dict(usage: UsageBase) -> dict[str, int]:
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
    }


def answering_models(messages: Iterable[ModelMessage]) -> tuple[str, ...]:
    """Return the models that answered, by the names that they gave."""
    model_names = (message.model_name for message in messages if isinstance(message, ModelResponse))
    return tuple(dict.fromkeys(storable_text(name) for name in model_names if name))


def tool_call_dict(part: ToolCallPart) -> dict[str, Any]:
    args = storable_json(to_jsonable_python(part.args_as_dict(), fallback=str))
    return {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "args": args}


def tool_result_dict(part: ToolReturnPart) -> dict[str, Any]:
    """Return the JSON form of a tool's result, which may be of any type."""
    try:
        result = storable_json(to_jsonable_python(part.content, fallback=str, inf_nan_mode="null"))
    except ValueError:  # such as bytes that are no text, or a list that holds itself
        result = storable_text(str(part.content))
    return {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "result": result}


def read_finish_reason(response: ModelResponse) -> str:
    """Return why the model stopped: `stop`, `length`, `content-filter`, `tool-calls` or `error`."""
    if response.tool_calls:
        return "tool-calls"
    reason = response.finish_reason or "stop"
    return _FINISH_REASONS.get(reason, reason)


def collect_steps(messages: Sequence[ModelMessage]) -> tuple[Step, ...]:
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
        finish_reason=read_finish_reason(response),
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


class Reporter:
    """Reports the events of one run, each as `{"type", "runId", "from", "payload"}`.

    They are those of the called agent only: delegations are its tool calls.
    """

    def __init__(self, emit: Emit, run_id: str) -> None:
        self._emit = emit
        self._run_id = run_id
        # One id for all steps, because clients show the texts of a run as one message.
        self._message_id = str(uuid4())
        self._texts = 0
        self._is_open = self._is_in_tags = False
        self._pieces = StorablePieces()
        self._tags: Tags | None = None
        self._splitter: ThoughtSplitter | None = None

    def start_run(self) -> None:
        """The run begins."""
        self._tell("start", messageId=self._message_id)

    def start_step(self, tags: Tags | None) -> None:
        """A model request begins; `tags` are those around thoughts in its texts."""
        self._tags = tags
        self._splitter = None if tags is None else ThoughtSplitter(tags)
        self._tell("step-start", messageId=self._message_id)

    def report_event(self, event: Any) -> None:
        """Report an event of the agent library; one without an equivalent is omitted."""
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                self._write_text(text)
            case PartStartEvent(part=ThinkingPart() as part) if self._tags and is_in_tags(part):
                self._is_in_tags = True
                self._write_text(self._tags[0] + part.content)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if self._is_in_tags:
                self._write_text(text)
            case PartEndEvent(part=ThinkingPart() as part) if self._tags and self._is_in_tags:
                self._is_in_tags = False
                self._write_text(end_tag(part, self._tags))
            case PartStartEvent():
                self._end_text()
            case PartEndEvent(part=TextPart()) if not self._tags:
                self._end_text()
            case FunctionToolCallEvent(part=call):
                self._tell("tool-call", **tool_call_dict(call))
            case FunctionToolResultEvent(part=result):
                self._tell("tool-result", **tool_result_dict(result))

    def end_response(self) -> None:
        """The model's response in this step is complete."""
        self._end_text()

    def finish_step(self, response: ModelResponse) -> None:
        """The model's answer and its tool calls are finished."""
        reason = read_finish_reason(response)
        self._tell(
            "step-finish",
            finishReason=reason,
            stepResult={"reason": reason},
            usage=usage_dict(response.usage),
        )

    def finish_run(self, result: Result) -> None:
        """The run is over."""
        self._tell(
            "finish",
            finishReason=result.finish_reason,
            stepResult={"reason": result.finish_reason},
            usage=dict(result.usage),
            resolvedVersions=dict(result.resolved_versions),
            rollouts={subject: dict(rollout) for subject, rollout in result.rollouts.items()},
            warnings=[notice_dict(notice) for notice in result.warnings],
        )

    def fail_run(self, error: VersioningError) -> None:
        """The run failed; nothing follows."""
        self._tell("error", error=error.message, code=error.code)

    @property
    def _text_id(self) -> str:
        return f"text-{self._texts}"

    def _write_text(self, text: str) -> None:
        """Report the model's text without thoughts; a text after a thought is another text."""
        for piece in self._splitter.add(text) if self._splitter else [Piece(text)]:
            if piece.is_thought:
                self._close_text()
            else:
                self._text(self._pieces.add(piece.text))

    def _end_text(self) -> None:
        for piece in self._splitter.end() if self._splitter else ():
            self._text(self._pieces.add(piece.text))
        self._close_text()

    def _close_text(self) -> None:
        self._text(self._pieces.end())
        if self._is_open:
            self._tell("text-end", id=self._text_id)
            self._is_open = False

    def _text(self, text: str) -> None:
        if not text:
            return
        if not self._is_open:
            self._texts += 1
            self._is_open = True
            self._tell("text-start", id=self._text_id)
        self._tell("text-delta", id=self._text_id, text=text)

    def _tell(self, kind: str, **payload: Any) -> None:
        self._emit({"type": kind, "runId": self._run_id, "from": "AGENT", "payload": payload})
