"""Serve agents by a lock: exactly the versions that it names, to callers who may still run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from editor_client.shared import canonical
from editor_client.shared.conditions import Evaluation
from editor_client.shared.configurations import referenced_agents

from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Message, NotFound
from versioning.domain.locks import Lock, LockBroken, Pin
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.editor.backends.rows import with_versions
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent, Visibility
from versioning.serving.assembly import build, pinned_texts
from versioning.serving.resolution import Candidate, Resolved, find_version


def serve_locked(
    resources: Resources[Agent],
    agent_id: str,
    lock: Lock,
    *,
    context: Mapping[str, Any] | Evaluation | None = None,
    by: Who,
    as_part: bool = False,
    is_called: bool = True,
) -> ResolvedAgent:
    """Return an agent as a lock names it, with everything resolved in the context.

    The agent need not be published any more. With `as_part` it runs as part of an agent that was published
    when the lock was made, for every caller who may run that agent; otherwise the caller must be a member of
    its workspace, unless the agent is public. A version that was a draft then requires the right to read
    drafts, unless it has been published since; raises `Forbidden` if the caller may run the called agent but
    not read its draft. Raises `LockBroken` if the agent or one of its blocks is otherwise not available as
    locked, and `Invalid` if it takes too much to evaluate.
    """
    by, evaluation = caller_of(by), Evaluation.of(context or {})
    outside = [agent for agent in lock.agents if not by.covers(agent)]
    blocks_outside = [prompt_block for prompt_block in lock.prompt_blocks if not by.covers(prompt_block)]
    if outside or blocks_outside:
        raise LockBroken(agents=outside, prompt_blocks=blocks_outside)
    pin = lock.agents.get(agent_id)
    candidate = None if pin is None else _candidate(resources, agent_id, pin, by, as_part=as_part)
    if pin is None or candidate is None or canonical.digest(candidate.config) != pin.digest:
        raise LockBroken(agents=[agent_id])
    is_draft = agent_id in lock.terms.draft_agents and candidate.version_id != candidate.active_version_id
    if is_draft and not by.may(Right.READ_DRAFTS, candidate.workspace_id):
        if is_called and by.may(Right.READ, candidate.workspace_id):
            raise Forbidden(
                Message("versions.agents.{id}: You may not read drafts of this agent.", id=agent_id)
            )
        raise LockBroken(agents=[agent_id])
    try:
        texts = pinned_texts(candidate, lock, by, evaluation)
    except LockBroken as error:
        named = {target for _, target in referenced_agents(candidate.config)}
        raise LockBroken(prompt_blocks=error.prompt_blocks, leading_to=sorted(named)) from None
    return build(candidate, evaluation, texts)


def _candidate(
    resources: Resources[Agent], agent_id: str, pin: Pin, by: Caller, *, as_part: bool
) -> Candidate | None:
    """Return the locked configuration; None if it is gone, or if the caller may not run it."""
    code = resources.code
    if code.get(agent_id) is not None:
        is_readable = as_part or agent_id in code.readable_by(by)
        return _code_candidate(resources, agent_id, pin) if is_readable else None
    row = with_versions(resources.all).filter(pk=agent_id).first()
    if row is None or not (
        as_part or (row.visibility == Visibility.PUBLIC or by.may(Right.READ, row.workspace_id))
    ):
        return None
    version = _version(row, pin)
    return None if version is None else Candidate.stored(version)


def _code_candidate(resources: Resources[Agent], agent_id: str, pin: Pin) -> Candidate | None:
    code = resources.code
    agent = code.agents[agent_id]
    row = resources.backend.override(agent)
    override = None if row is None or pin.version_id is None else _version(row, pin)
    if override is None and pin.version_id is not None:
        return None
    selector = PUBLISHED if override is None else override.selector
    return Candidate.code(agent, selector, workspace_id=code.workspace_id, row=row, override=override)


def _version(row: Agent, pin: Pin) -> Resolved[Agent] | None:
    loaded = (version for version in (row.active, row.latest) if version is not None)
    version = next((candidate for candidate in loaded if candidate.version_id == pin.version_id), None)
    if version is None:
        try:
            version = find_version(row, pin.version_id or "")
        except NotFound:
            return None
    return Resolved(resource=row, version=version, selector=Selector(version_id=pin.version_id))
