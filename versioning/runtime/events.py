"""The events of a run in their JSON form: `{"type", "runId", "from", "payload"}`."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from versioning.domain.errors import VersioningError
from versioning.runtime.results import Result, notice_dict
from versioning.runtime.streaming import Emit
from versioning.runtime.transcripts import finish_reason_of, tool_call_dict, tool_result_dict, usage_dict


class Reporter:
    """Reports the events of one run, of the called agent only; delegations are its tool calls."""

    def __init__(self, emit: Emit, run_id: str) -> None:
        self._emit = emit
        self._run_id = run_id
        # One id for all steps, because clients show the texts of a run as one message.
        self._message_id = str(uuid4())
        self._texts = 0

    def started(self) -> None:
        """The run begins."""
        self._tell("start", messageId=self._message_id)

    def step_started(self) -> None:
        """The model is asked."""
        self._tell("step-start", messageId=self._message_id)

    def happened(self, event: Any) -> None:
        """Report an event of the agent library; one that has no equivalent is left out."""
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self._texts += 1
                self._tell("text-start", id=self._text_id)
                self._text(text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._text(text)
            case PartEndEvent(part=TextPart()):
                self._tell("text-end", id=self._text_id)
            case FunctionToolCallEvent(part=call):
                self._tell("tool-call", **tool_call_dict(call))
            case FunctionToolResultEvent(part=result):
                self._tell("tool-result", **tool_result_dict(result))

    def step_finished(self, response: ModelResponse) -> None:
        """The model's answer and its tool calls are finished."""
        reason = finish_reason_of(response)
        self._tell(
            "step-finish",
            finishReason=reason,
            stepResult={"reason": reason},
            usage=usage_dict(response.usage),
        )

    def finished(self, result: Result) -> None:
        """The run is over."""
        self._tell(
            "finish",
            finishReason=result.finish_reason,
            stepResult={"reason": result.finish_reason},
            usage=dict(result.usage),
            resolvedVersions=dict(result.resolved_versions),
            warnings=[notice_dict(notice) for notice in result.warnings],
        )

    def failed(self, error: VersioningError) -> None:
        """The run failed; nothing follows."""
        self._tell("error", error=error.message, code=error.code)

    @property
    def _text_id(self) -> str:
        return f"text-{self._texts}"

    def _text(self, text: str) -> None:
        if text:
            self._tell("text-delta", id=self._text_id, text=text)

    def _tell(self, kind: str, **payload: Any) -> None:
        self._emit({"type": kind, "runId": self._run_id, "from": "AGENT", "payload": payload})
