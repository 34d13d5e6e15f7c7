"""Evaluate an agent in a context: its instructions as one text, its conditional fields, the API's answer.

The service evaluates an agent with this function for requests with a context, and the client if it has the
agent's parts. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from editor_client.shared import canonical
from editor_client.shared.arms import choose_arm, describe_arm, describe_outcome
from editor_client.shared.conditions import Evaluation, choose, holds
from editor_client.shared.errors import Message
from editor_client.shared.instructions import BlockReport, BlockText, assemble

EVALUATED_FIELDS: Final[Sequence[str]] = (
    "name",
    "description",
    "instructions",
    "tools",
    "agents",
    "model",
    "defaultOptions",
)
"""The fields of a configuration that are evaluated."""


UNRESOLVED: Final = "unresolved_placeholder"
"""The code of the notice about placeholders without a value."""


_MAX_NAMED: Final = 10


class LeftOut(NamedTuple):
    """A notice that the instructions lack a prompt block."""

    code: str
    message: str
    field: str


@dataclass(frozen=True, kw_only=True)
class EvaluatedAgent:
    """The fields of a configuration that depend on the context, evaluated."""

    instructions: str
    tools: dict[str, Any]
    agents: dict[str, Any]
    model: Any
    default_options: Any
    blocks: Sequence[BlockReport]
    """The result for each block of the instructions, inline ones included; empty for a plain text."""


def evaluate_agent(
    config: Mapping[str, Any], texts: Mapping[str, BlockText | str], evaluation: Evaluation
) -> EvaluatedAgent:
    """Return the agent of a configuration, which has instructions, in a context.

    `texts` are the prompt blocks that were found, as for `assemble`. Raises `Invalid` if the instructions are
    too long, or take more work than the evaluation allows.
    """
    instructions, reports = assemble(config["instructions"], evaluation, texts)
    return EvaluatedAgent(
        instructions=instructions,
        tools=_choose_offered("tools", config, evaluation),
        agents=_choose_offered("agents", config, evaluation),
        model=_chosen("model", config, evaluation),
        default_options=_chosen("defaultOptions", config, evaluation) or {},
        blocks=reports,
    )


def left_out(reports: Sequence[BlockReport]) -> Iterator[LeftOut]:
    """Yield a notice for each prompt block that is omitted because it has no text."""
    for report in reports:
        if report.reason in {"missing", "unpublished"}:
            message = Message("The prompt block {id!r} is not published; it is left out.", id=report.id)
            if report.reason == "missing":
                message = Message(
                    "The prompt block {id!r} does not exist, or you may not read it. It is left out.",
                    id=report.id,
                )
            yield LeftOut(
                code=f"block_{report.reason}",
                message=message,
                field=f"instructions.{report.position}.id",
            )


class Unresolved(NamedTuple):
    """A notice about unresolved placeholders."""

    code: str
    message: str
    field: str
    placeholders: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self._asdict(), "message": str(self.message), "placeholders": list(self.placeholders)}


def find_unresolved(reports: Iterable[BlockReport]) -> Iterator[Unresolved]:
    """Yield one notice if the text has placeholders without a value and without a fallback."""
    paths = tuple(dict.fromkeys(path for report in reports for path in report.unresolved))
    if paths:
        paths_text = ", ".join(paths[:_MAX_NAMED]) + (", …" if len(paths) > _MAX_NAMED else "")
        message = Message(
            "The context has no value for these placeholders, which stay as they are written: {paths}.",
            paths=paths_text,
        )
        yield Unresolved(UNRESOLVED, message, "instructions", paths)


def _chosen(field: str, config: Mapping[str, Any], evaluation: Evaluation) -> Any:
    evaluation.field = field
    return choose(config.get(field), evaluation)


def _choose_offered(field: str, config: Mapping[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    """Return the tools or sub-agents whose rules hold, without the rules."""
    chosen = _chosen(field, config, evaluation) or {}
    return {
        key: {name: member for name, member in usage.items() if name != "rules"}
        for key, usage in chosen.items()
        if holds(usage.get("rules"), evaluation)
    }


def build_messages(agent_input: Any) -> Any:
    """Return the messages to an agent: a text, those in `messages`, or the input as compact JSON."""
    if isinstance(agent_input, str):
        return agent_input
    if isinstance(agent_input, Mapping) and "messages" in agent_input:
        return agent_input["messages"]
    return canonical.display_text(agent_input)


def answer_in(
    parts: Mapping[str, Any],
    context: Mapping[str, Any],
    check: Callable[[Any, Mapping[str, Any]], Iterable[Mapping[str, Any]]],
) -> dict[str, Any]:
    """Return the answer in a context, a parsed JSON object; values are shared with `parts`.

    `check` returns the warnings of a `requestContextSchema`, which is not None, about the context. Raises
    `Invalid` if the instructions are too long, or take too much to evaluate.
    """
    evaluation = Evaluation(context)
    # An arm has its own version, configuration and schema, and omits other blocks.
    rule = parts["rollout"]
    arm = choose_arm(rule, context)
    outcome = None if rule is None else describe_arm(rule, arm, context)
    parts = {**parts, **(arm or {})}
    config, schema = parts["config"], parts["requestContextSchema"]
    agent = evaluate_agent(config, _texts(parts, context), evaluation)
    model = agent.model or {}
    return {
        "id": parts["id"],
        "name": config["name"],
        "description": config.get("description"),
        "instructions": agent.instructions,
        "tools": agent.tools,
        "agents": agent.agents,
        "model": agent.model,
        "provider": model.get("provider"),
        "modelId": model.get("name"),
        "defaultOptions": agent.default_options,
        "source": parts["source"],
        "status": parts["status"],
        "metadata": parts["metadata"],
        "resolvedVersionId": parts["resolvedVersionId"],
        "activeVersionId": parts["activeVersionId"],
        "rollout": outcome,
        "selector": parts["selector"],
        "fallback": parts["fallback"],
        "warnings": [
            # A plain text in place of a message that remembers its template.
            *({**notice._asdict(), "message": str(notice.message)} for notice in left_out(agent.blocks)),
            *(notice.as_dict() for notice in find_unresolved(agent.blocks)),
            *(check(schema, context) if schema is not None else ()),
        ],
        "blocks": [
            {
                "id": block.id,
                "versionId": block.version_id,
                "shown": block.shown,
                "reason": block.reason,
                "rollout": describe_outcome(parts["blockRollouts"].get(block.id), context),
            }
            for block in agent.blocks
            if block.id is not None
        ],
    }


def _texts(parts: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, BlockText | str]:
    """Return the prompt blocks for `assemble`: the text, or why there is none."""
    texts: dict[str, BlockText | str] = {}
    for block_id, block in parts["promptBlocks"].items():
        if block_id in parts["omittedBlocks"] or block is None:
            texts[block_id] = parts["omittedBlocks"].get(block_id, "missing")
        elif arm := choose_arm(parts["blockRollouts"].get(block_id), context):
            texts[block_id] = BlockText(version_id=arm["resolvedVersionId"], config=arm["config"])
        else:
            texts[block_id] = BlockText(version_id=block["versionId"], config=block)
    return texts
