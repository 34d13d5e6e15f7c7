"""The answer of `GET /agents/:id`, from an agent's parts and a request context.

The service answers requests with a context by this function, and the client when it holds the parts. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from editor_client.shared.agents import evaluated, left_out, unresolved
from editor_client.shared.arms import arm_of, describe_arm, outcome_of
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText


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
    # An arm has its own version, configuration and schema, and leaves out other blocks.
    rule = parts["rollout"]
    arm = arm_of(rule, context)
    outcome = None if rule is None else describe_arm(rule, arm, context)
    parts = {**parts, **(arm or {})}
    config, schema = parts["config"], parts["requestContextSchema"]
    agent = evaluated(config, _texts(parts, context), evaluation)
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
            *(notice.as_dict() for notice in unresolved(agent.blocks)),
            *(check(schema, context) if schema is not None else ()),
        ],
        "blocks": [
            {
                "id": block.id,
                "versionId": block.version_id,
                "shown": block.shown,
                "reason": block.reason,
                "rollout": outcome_of(parts["blockRollouts"].get(block.id), context),
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
        elif arm := arm_of(parts["blockRollouts"].get(block_id), context):
            texts[block_id] = BlockText(version_id=arm["resolvedVersionId"], config=arm["config"])
        else:
            texts[block_id] = BlockText(version_id=block["versionId"], config=block)
    return texts
