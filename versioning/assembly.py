"""From a snapshot to the agent that is served: conditional fields chosen, instructions assembled."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from versioning.access import Caller, Right
from versioning.conditions import choose, holds
from versioning.config import referenced_blocks
from versioning.instructions import BlockReport, BlockText, assemble
from versioning.models import Agent, PromptBlock
from versioning.resolution import Resolved, select
from versioning.selectors import PUBLISHED, Status
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


def assembled(resolved: Resolved[Agent], context: Mapping[str, Any], caller: Caller) -> ResolvedAgent:
    """Return the agent that a resolved version describes in the given context."""
    wanted = {target for _, target in referenced_blocks(resolved.version.config)}
    found = find_blocks(wanted, _policy(resolved), caller) if wanted else {}
    return _build(resolved, context, found)


def all_assembled(caller: Caller, context: Mapping[str, Any]) -> list[ResolvedAgent]:
    """Return the published resolution of every agent that the caller may read.

    The number of queries does not depend on the number of agents.
    """
    agents = (
        Agent.objects.readable_by(caller).select_related("active_version", "latest_version").order_by("id")
    )
    served = [select(agent, PUBLISHED, caller) for agent in agents]
    wanted = {target for resolved in served for _, target in referenced_blocks(resolved.version.config)}
    policies = {_policy(resolved) for resolved in served} if wanted else set()
    found = {policy: find_blocks(wanted, policy, caller) for policy in policies}
    return [_build(resolved, context, found.get(_policy(resolved), {})) for resolved in served]


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
    if resolved.selector.status is Status.DRAFT or resolved.selector.label == "latest":
        return Blocks.DRAFTS
    return Blocks.LIVE if resolved.version.pk == resolved.resource.active_version_id else Blocks.READABLE


def _build(resolved: Resolved[Agent], context: Mapping[str, Any], found: Found) -> ResolvedAgent:
    agent, config = resolved.resource, resolved.version.config
    texts = {block_id: block.text for block_id, block in found.items() if _vetted(block, resolved)}
    instructions, reports = assemble(config["instructions"], context, texts)
    absent = tuple(report for report in reports if report.reason in {"missing", "unpublished"})
    return ResolvedAgent(
        id=agent.pk,
        name=config["name"],
        description=config.get("description"),
        instructions=instructions,
        tools=_offered(config.get("tools"), context),
        agents=_offered(config.get("agents"), context),
        model=choose(config.get("model"), context),
        default_options=choose(config.get("defaultOptions"), context) or {},
        source="stored",
        status=Status.PUBLISHED if agent.active_version_id else Status.DRAFT,
        metadata=agent.metadata,
        resolved_version_id=resolved.version.version_id,
        active_version_id=str(agent.active_version_id) if agent.active_version_id else None,
        selector=resolved.selector,
        fallback=resolved.fallback,
        warnings=resolved.warnings + tuple(_left_out(report) for report in absent),
        blocks=tuple(report for report in reports if report.id is not None),
    )


def _vetted(block: FoundBlock, resolved: Resolved[Agent]) -> bool:
    """Say whether the block is the one that was checked when the agent was published.

    A block of another workspace that is younger than the publication took the id of a deleted one.
    """
    agent = resolved.resource
    published_at = agent.published_at
    return (
        block.workspace_id == agent.workspace_id
        or published_at is None
        or block.created_at <= published_at
        or _policy(resolved) is not Blocks.LIVE
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
