"""Assemble a candidate into the agent that is served: choose conditional fields, join the instructions."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from editor_client.shared.agents import evaluated, left_out, unresolved
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import referenced_blocks

from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.context_schema import SCHEMA_FIELD, UnusableSchema, refusals
from versioning.domain.errors import Invalid, Message, NoInstructions
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.domain.resolved_agent import CONTEXT_INVALID, Notice, ResolvedAgent
from versioning.domain.selectors import Status
from versioning.serving import choice
from versioning.serving.blocks import Found, Texts, find_blocks, shown_texts
from versioning.serving.candidates import Blocks, Candidate
from versioning.serving.choice import Choice, Chooses

logger = logging.getLogger(__name__)


def assembled(candidate: Candidate, evaluation: Evaluation, caller: Caller) -> ResolvedAgent:
    """Return the served agent for a candidate; raises `Invalid` if it takes too much to evaluate."""
    found = _blocks_for(candidate, evaluation, caller)
    texts = _shown(candidate, found)
    resolved = {one for one, block in found.items() if one in texts and not block.is_unresolved}
    wanted = {target for _, target in referenced_blocks(candidate.config)}
    unresolved = sorted((wanted & candidate.selected_blocks.keys()) - resolved)
    return replace(build(candidate, evaluation, texts), unresolved_blocks=tuple(unresolved))


def texts_for(
    candidate: Candidate, evaluation: Evaluation, caller: Caller, chooses: Chooses | None = None
) -> Texts:
    """Return the prompt blocks that a candidate may show; raises `Invalid` if they are too much to read.

    `chooses` is as in `find_blocks`.
    """
    return _shown(candidate, _blocks_for(candidate, evaluation, caller, chooses))


def _blocks_for(
    candidate: Candidate, evaluation: Evaluation, caller: Caller, chooses: Chooses | None = None
) -> Found:
    wanted = {target for _, target in referenced_blocks(candidate.config)}
    evaluation.field = "instructions"
    if not wanted:
        return {}
    return find_blocks(
        wanted,
        candidate.policy,
        caller,
        evaluation,
        selected=candidate.selected_blocks,
        overlay=candidate.overlay,
        chooses=chooses,
    )


def _shown(candidate: Candidate, found: Found) -> Texts:
    (texts,) = shown_texts([candidate], {candidate.policy: found})
    return texts


def name_of(candidate: Candidate) -> str:
    """Return the agent's name: an override may lack one if the code no longer defines its agent."""
    return str(candidate.config.get("name", candidate.id))


def require_instructions(candidate: Candidate) -> None:
    """Raise `NoInstructions` if the code leaves the instructions to an editor, and none are published."""
    if "instructions" not in candidate.config:
        raise NoInstructions(candidate.id)


def all_assembled(
    candidates: Sequence[Candidate], evaluation: Evaluation, caller: Caller
) -> list[ResolvedAgent]:
    """Return the served agents for many candidates; the number of queries does not depend on how many.

    All share one evaluation budget, and those of the caller's own workspaces come first. An agent of another
    workspace that exceeds the rest is omitted and logged, so that no public agent can make the list fail for
    everyone. For the caller's own agents `Invalid` is raised.
    """
    wanted = {target for one in candidates for _, target in referenced_blocks(one.config)}
    policies = {one.policy for one in candidates} if wanted else set()
    found = {policy: find_blocks(wanted, policy, caller, evaluation, is_paid=False) for policy in policies}
    shown = shown_texts(candidates, found)
    texts = {one.id: own for one, own in zip(candidates, shown, strict=True)}
    made = choice.choices(AGENT, filter(None, map(_chosen_id, candidates)), evaluation.context)
    of_blocks = choice.choices(PROMPT_BLOCK, wanted, evaluation.context)
    built: dict[str, ResolvedAgent] = {}
    for one in sorted(candidates, key=lambda one: not _is_own(one, caller)):
        try:
            built[one.id] = _built(one, evaluation, texts[one.id], made.get(one.id, Choice()), of_blocks)
        except Invalid as error:
            if _is_own(one, caller):
                raise Invalid.field(
                    f"{one.id}.{error.issues[0].field}", error.issues[0].message, code=error.code
                ) from None
            logger.warning("left out of a list of agents: %s of %s: %s", one.id, one.workspace_id, error)
    return [built[one.id] for one in candidates if one.id in built]


def _is_own(candidate: Candidate, caller: Caller) -> bool:
    """Return whether an agent belongs to one of the caller's own workspaces, or to the code."""
    return candidate.source == "code" or caller.may(Right.READ, candidate.workspace_id)


def build(candidate: Candidate, evaluation: Evaluation, texts: Texts) -> ResolvedAgent:
    """Return the served agent for a candidate that shows these texts; raises as `assembled` does."""
    own = choice.choices(AGENT, filter(None, [_chosen_id(candidate)]), evaluation.context)
    of_blocks = choice.choices(PROMPT_BLOCK, texts, evaluation.context)
    return _built(candidate, evaluation, texts, own.get(candidate.id, Choice()), of_blocks)


def _built(
    candidate: Candidate,
    evaluation: Evaluation,
    texts: Texts,
    own: Choice,
    of_blocks: Mapping[str, Choice],
) -> ResolvedAgent:
    """Return the served agent; `own` and `of_blocks` are the choices for this request."""
    require_instructions(candidate)
    config = candidate.config
    agent = evaluated(config, texts, evaluation)
    served = {block.id: block.version_id for block in agent.blocks if block.id}
    published = () if candidate.policy is Blocks.DRAFTS else served.keys() - candidate.selected_blocks.keys()
    of_blocks = {one: of_blocks[one] for one in sorted(published) if one in of_blocks}
    outcomes = {one: made.outcome_of(served[one]) for one, made in of_blocks.items()}
    return ResolvedAgent(
        id=candidate.id,
        uuid=candidate.uuid,
        name=name_of(candidate),
        description=config.get("description"),
        instructions=agent.instructions,
        tools=agent.tools,
        agents=agent.agents,
        model=agent.model,
        default_options=agent.default_options,
        source=candidate.source,
        status=candidate.status,
        metadata=candidate.metadata,
        resolved_version_id=candidate.version_id,
        resolved_version_number=candidate.version_number,
        active_version_id=candidate.active_version_id,
        is_live=candidate.is_live,
        selector=candidate.selector,
        fallback=candidate.fallback,
        warnings=(
            *(Notice(*notice) for notice in left_out(agent.blocks)),
            *(Notice(*notice) for notice in unresolved(agent.blocks)),
            *context_notices(config.get(SCHEMA_FIELD), evaluation),
        ),
        blocks=tuple(agent.blocks),
        outcome=own.outcome_of(candidate.version_id),
        block_outcomes={one: outcome for one, outcome in outcomes.items() if outcome is not None},
        depends_on=tuple(one for made in (own, *of_blocks.values()) for one in made.depends_on),
    )


def _chosen_id(candidate: Candidate) -> str | None:
    """Return the agent's id if a chooser may choose its version, otherwise None."""
    is_chosen = candidate.selector.status is Status.PUBLISHED and candidate.active_version_id is not None
    return candidate.id if is_chosen else None


def context_notices(schema: Any, evaluation: Evaluation) -> list[Notice]:
    """Return notices if a `requestContextSchema` refuses the context; none without a schema.

    All schemas of a request share the time that remains for the evaluation.
    """
    if schema is None:
        return []
    began = time.thread_time()
    try:
        issues = refusals(schema, evaluation.context, seconds_spent=evaluation.seconds_checking)
    except UnusableSchema as error:
        return [
            Notice(
                "request_context_unchecked",
                Message("The schema cannot be used: {reason}.", reason=error.args[0]),
                SCHEMA_FIELD,
            )
        ]
    finally:
        evaluation.seconds_checking += time.thread_time() - began
    return [Notice(CONTEXT_INVALID, issue.message, issue.field) for issue in issues]
