"""Assemble a candidate into the agent that is served.

Determines the prompt blocks that it may show and their versions. Then chooses conditional fields and joins
the instructions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import Any, Final, cast
from uuid import UUID

from editor_client.shared.agents import evaluate_agent, find_unresolved, left_out
from editor_client.shared.conditions import Evaluation
from editor_client.shared.instructions import BlockText, referenced_blocks

from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT, CONTEXT_INVALID, PROMPT_BLOCK, Notice, ResolvedAgent
from versioning.domain.context_schema import SCHEMA_FIELD, UnusableSchema, refusals
from versioning.domain.errors import Forbidden, Invalid, Message, NoInstructions, NotFound
from versioning.domain.locks import Lock, LockBroken
from versioning.domain.selectors import NO_BLOCKS, PUBLISHED, SelectedBlock, SelectedBlocks, Status
from versioning.domain.snapshots import Snapshot
from versioning.models import BlockReference, PromptBlock, PromptBlockVersion
from versioning.models.statements import RowsByKeys
from versioning.serving import choice
from versioning.serving.choice import Choice, Chooses
from versioning.serving.grants import find_grants
from versioning.serving.overlays import Overlay
from versioning.serving.resolution import Blocks, Candidate, select

logger = logging.getLogger(__name__)

READ_AT_ONCE: Final = 100
"""How many prompt blocks one statement reads; each can be a megabyte."""

STEPS_OF_A_SELECTION: Final = 64 * 1024
"""The evaluation steps charged for the selected version of a prompt block: a query or two."""


@dataclass(frozen=True)
class FoundBlock:
    """A prompt block that may be shown: its text, or the reason why there is none, and its workspace."""

    text: BlockText | str
    workspace_id: str
    uuid: UUID
    is_live: bool
    """Whether every caller gets the version; False for drafts and for versions that the request selects."""
    is_unresolved: bool = False
    """Whether the request selects a version that does not exist or is not readable."""


Found = Mapping[str, FoundBlock]
Texts = Mapping[str, BlockText | str]


def assemble(candidate: Candidate, evaluation: Evaluation, caller: Caller) -> ResolvedAgent:
    """Return the served agent for a candidate; raises `Invalid` if it takes too much to evaluate."""
    blocks = _blocks_for(candidate, evaluation, caller)
    texts = _shown_texts(candidate, blocks)
    agent = build(candidate, evaluation, texts)
    if not candidate.selected_blocks:
        return agent
    resolved = {
        block_id for block_id, block in blocks.items() if block_id in texts and not block.is_unresolved
    }
    selected = _blocks_named(candidate) & candidate.selected_blocks.keys()
    return replace(agent, unresolved_blocks=tuple(sorted(selected - resolved)))


def texts_for(
    candidate: Candidate, evaluation: Evaluation, caller: Caller, chooses: Chooses | None = None
) -> Texts:
    """Return the prompt blocks that a candidate may show; raises `Invalid` if they are too much to read.

    `chooses` is as in `find_blocks`.
    """
    return _shown_texts(candidate, _blocks_for(candidate, evaluation, caller, chooses))


def _blocks_for(
    candidate: Candidate, evaluation: Evaluation, caller: Caller, chooses: Chooses | None = None
) -> Found:
    block_ids = _blocks_named(candidate)
    evaluation.field = "instructions"
    if not block_ids:
        return {}
    return find_blocks(
        block_ids,
        candidate.policy,
        caller,
        evaluation,
        selected=candidate.selected_blocks,
        overlay=candidate.overlay,
        chooses=chooses,
    )


def _blocks_named(candidate: Candidate) -> set[str]:
    return {target for _, target in referenced_blocks(candidate.config)}


def _shown_texts(candidate: Candidate, blocks: Found) -> Texts:
    if not blocks:
        return {}
    (texts,) = shown_texts([candidate], {candidate.policy: blocks})
    return texts


def agent_name(candidate: Candidate) -> str:
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
    block_ids = set[str]().union(*map(_blocks_named, candidates))
    policies = {candidate.policy for candidate in candidates} if block_ids else set()
    blocks_by_policy = {
        policy: find_blocks(block_ids, policy, caller, evaluation, is_paid=False) for policy in policies
    }
    all_texts = shown_texts(candidates, blocks_by_policy)
    texts = {candidate.id: own for candidate, own in zip(candidates, all_texts, strict=True)}
    agent_choices = choice.choices(AGENT, filter(None, map(_chosen_id, candidates)), evaluation.context)
    of_blocks = choice.choices(PROMPT_BLOCK, block_ids, evaluation.context)
    built: dict[str, ResolvedAgent] = {}
    for candidate in sorted(candidates, key=lambda candidate: not _is_own(candidate, caller)):
        try:
            built[candidate.id] = _built(
                candidate,
                evaluation,
                texts[candidate.id],
                agent_choices.get(candidate.id, Choice()),
                of_blocks,
            )
        except Invalid as error:
            if _is_own(candidate, caller):
                raise Invalid.field(
                    f"{candidate.id}.{error.issues[0].field}", error.issues[0].message, code=error.code
                ) from None
            logger.warning(
                "omitted from a list of agents: %s of %s: %s", candidate.id, candidate.workspace_id, error
            )
    return [built[candidate.id] for candidate in candidates if candidate.id in built]


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
    agent = evaluate_agent(config, texts, evaluation)
    served = {block.id: block.version_id for block in agent.blocks if block.id}
    published = () if candidate.policy is Blocks.DRAFTS else served.keys() - candidate.selected_blocks.keys()
    of_blocks = {block_id: of_blocks[block_id] for block_id in sorted(published) if block_id in of_blocks}
    outcomes = {block_id: chosen.outcome_of(served[block_id]) for block_id, chosen in of_blocks.items()}
    return ResolvedAgent(
        id=candidate.id,
        uuid=candidate.uuid,
        name=agent_name(candidate),
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
            *(Notice(*notice) for notice in find_unresolved(agent.blocks)),
            *context_notices(config.get(SCHEMA_FIELD), evaluation),
        ),
        blocks=tuple(agent.blocks),
        outcome=own.outcome_of(candidate.version_id),
        block_outcomes={agent_id: outcome for agent_id, outcome in outcomes.items() if outcome is not None},
        depends_on=tuple(
            dependency for chosen in (own, *of_blocks.values()) for dependency in chosen.depends_on
        ),
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


def find_blocks(
    block_ids: Iterable[str],
    policy: Blocks,
    caller: Caller,
    evaluation: Evaluation,
    *,
    is_paid: bool = True,
    selected: SelectedBlocks = NO_BLOCKS,
    overlay: Overlay | None = None,
    chooses: Chooses | None = None,
) -> dict[str, FoundBlock]:
    """Return, by block id, the text to show or the reason why there is none.

    Ids that are not in the result are missing or not readable. Reading is charged to the evaluation unless
    `is_paid` is false; its context chooses the published version of each block unless `chooses` does. Blocks
    of an `overlay` count as if they were live. For a block in `selected`, that version is shown instead, if
    the caller who selected it may read it. A selection never makes a block readable.
    """
    # One statement for blocks and versions: a version could be deleted before a second query.
    with_latest = policy is Blocks.DRAFTS or bool(selected)
    is_usual = policy is Blocks.LIVE and not with_latest
    blocks = PromptBlock.objects.all() if policy is Blocks.LIVE else PromptBlock.objects.readable_by(caller)
    rows = blocks.as_served("active_version", *(("latest_version",) if with_latest else ()))
    blocks_by_id: dict[str, FoundBlock] = {}
    choose = chooses or partial(choice.chosen, context=evaluation.context)
    ids = iter(sorted(block_ids))
    while batch := list(islice(ids, READ_AT_ONCE)):
        batch_rows = _live_blocks().get(batch) if is_usual else list(rows.filter(pk__in=batch))
        chosen = {} if policy is Blocks.DRAFTS else choose(batch_rows)
        overlaid = _overlaid(batch_rows, overlay)
        served: dict[str, Snapshot | None] = {**chosen, **overlaid}
        for block in batch_rows:
            if is_paid:
                versions = [block.active_version, *([block.latest_version] if with_latest else [])]
                evaluation.read(sum(len(version.config_json) for version in versions if version is not None))
            live = served.get(block.pk, block.active)
            if policy is Blocks.DRAFTS and caller.may(Right.READ_DRAFTS, block.workspace_id):
                usual = _find_block(block, block.latest, is_live=block.latest_id == block.active_id)
            else:
                is_overlaid = block.pk in overlaid
                is_live = not is_overlaid or (live is not None and live.version_id == block.active_id)
                usual = _find_block(block, live, is_live=is_live)
            selection = selected.get(block.pk)
            blocks_by_id[block.pk] = (
                usual if selection is None else _select_block(block, selection, usual, evaluation, choose)
            )
    return blocks_by_id


@cache
def _live_blocks() -> RowsByKeys[PromptBlock]:
    """Return the query of most requests, built once."""
    return RowsByKeys(PromptBlock.objects.as_served("active_version"))


def _overlaid(blocks: Iterable[PromptBlock], overlay: Overlay | None) -> dict[str, Snapshot | None]:
    """Return the versions of the blocks in an overlay, by id; None for one that would not be live."""
    if overlay is None:
        return {}
    ids = {block.pk: entry.version_id for block in blocks if (entry := overlay.of(block)) is not None}
    rows = PromptBlockVersion.objects.defer("search_text").filter(pk__in=[pk for pk in ids.values() if pk])
    versions = {version.version_id: version for version in rows}
    return {block_id: versions.get(version_id or "") for block_id, version_id in ids.items()}


def _select_block(
    block: PromptBlock, selection: SelectedBlock, usual: FoundBlock, evaluation: Evaluation, choose: Chooses
) -> FoundBlock:
    """Return the block in the selected version, or in the usual one if the selection cannot be resolved."""
    if selection.selector == PUBLISHED:
        return _find_block(block, choose([block]).get(block.pk) or block.active, is_live=True)
    if selection.selector.version_id is not None and selection.selector.version_id == block.active_id:
        return _find_block(block, block.active, is_live=True)
    evaluation.spend(STEPS_OF_A_SELECTION)
    version: Snapshot | None = None
    if selection.by.may(Right.READ, block.workspace_id) and selection.by.covers(block.pk):
        with suppress(NotFound, Forbidden):
            version = select(block, selection.selector, selection.by).version
    if version is None:
        return replace(usual, is_unresolved=True)
    evaluation.read(len(cast("PromptBlockVersion", version).config_json))
    return _find_block(block, version, is_live=False)


def _find_block(block: PromptBlock, version: Snapshot | None, *, is_live: bool) -> FoundBlock:
    text = BlockText(version_id=version.version_id, config=version.config) if version else "unpublished"
    return FoundBlock(text=text, workspace_id=block.workspace_id, uuid=block.uuid, is_live=is_live)


def shown_texts(candidates: Sequence[Candidate], blocks_by_policy: Mapping[Blocks, Found]) -> Iterator[Texts]:
    """Yield, for each candidate, the texts of the blocks that it may show; one query if any needs a grant."""
    blocks_of = [blocks_by_policy.get(candidate.policy, {}) for candidate in candidates]
    asking = {
        candidate.granted_to
        for candidate, blocks in zip(candidates, blocks_of, strict=True)
        # A version in a file or a commit has no grants.
        if candidate.granted_to is not None
        and not candidate.granted_to.startswith(("git-", "file-"))
        and any(_needs_grant(candidate, block) for block in blocks.values())
    }
    grants = find_grants(BlockReference, asking) if asking else {}
    for candidate, blocks in zip(candidates, blocks_of, strict=True):
        own = grants.get(candidate.granted_to, {})
        yield {
            block_id: block.text
            for block_id, block in blocks.items()
            if not _needs_grant(candidate, block) or own.get(block_id) == block.uuid
        }


def _needs_grant(candidate: Candidate, block: FoundBlock) -> bool:
    """Return whether the block is shown only because the publisher of this version could read it."""
    return candidate.policy is Blocks.LIVE and block.workspace_id != candidate.workspace_id


def pinned_texts(candidate: Candidate, lock: Lock, by: Caller, evaluation: Evaluation) -> Texts:
    """Return the prompt blocks that a candidate shows by a lock.

    Blocks that were not shown when the lock was made are omitted. Raises `LockBroken` naming every block
    whose version no longer exists or is not readable for the caller. A published agent still shows its blocks
    to everyone who can run it; a draft shows those that the caller may read. A block's draft requires the
    right to read drafts, unless it has been published since.
    """
    evaluation.field = "instructions"
    block_ids = iter(lock.blocks(candidate.id, sorted(_blocks_named(candidate))))
    as_part = candidate.id not in lock.terms.draft_agents
    texts: dict[str, BlockText | str] = {}
    broken: list[str] = []
    while batch := list(islice(block_ids, READ_AT_ONCE)):
        pins = {block_id: lock.prompt_blocks[block_id] for block_id in batch}
        rows = PromptBlockVersion.objects.select_related("resource").defer("search_text")
        versions_by_id = {
            str(row.pk): row for row in rows.filter(pk__in=[pin.version_id for pin in pins.values()])
        }
        evaluation.read(sum(len(row.config_json) for row in versions_by_id.values()))
        for block_id, pin in pins.items():
            version = versions_by_id.get(str(pin.version_id))
            if version is None or version.resource_id != block_id or version.digest != pin.digest:
                broken.append(block_id)
                continue
            block = version.resource
            is_draft = block_id in lock.terms.draft_blocks and block.active_id != version.version_id
            right = Right.READ_DRAFTS if is_draft else Right.READ
            is_granted = as_part and not is_draft
            if not is_granted and not (by.may(right, block.workspace_id) and by.covers(block_id)):
                broken.append(block_id)
            else:
                texts[block_id] = BlockText(version_id=version.version_id, config=version.config)
    if broken:
        raise LockBroken(prompt_blocks=broken)
    return texts
