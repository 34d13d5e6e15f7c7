"""Serve agents with everything resolved in a context, for applications and runs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from editor_client.shared import canonical
from editor_client.shared.conditions import Evaluation
from editor_client.shared.configurations import referenced_agents

from versioning.domain import telemetry
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import AGENT, PROMPT_BLOCK, ResolvedAgent
from versioning.domain.errors import Forbidden, Message, NotFound, Unpublished
from versioning.domain.locks import Lock, LockBroken, Pin
from versioning.domain.overrides import IN_CODE
from versioning.domain.selectors import DRAFT, NO_BLOCKS, PUBLISHED, SelectedBlocks, Selector, Status
from versioning.editor.backends.rows import with_versions
from versioning.editor.blocks import Explanation
from versioning.editor.reading import selected_override
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Agent, Visibility
from versioning.serving import choice
from versioning.serving.answer_cache import list_dependencies
from versioning.serving.assembly import (
    all_assembled,
    assemble,
    build,
    pinned_texts,
    require_instructions,
    texts_for,
)
from versioning.serving.choice import Chooses
from versioning.serving.followed_log import Dependency, consistently
from versioning.serving.parts import AgentParts, make_parts, parts_for_clients
from versioning.serving.resolution import Blocks, Candidate, Resolved, find_version, select


def serve(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector = PUBLISHED,
    *,
    context: Mapping[str, Any] | Evaluation | None = None,
    by: Who = APPLICATION,
    identity: UUID | None = None,
    blocks: SelectedBlocks = NO_BLOCKS,
) -> ResolvedAgent:
    """Return an agent, stored or defined in code, with everything resolved in the context.

    With an `identity`, a published agent runs it as a part of itself for every caller. The caller need not be
    able to read it, but it must be exactly the granted agent (`versioning.serving.grants`). A later agent
    with the same id is not evaluated, since even the cost would reveal that it exists. `blocks` selects
    versions of prompt blocks; those that cannot be resolved are listed in `unresolved_blocks`, and shown as
    without a selection. Raises `NotFound` and `Forbidden` as `select` does, and `Invalid` if the result is
    too long or takes too much to evaluate. Several agents share a budget by sharing an `Evaluation`. The
    agent and its blocks are read as they were at one moment, unless an `Evaluation` is shared.
    """
    by = caller_of(by)

    def read() -> ResolvedAgent:
        evaluation = Evaluation.of(context or {})
        chooses = partial(choice.chosen, context=evaluation.context)
        candidate = candidate_for(resources, agent_id, selector, by, chooses, identity=identity)
        return assemble(replace(candidate, selected_blocks=blocks) if blocks else candidate, evaluation, by)

    with telemetry.span("resolve agent", {"gen_ai.agent.id": agent_id}) as span:
        # An evaluation is shared by a caller that reads several agents, and ensures it.
        agent = read() if isinstance(context, Evaluation) else consistently(read, list_dependencies)
        if telemetry.is_traced():
            span.set(telemetry.span_attributes(agent))
    return agent


def parts(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector = PUBLISHED,
    *,
    context: Mapping[str, Any] | None = None,
    by: Who = APPLICATION,
    identity: UUID | None = None,
) -> AgentParts:
    """Return the parts that `serve` would evaluate in a context; without one, parts for clients to evaluate.

    `identity` is as in `serve`. Raises `NotFound` and `Forbidden` as `serve` does, and the errors of
    `parts_of` and `parts_for_clients`.
    """
    by = caller_of(by)

    def candidate_with(chooses: Chooses) -> Candidate:
        return candidate_for(resources, agent_id, selector, by, chooses, identity=identity)

    def read() -> AgentParts:
        if context is None:
            return parts_for_clients(candidate_with, by)
        return make_parts(candidate_with(partial(choice.chosen, context=context)), by, context)

    return consistently(read, lambda agent_parts: agent_parts.depends_on)


def preview(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector = DRAFT,
    *,
    context: Mapping[str, Any] | None = None,
    drafts_of_blocks: bool = False,
    by: Who = APPLICATION,
) -> ResolvedAgent:
    """Return the agent as it would be served if this version were published now.

    Referenced prompt blocks are the published ones; unpublished or unreadable ones are omitted and reported.
    With `drafts_of_blocks` they are the latest versions that the caller may read. Raises `NotFound` and
    `Forbidden` as `serve` does.
    """
    by = caller_of(by)

    def read() -> ResolvedAgent:
        evaluation = Evaluation(context or {})
        candidate = _as_if_published(
            resources, agent_id, selector, by, evaluation.context, drafts_of_blocks=drafts_of_blocks
        )
        return assemble(candidate, evaluation, by)

    return consistently(read, list_dependencies)


def explain(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector = DRAFT,
    *,
    context: Mapping[str, Any] | None = None,
    drafts_of_blocks: bool = False,
    by: Who = APPLICATION,
) -> Explanation:
    """Return the instructions of `preview` as pieces that know their origin; raises as `preview` does."""
    by, evaluation = caller_of(by), Evaluation(context or {})
    candidate = _as_if_published(
        resources, agent_id, selector, by, evaluation.context, drafts_of_blocks=drafts_of_blocks
    )
    require_instructions(candidate)
    texts = texts_for(candidate, evaluation, by)
    return Explanation.of(candidate.config["instructions"], evaluation, texts)


def serve_all(
    resources: Resources[Agent], *, context: Mapping[str, Any] | None = None, by: Who = APPLICATION
) -> tuple[ResolvedAgent, ...]:
    """Return every agent that the caller may read, in its published version and resolved, by id.

    The number of queries does not depend on the number of agents. Raises `Invalid` if an agent is too much to
    evaluate; a public agent of another workspace is omitted instead.
    """
    by = caller_of(by)
    return consistently(
        lambda: _all_served(resources, Evaluation(context or {}), by),
        lambda agents: (
            *((AGENT.slug, None), (PROMPT_BLOCK.slug, None)),
            *(dependency for agent in agents for dependency in agent.depends_on),
        ),
    )


def _all_served(resources: Resources[Agent], evaluation: Evaluation, by: Caller) -> tuple[ResolvedAgent, ...]:
    code = resources.code
    # One statement, since a version could be deleted before a second one; sorted by id at the end.
    stored = with_versions(resources.backend.readable(by).select_related(None)).order_by()
    rows = [*stored, *resources.backend.list_unstored(by)]
    chosen = choice.chosen(rows, evaluation.context)
    resolved = {}
    for agent_row in rows:
        with suppress(Unpublished):
            resolved[agent_row.pk] = select(agent_row, PUBLISHED, by, chosen=chosen.get(agent_row.pk))
    candidates = [
        Candidate.from_resource(selected) for agent_id, selected in resolved.items() if not code.get(agent_id)
    ]
    # A row stored elsewhere before the code took its id is not an override.
    overrides = {row.pk: row for row in rows if row.workspace_id == code.workspace_id}
    for agent_id, agent in code.readable_by(by).items():
        row = overrides.get(agent_id)
        override = resolved.get(agent_id) if row and row.active_id else None
        candidates.append(
            Candidate.code(agent, PUBLISHED, workspace_id=code.workspace_id, row=row, override=override)
        )
    # An agent whose code leaves the instructions to the editor is served only once some are published.
    candidates = [candidate for candidate in candidates if "instructions" in candidate.config]
    candidates.sort(key=lambda candidate: candidate.id)
    return tuple(all_assembled(candidates, evaluation, by))


def _as_if_published(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector,
    by: Caller,
    context: Mapping[str, Any],
    *,
    drafts_of_blocks: bool,
) -> Candidate:
    """Return a version as a candidate, with the prompt blocks that it would show once published."""
    candidate = candidate_for(resources, agent_id, selector, by, partial(choice.chosen, context=context))
    if drafts_of_blocks:
        return replace(candidate, policy=Blocks.DRAFTS)
    if candidate.policy is Blocks.DRAFTS:
        return replace(candidate, policy=Blocks.READABLE)
    return candidate


def candidate_for(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector,
    by: Caller,
    chooses: Chooses,
    *,
    identity: UUID | None = None,
) -> Candidate:
    """Return the configuration that the selector names; `chooses` may replace the active version."""
    if resources.code.get(agent_id) is not None:
        return _code_candidate(resources, agent_id, selector, by, chooses, identity=identity)
    if identity is None:
        pointer = "latest_version" if selector.asks_for_draft else "active_version"
        row = resources.backend.find(agent_id, by, label=selector.label, only=(pointer,))
        if selector.status is Status.PUBLISHED and row.active_id is None:  # the latest may replace it
            row = resources.backend.find(agent_id, by, only=("active_version", "latest_version"))
    else:
        rows = resources.all.select_related("active_version", "latest_version")
        granted = rows.filter(pk=agent_id, uuid=identity).first()
        is_published = selector.status is Status.PUBLISHED
        if granted is None or (granted.active_id is None if is_published else not by.covers(agent_id)):
            raise NotFound
        row = granted
    chosen = chooses([row]) if selector.status is Status.PUBLISHED else {}
    return Candidate.from_resource(select(row, selector, by, chosen=chosen.get(row.pk)))


def _code_candidate(
    resources: Resources[Agent],
    agent_id: str,
    selector: Selector,
    by: Caller,
    chooses: Chooses,
    *,
    identity: UUID | None,
) -> Candidate:
    code = resources.code
    if identity is None and agent_id not in code.readable_by(by):
        raise NotFound
    if identity not in {None, IN_CODE}:
        raise NotFound
    if selector.status is not Status.PUBLISHED and not by.covers(agent_id):
        raise NotFound
    agent = code.agents[agent_id]
    selected = selected_override(resources, agent, selector, by, chooses=chooses)
    return Candidate.code(
        agent,
        selector,
        workspace_id=code.workspace_id,
        row=selected.row,
        override=selected.override,
        overlay=selected.overlay,
    )


def fingerprint(agents: Resources[Agent], dependency: Dependency) -> Hashable | None:
    """Return a fingerprint: a cached answer with this dependency is valid until it changes.

    It is `()` if the log records every change, and None if no fingerprint can be computed.
    """
    kind, agent_id = dependency
    if kind != AGENT.slug:
        return ()
    if agent_id is not None:
        return agents.backend.fingerprint(agent_id)
    fingerprints = tuple(agents.backend.fingerprint(agent) for agent in agents.code.agents)
    if None in fingerprints:
        return None
    return fingerprints if any(fingerprints) else ()


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
    """Return an agent in its locked version, with everything resolved in the context.

    The agent need not be published any more. With `as_part` it runs as part of an agent that was published
    when the lock was made, for every caller who can run that agent. Otherwise the caller must be a member of
    its workspace, unless the agent is public. A version that was a draft then requires the right to read
    drafts, unless it has been published since. Raises `Forbidden` if the caller may run the called agent but
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
        target_ids = {target for _, target in referenced_agents(candidate.config)}
        raise LockBroken(prompt_blocks=error.prompt_blocks, leading_to=sorted(target_ids)) from None
    return build(candidate, evaluation, texts)


def _candidate(
    resources: Resources[Agent], agent_id: str, pin: Pin, by: Caller, *, as_part: bool
) -> Candidate | None:
    """Return the locked configuration; None if it no longer exists, or if the caller may not run it."""
    code = resources.code
    if code.get(agent_id) is not None:
        is_readable = as_part or agent_id in code.readable_by(by)
        return _locked_code(resources, agent_id, pin) if is_readable else None
    row = with_versions(resources.all).filter(pk=agent_id).first()
    if row is None:
        return None
    if not (as_part or row.visibility == Visibility.PUBLIC or by.may(Right.READ, row.workspace_id)):
        return None
    version = _version(row, pin)
    return None if version is None else Candidate.from_resource(version)


def _locked_code(resources: Resources[Agent], agent_id: str, pin: Pin) -> Candidate | None:
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
