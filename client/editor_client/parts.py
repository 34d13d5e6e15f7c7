"""Evaluate an agent without the server, from its parts: `GET /agents/:id?form=parts`.

The result is exactly the JSON that the server answers in the same request context, since both evaluate with
`editor_client.shared`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from editor_client.calls import CONTEXT, encoded
from editor_client.context_schema import refusals
from editor_client.errors import CannotEvaluate, ValidationFailed
from editor_client.shared import canonical
from editor_client.shared.agents import evaluated, left_out
from editor_client.shared.arms import arm_of, outcome_of
from editor_client.shared.errors import Invalid
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText

UNCHECKED: Final = {
    "code": "request_context_unchecked",
    "message": "The schema can be checked by the server only, which does not answer.",
    "field": "requestContextSchema",
}
"""The warning about a schema that was not checked."""
_ABSENT: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("source", "status", "selector", "fallback", "activeVersionId")),
    **dict.fromkeys(("rollout", "requestContextSchema")),
    **{name: {} for name in ("metadata", "omittedBlocks", "blockRollouts")},
}
"""What the parts of an agent mean that do not say it."""


def evaluate(
    parts: Mapping[str, Any], request_context: Mapping[str, Any] | None = None, *, offline: bool = False
) -> dict[str, Any]:
    """Return what `GET /agents/:id` answers in the context; values are shared with `parts`.

    Raises `ValidationFailed` where the server does, and `CannotEvaluate` if only the server can tell: for a
    `requestContextSchema` beyond `editor_client.context_schema`. With `offline`, because no server answers,
    such a schema is not checked, and a warning says so.
    """
    try:
        return evaluated_agent(parts, request_context or {}, offline=offline)
    except Invalid as error:
        details = {"error": error.message, "code": error.code, **error.details()}
        raise ValidationFailed(
            error.message, status=400, code=error.code, issues=error.issues, details=details
        ) from None


def evaluated_agent(
    parts: Mapping[str, Any], request_context: Mapping[str, Any], *, offline: bool = False
) -> dict[str, Any]:
    """Return the result of `evaluate`; raises the server's own `Invalid`."""
    # As the server receives it: of JSON types, with ordered keys.
    context = canonical.parse(encoded(request_context, CONTEXT), field=CONTEXT)
    evaluation = Evaluation(context)
    parts = {**_ABSENT, **parts}
    # An arm has its own version, configuration and schema, and leaves out other blocks.
    outcome = outcome_of(parts["rollout"], context)
    parts = {**parts, **(arm_of(parts["rollout"], context) or {})}
    config = parts["config"]
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
            *(_notice(*notice) for notice in left_out(agent.blocks)),
            *_context_notices(parts["requestContextSchema"], context, offline=offline),
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


def _context_notices(schema: Any, context: Mapping[str, Any], *, offline: bool) -> list[dict[str, str]]:
    """Return the schema's objections to the context."""
    if schema is None:
        return []
    try:
        refused = refusals(schema, context)
    except CannotEvaluate:
        if not offline:
            raise
        return [UNCHECKED]
    return [_notice("request_context_invalid", issue.message, issue.field) for issue in refused]


def _notice(code: str, message: str, field: str) -> dict[str, str]:
    """Return a notice as JSON has it: a plain text in place of a message that remembers its template."""
    return {"code": code, "message": str(message), "field": field}


def _texts(parts: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, BlockText | str]:
    """Return the prompt blocks for `assemble`: the text, or why there is none."""
    found: dict[str, BlockText | str] = {}
    for block_id, block in parts["promptBlocks"].items():
        if block_id in parts["omittedBlocks"] or block is None:
            found[block_id] = parts["omittedBlocks"].get(block_id, "missing")
        elif arm := arm_of(parts["blockRollouts"].get(block_id), context):
            found[block_id] = BlockText(version_id=arm["resolvedVersionId"], config=arm["config"])
        else:
            found[block_id] = BlockText(version_id=block["versionId"], config=block)
    return found
