"""The result of a run, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from versioning.domain.resolved_agent import Notice


@dataclass(frozen=True, kw_only=True)
class Step:
    """One answer of the model, with the results of its tool calls."""

    text: str
    finish_reason: str
    tool_calls: tuple[Mapping[str, Any], ...]
    tool_results: tuple[Mapping[str, Any], ...]
    usage: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "text": self.text,
            "finishReason": self.finish_reason,
            "toolCalls": list(self.tool_calls),
            "toolResults": list(self.tool_results),
            "usage": dict(self.usage),
        }


@dataclass(frozen=True, kw_only=True)
class Result:
    """The answer of an agent.

    `usage` is that of the whole run, including sub-agents, with its `cost`, or None where a price is
    unknown. `steps`, `tool_calls` and `tool_results` are
    those of the called agent; a delegation is a tool call. `messages` is the conversation including the
    answer, in the form that the next call takes. `resolved_versions` gives the version of every agent that
    the called one can reach, whether or not it was asked this time; None means the code's.
    """

    text: str
    finish_reason: str
    usage: Mapping[str, Any]
    steps: tuple[Step, ...]
    messages: tuple[Mapping[str, Any], ...]
    run_id: str
    resolved_versions: Mapping[str, str | None]
    rollouts: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """The arms of rollouts in which the run is, by `agents` and `promptBlocks` and then by id."""
    warnings: tuple[Notice, ...]
    models: tuple[str, ...] = ()
    """The models that answered the called agent, by the names that they gave; not in the JSON form."""

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls of all steps: `{"toolCallId", "toolName", "args"}`."""
        return tuple(call for step in self.steps for call in step.tool_calls)

    @property
    def tool_results(self) -> tuple[Mapping[str, Any], ...]:
        """The tool results of all steps: `{"toolCallId", "toolName", "result"}`."""
        return tuple(result for step in self.steps for result in step.tool_results)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: camelCase names, JSON types only."""
        return {
            "text": self.text,
            "finishReason": self.finish_reason,
            "usage": dict(self.usage),
            "steps": [step.as_dict() for step in self.steps],
            "toolCalls": list(self.tool_calls),
            "toolResults": list(self.tool_results),
            "messages": [dict(message) for message in self.messages],
            "runId": self.run_id,
            "resolvedVersions": dict(self.resolved_versions),
            "rollouts": {subject: dict(found) for subject, found in self.rollouts.items()},
            "warnings": [notice_dict(notice) for notice in self.warnings],
        }


def notice_dict(notice: Notice) -> dict[str, Any]:
    """Return the JSON form of a warning."""
    found: dict[str, Any] = {"code": notice.code, "field": notice.field, "message": notice.message}
    return {**found, "placeholders": list(notice.placeholders)} if notice.placeholders else found
