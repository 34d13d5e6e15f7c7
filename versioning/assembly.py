"""From a snapshot to the agent that is served: conditional fields chosen, instructions assembled."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from versioning.access import Caller, Right
from versioning.conditions import choose, holds
from versioning.config import Config
from versioning.instructions import BlockReport, BlockText, assemble, referenced_blocks
from versioning.models import Agent, PromptBlock
from versioning.overrides import CodeAgent, laid_over
from versioning.resolution import Resolved
from versioning.selectors import Selector, Status
from versioning.served import Notice, ResolvedAgent


@dataclass(frozen=True)
class FoundBlock:
    """A prompt block that may be shown: its text, or why there is none, and whose it is."""

    text: BlockText | str
    workspace_id: str
    created_at: datetime.datetime


Found = Mapping[str, FoundBlock]


class Blocks(Enum):
    """Which text of a referenced prompt block counts."""

    LIVE = "published"
    """The published text, whoever asks: the reference was checked when the agent was published."""
    READABLE = "published, of blocks that the caller may read"
    """For versions that nobody has published: a reference in a draft opens no door."""
    DRAFTS = "the latest that the caller may read"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A configuration on its way to being served, and what is known about it."""

    id: str
    config: Config
    source: str
    status: Status
    metadata: Mapping[str, Any]
    version_id: str | None
    active_version_id: str | None
    selector: Selector
    policy: Blocks
    is_live: bool
    workspace_id: str | None = None
    published_at: datetime.datetime | None = None
    fallback: Notice | None = None

    @classmethod
    def stored(cls, resolved: Resolved[Agent]) -> Candidate:
        """Return a stored agent in the version that was selected."""
        agent = resolved.resource
        return cls(
            id=agent.pk,
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
            published_at=resolved.live_since,
            fallback=resolved.fallback,
        )

    @classmethod
    def code(
        cls, agent: CodeAgent, selector: Selector, *, row: Agent | None, override: Resolved[Agent] | None
    ) -> Candidate:
        """Return a code-defined agent, with the override that was selected laid over it, if there is one."""
        return cls(
            id=agent.id,
            config=laid_over(agent, override.version.config if override else {}),
            source="code",
            status=Status.PUBLISHED,
            metadata={**agent.metadata, **(row.metadata if row else {})},
            version_id=override.version.version_id if override else None,
            active_version_id=row.active_id if row else None,
            selector=selector,
            policy=_policy(override) if override else Blocks.LIVE,
            is_live=override.is_live if override else True,
            workspace_id=row.workspace_id if row else None,
            published_at=override.live_since if override else None,
        )

    def trusts(self, block: FoundBlock) -> bool:
        """Say whether the block is the one that was checked when this agent was published.

        A block of another workspace that is younger than the publication took the id of a deleted
        one. What code refers to was checked by whoever wrote it.
        """
        return (
            self.policy is not Blocks.LIVE
            or block.workspace_id == self.workspace_id
            or self.published_at is None
            or block.created_at <= self.published_at
        )


def assembled(candidate: Candidate, context: Mapping[str, Any], caller: Caller) -> ResolvedAgent:
    """Return the agent that a candidate amounts to in the given context."""
    wanted = {target for _, target in referenced_blocks(candidate.config)}
    found = find_blocks(wanted, candidate.policy, caller) if wanted else {}
    return _build(candidate, context, found)


def all_assembled(
    candidates: Sequence[Candidate], context: Mapping[str, Any], caller: Caller
) -> list[ResolvedAgent]:
    """Return many agents; the number of queries does not depend on how many."""
    wanted = {target for one in candidates for _, target in referenced_blocks(one.config)}
    policies = {one.policy for one in candidates} if wanted else set()
    found = {policy: find_blocks(wanted, policy, caller) for policy in policies}
    return [_build(one, context, found.get(one.policy, {})) for one in candidates]


def find_blocks(wanted: Iterable[str], policy: Blocks, caller: Caller) -> dict[str, FoundBlock]:
    """Return, by block id, the text that counts or the reason why there is none; one query.

    Ids that are not in the answer are missing, or not the caller's to read.
    """
    blocks = PromptBlock.objects.all() if policy is Blocks.LIVE else PromptBlock.objects.readable_by(caller)
    # In one statement with their versions: a version could be gone before it is read on its own.
    rows = blocks.filter(pk__in=wanted).select_related("active_version", "latest_version")
    return {block.pk: _found(block, policy, caller) for block in rows}


def _found(block: PromptBlock, policy: Blocks, caller: Caller) -> FoundBlock:
    drafts = policy is Blocks.DRAFTS and caller.may(Right.READ_DRAFTS, block.workspace_id)
    version = block.latest_version if drafts else block.active_version
    text = BlockText(version_id=version.version_id, config=version.config) if version else "unpublished"
    return FoundBlock(text=text, workspace_id=block.workspace_id, created_at=block.created_at)


def _policy(resolved: Resolved[Agent]) -> Blocks:
    if resolved.selector.asks_for_draft:
        return Blocks.DRAFTS
    return Blocks.LIVE if resolved.is_live else Blocks.READABLE


def _build(candidate: Candidate, context: Mapping[str, Any], found: Found) -> ResolvedAgent:
    config = candidate.config
    texts = {block_id: block.text for block_id, block in found.items() if candidate.trusts(block)}
    instructions, reports = assemble(config["instructions"], context, texts)
    absent = (report for report in reports if report.reason in {"missing", "unpublished"})
    return ResolvedAgent(
        id=candidate.id,
        name=config["name"],
        description=config.get("description"),
        instructions=instructions,
        tools=_offered(config.get("tools"), context),
        agents=_offered(config.get("agents"), context),
        model=choose(config.get("model"), context),
        default_options=choose(config.get("defaultOptions"), context) or {},
        source=candidate.source,
        status=candidate.status,
        metadata=candidate.metadata,
        resolved_version_id=candidate.version_id,
        active_version_id=candidate.active_version_id,
        is_live=candidate.is_live,
        selector=candidate.selector,
        fallback=candidate.fallback,
        warnings=tuple(_left_out(report) for report in absent),
        blocks=tuple(reports),
    )


def _offered(value: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools or sub-agents whose own rules hold, without the rules."""
    chosen = choose(value, context) or {}
    return {
        key: {name: member for name, member in usage.items() if name != "rules"}
        for key, usage in chosen.items()
        if holds(usage.get("rules"), context)
    }


def _left_out(report: BlockReport) -> Notice:
    what = "does not exist" if report.reason == "missing" else "is not published"
    return Notice(
        code=f"block_{report.reason}",
        field=f"instructions.{report.position}.id",
        message=f"The prompt block {report.id!r} {what}; it is left out.",
    )
