"""Assemble a candidate into the agent that is served: choose conditional fields, join the instructions."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from editor_client.shared.conditions import choose, holds
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockReport, assemble, referenced_blocks

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD, UnusableSchema, refusals
from versioning.domain.errors import Invalid, NoInstructions
from versioning.domain.resolved_agent import CONTEXT_INVALID, Notice, ResolvedAgent
from versioning.serving.blocks import Texts, find_blocks, shown_texts
from versioning.serving.candidates import Candidate

logger = logging.getLogger(__name__)


def assembled(candidate: Candidate, evaluation: Evaluation, caller: Caller) -> ResolvedAgent:
    """Return the served agent for a candidate; raises `Invalid` if that is too much to evaluate."""
    wanted = {target for _, target in referenced_blocks(candidate.config)}
    evaluation.field = "instructions"
    found = find_blocks(wanted, candidate.policy, caller, evaluation) if wanted else {}
    (texts,) = shown_texts([candidate], {candidate.policy: found})
    return _build(candidate, evaluation, texts)


def all_assembled(
    candidates: Sequence[Candidate], evaluation: Evaluation, caller: Caller
) -> list[ResolvedAgent]:
    """Return the served agents for many candidates; the number of queries does not depend on how many.

    All share one evaluation budget, and those of the caller's own workspaces come first. An agent of
    another workspace that exceeds what is left is omitted and logged, because nobody's public agent may
    make the list fail for everybody. For the caller's own agents `Invalid` is raised.
    """
    wanted = {target for one in candidates for _, target in referenced_blocks(one.config)}
    policies = {one.policy for one in candidates} if wanted else set()
    found = {policy: find_blocks(wanted, policy, caller, evaluation, is_paid=False) for policy in policies}
    shown = shown_texts(candidates, found)
    texts = {one.id: own for one, own in zip(candidates, shown, strict=True)}
    built: dict[str, ResolvedAgent] = {}
    for one in sorted(candidates, key=lambda one: not _is_own(one, caller)):
        try:
            built[one.id] = _build(one, evaluation, texts[one.id])
        except Invalid as error:
            if _is_own(one, caller):
                raise Invalid.field(
                    f"{one.id}.{error.issues[0].field}", error.issues[0].message, code=error.code
                ) from None
            logger.warning("left out of a list of agents: %s of %s: %s", one.id, one.workspace_id, error)
    return [built[one.id] for one in candidates if one.id in built]


def _is_own(candidate: Candidate, caller: Caller) -> bool:
    """Say whether one of the caller's own workspaces, or the code, is responsible for an agent."""
    return candidate.source == "code" or caller.may(Right.READ, candidate.workspace_id)


def _build(candidate: Candidate, evaluation: Evaluation, texts: Texts) -> ResolvedAgent:
    config = candidate.config
    if "instructions" not in config:
        raise NoInstructions(candidate.id)
    instructions, reports = assemble(config["instructions"], evaluation, texts)
    absent = (report for report in reports if report.reason in {"missing", "unpublished"})
    return ResolvedAgent(
        id=candidate.id,
        uuid=candidate.uuid,
        # An override whose agent the code no longer defines need not have one.
        name=config.get("name", candidate.id),
        description=config.get("description"),
        instructions=instructions,
        tools=_offered("tools", config, evaluation),
        agents=_offered("agents", config, evaluation),
        model=_chosen("model", config, evaluation),
        default_options=_chosen("defaultOptions", config, evaluation) or {},
        source=candidate.source,
        status=candidate.status,
        metadata=candidate.metadata,
        resolved_version_id=candidate.version_id,
        active_version_id=candidate.active_version_id,
        is_live=candidate.is_live,
        selector=candidate.selector,
        fallback=candidate.fallback,
        warnings=(
            *(_left_out(report) for report in absent),
            *context_notices(config.get(SCHEMA_FIELD), evaluation),
        ),
        blocks=tuple(reports),
    )


def _chosen(field: str, config: Config, evaluation: Evaluation) -> Any:
    evaluation.field = field
    return choose(config.get(field), evaluation)


def _offered(field: str, config: Config, evaluation: Evaluation) -> dict[str, Any]:
    """Return the tools or sub-agents whose rules hold, without the rules."""
    chosen = _chosen(field, config, evaluation) or {}
    return {
        key: {name: member for name, member in usage.items() if name != "rules"}
        for key, usage in chosen.items()
        if holds(usage.get("rules"), evaluation)
    }


def context_notices(schema: Any, evaluation: Evaluation) -> list[Notice]:
    """Return notices if a `requestContextSchema` refuses the context; none without a schema.

    All schemas of a request share the time that the evaluation leaves for them.
    """
    if schema is None:
        return []
    began = time.thread_time()
    try:
        issues = refusals(schema, evaluation.context, seconds_spent=evaluation.seconds_checking)
    except UnusableSchema as error:
        return [Notice("request_context_unchecked", f"The schema cannot be used: {error}.", SCHEMA_FIELD)]
    finally:
        evaluation.seconds_checking += time.thread_time() - began
    return [Notice(CONTEXT_INVALID, issue.message, issue.field) for issue in issues]


def _left_out(report: BlockReport) -> Notice:
    what = "does not exist" if report.reason == "missing" else "is not published"
    return Notice(
        code=f"block_{report.reason}",
        field=f"instructions.{report.position}.id",
        message=f"The prompt block {report.id!r} {what}; it is left out.",
    )
