"""From a snapshot to the agent that is served: conditional fields chosen, instructions assembled."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, Final
from uuid import UUID

from editor_client.shared.conditions import choose, holds
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockReport, BlockText, assemble, referenced_blocks

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD, UnusableSchema, refusals
from versioning.domain.errors import Invalid, NoInstructions
from versioning.domain.overrides import IN_CODE, CodeAgent, laid_over
from versioning.domain.resolved_agent import CONTEXT_INVALID, Notice, ResolvedAgent
from versioning.domain.selectors import Selector, Status
from versioning.models import Agent, BlockReference, PromptBlock, PromptBlockVersion
from versioning.serving.grants import granted
from versioning.serving.resolution import Resolved

logger = logging.getLogger(__name__)

READ_AT_ONCE: Final = 100
"""How many prompt blocks are read in one statement: they can be a megabyte each."""


@dataclass(frozen=True)
class FoundBlock:
    """A prompt block that may be shown: its text, or why there is none, and whose it is."""

    text: BlockText | str
    workspace_id: str
    uuid: UUID


Found = Mapping[str, FoundBlock]
Texts = Mapping[str, BlockText | str]


class Blocks(Enum):
    """Which text of a referenced prompt block counts."""

    LIVE = "published"
    """The published text, whoever asks, of the agent's workspace or granted when it was published."""
    READABLE = "published, of blocks that the caller may read"
    """For versions that nobody has published: a reference in a draft opens no door."""
    DRAFTS = "the latest that the caller may read"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration on its way to being served, and what is known about it."""

    id: str
    uuid: UUID
    config: Config
    source: str
    status: Status
    metadata: Mapping[str, Any]
    version_id: str | None
    active_version_id: str | None
    selector: Selector
    policy: Blocks
    is_live: bool
    workspace_id: str
    fallback: Notice | None = None

    @classmethod
    def stored(cls, resolved: Resolved[Agent]) -> Candidate:
        """Return a stored agent in the version that was selected."""
        agent = resolved.resource
        return cls(
            id=agent.pk,
            uuid=agent.uuid,
            config=resolved.version.config,
            source="stored",
            status=Status.PUBLISHED if agent.active_id else Status.DRAFT,
            metadata=agent.metadata,
            version_id=resolved.version.version_id,
            active_version_id=agent.active_id,
            selector=resolved.selector,
            policy=_policy(resolved),
            is_live=resolved.is_live,
            workspace_id=agent.workspace_id,
            fallback=resolved.fallback,
        )

    @classmethod
    def code(
        cls,
        agent: CodeAgent,
        selector: Selector,
        *,
        workspace_id: str,
        row: Agent | None,
        override: Resolved[Agent] | None,
    ) -> Candidate:
        """Return a code-defined agent, with the override that was selected laid over it, if there is one.

        `workspace_id` is the one that what code defines belongs to.
        """
        return cls(
            id=agent.id,
            uuid=IN_CODE,
            config=laid_over(agent, override.version.config if override else {}),
            source="code",
            status=Status.PUBLISHED,
            metadata={**agent.metadata, **(row.metadata if row else {})},
            version_id=override.version.version_id if override else None,
            active_version_id=row.active_id if row else None,
            selector=selector,
            policy=_policy(override) if override else Blocks.LIVE,
            workspace_id=workspace_id,
            is_live=override.is_live if override else True,
        )

    def needs_grant(self, block: FoundBlock) -> bool:
        """Say whether the block is shown only because whoever published this version might read it."""
        return self.policy is Blocks.LIVE and block.workspace_id != self.workspace_id


def assembled(candidate: Candidate, evaluation: Evaluation, caller: Caller) -> ResolvedAgent:
    """Return the agent that a candidate amounts to; raises `Invalid` when that is too much to evaluate."""
    wanted = {target for _, target in referenced_blocks(candidate.config)}
    evaluation.field = "instructions"
    found = find_blocks(wanted, candidate.policy, caller, evaluation) if wanted else {}
    (texts,) = _without_what_was_not_granted([candidate], {candidate.policy: found})
    return _build(candidate, evaluation, texts)


def all_assembled(
    candidates: Sequence[Candidate], evaluation: Evaluation, caller: Caller
) -> list[ResolvedAgent]:
    """Return many agents; the number of queries does not depend on how many.

    All are evaluated out of one budget, those of the caller's own workspaces first. What is left of
    it decides about those of others: one that takes more is left out and logged, because nobody's
    public agent may make the list fail for everybody. Of the caller's own, `Invalid` is raised.
    """
    wanted = {target for one in candidates for _, target in referenced_blocks(one.config)}
    policies = {one.policy for one in candidates} if wanted else set()
    found = {policy: find_blocks(wanted, policy, caller) for policy in policies}
    shown = _without_what_was_not_granted(candidates, found)
    texts = {one.id: own for one, own in zip(candidates, shown, strict=True)}
    built: dict[str, ResolvedAgent] = {}
    for one in sorted(candidates, key=lambda one: not _is_own(one, caller)):
        try:
            built[one.id] = _build(one, evaluation, texts[one.id])
        except Invalid as fault:
            if _is_own(one, caller):
                raise Invalid.field(
                    f"{one.id}.{fault.issues[0].field}", fault.issues[0].message, code=fault.code
                ) from None
            logger.warning("left out of a list of agents: %s of %s: %s", one.id, one.workspace_id, fault)
    return [built[one.id] for one in candidates if one.id in built]


def find_blocks(
    wanted: Iterable[str], policy: Blocks, caller: Caller, evaluation: Evaluation | None = None
) -> dict[str, FoundBlock]:
    """Return, by block id, the text that counts or the reason why there is none.

    Ids that are not in the answer are missing, or not the caller's to read. What is read is paid for
    out of the evaluation's budget, if one is given.
    """
    blocks = PromptBlock.objects.all() if policy is Blocks.LIVE else PromptBlock.objects.readable_by(caller)
    # In one statement with their versions: a version could be gone before it is read on its own.
    pointers = ("active_version",) if policy is not Blocks.DRAFTS else ("active_version", "latest_version")
    rows = blocks.select_related(*pointers).defer(*(f"{pointer}__search_text" for pointer in pointers))
    found: dict[str, FoundBlock] = {}
    ids = iter(sorted(wanted))
    while some := list(islice(ids, READ_AT_ONCE)):
        for block in rows.filter(pk__in=some):
            if evaluation is not None:
                evaluation.spend(sum(len(version.config_json) for version in _versions(block, policy)))
            found[block.pk] = _found(block, policy, caller)
    return found


def _versions(block: PromptBlock, policy: Blocks) -> Iterator[PromptBlockVersion]:
    """Yield the versions that are read together with a block."""
    if block.active_version is not None:
        yield block.active_version
    if policy is Blocks.DRAFTS:
        yield block.latest_version


def _found(block: PromptBlock, policy: Blocks, caller: Caller) -> FoundBlock:
    drafts = policy is Blocks.DRAFTS and caller.may(Right.READ_DRAFTS, block.workspace_id)
    version = block.latest_version if drafts else block.active_version
    text = BlockText(version_id=version.version_id, config=version.config) if version else "unpublished"
    return FoundBlock(text=text, workspace_id=block.workspace_id, uuid=block.uuid)


def _without_what_was_not_granted(
    candidates: Sequence[Candidate], found: Mapping[Blocks, Found]
) -> Iterator[Texts]:
    """Yield for each candidate the texts of the blocks that it may show; a query, if any needs a grant."""
    blocks_of = [found.get(one.policy, {}) for one in candidates]
    asking = {
        one.version_id
        for one, blocks in zip(candidates, blocks_of, strict=True)
        if _is_stored_version(one.version_id) and any(map(one.needs_grant, blocks.values()))
    }
    grants = granted(BlockReference, asking) if asking else {}
    for one, blocks in zip(candidates, blocks_of, strict=True):
        own = grants.get(one.version_id, {})
        yield {
            block_id: block.text
            for block_id, block in blocks.items()
            if not one.needs_grant(block) or own.get(block_id) == block.uuid
        }


def _is_stored_version(version_id: str | None) -> bool:
    """Say whether a row holds the version: one of a file or a commit was granted nothing."""
    return version_id is not None and not version_id.startswith(("git-", "file-"))


def _policy(resolved: Resolved[Agent]) -> Blocks:
    if resolved.selector.asks_for_draft:
        return Blocks.DRAFTS
    return Blocks.LIVE if resolved.is_live else Blocks.READABLE


def _is_own(candidate: Candidate, caller: Caller) -> bool:
    """Say whether the caller's own workspaces, or the code, are responsible for an agent."""
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
        # What is left of an override whose agent the code does not define any more need not have one.
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
    """Return the tools or sub-agents whose own rules hold, without the rules."""
    chosen = _chosen(field, config, evaluation) or {}
    return {
        key: {name: member for name, member in usage.items() if name != "rules"}
        for key, usage in chosen.items()
        if holds(usage.get("rules"), evaluation)
    }


def context_notices(schema: Any, evaluation: Evaluation) -> list[Notice]:
    """Return what a `requestContextSchema` has against a context; nothing without a schema.

    All schemas of a request share the time that the evaluation leaves for them.
    """
    if schema is None:
        return []
    began = time.thread_time()
    try:
        issues = refusals(schema, evaluation.context, seconds_spent=evaluation.seconds_checking)
    except UnusableSchema as fault:
        return [Notice("request_context_unchecked", f"The schema cannot be used: {fault}.", SCHEMA_FIELD)]
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
