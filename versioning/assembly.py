"""From a snapshot to the agent that is served: conditional fields chosen, instructions assembled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from versioning.access import Caller, Right
from versioning.conditions import choose, holds
from versioning.config import referenced_blocks
from versioning.instructions import BlockReport, BlockText, assemble
from versioning.models import Agent, AgentVersion, BlockReference, PromptBlock, PromptBlockVersion
from versioning.resolution import NEVER_PUBLISHED, Resolved
from versioning.selectors import Status
from versioning.served import Notice, ResolvedAgent

Found = Mapping[str, BlockText | str]


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
    agents = Agent.objects.readable_by(caller).order_by("id")
    served_ids = agents.order_by().values(served_id=Coalesce("active_version_id", "latest_version_id"))
    versions = {version.pk: version for version in AgentVersion.objects.filter(pk__in=served_ids)}
    wanted = BlockReference.objects.filter(version_id__in=served_ids).values("target_id")
    found = {policy: find_blocks(wanted, policy, caller) for policy in (Blocks.LIVE, Blocks.READABLE)}
    result = []
    for agent in agents:
        resolved = Resolved(
            resource=agent,
            version=versions[agent.active_version_id or agent.latest_version_id],
            fallback=None if agent.active_version_id else NEVER_PUBLISHED,
        )
        result.append(_build(resolved, context, found[_policy(resolved)]))
    return result


def find_blocks(
    wanted: Iterable[str] | QuerySet[Any, Any], policy: Blocks, caller: Caller
) -> dict[str, BlockText | str]:
    """Return, by block id, the text that counts or the reason why there is none; two queries.

    Ids that are not in the answer are missing, or not the caller's to read.
    """
    blocks = PromptBlock.objects.all() if policy is Blocks.LIVE else PromptBlock.objects.readable_by(caller)
    chosen = {block.pk: _chosen_id(block, policy, caller) for block in blocks.filter(pk__in=wanted)}
    version_ids = [version_id for version_id in chosen.values() if version_id is not None]
    versions = PromptBlockVersion.objects.in_bulk(version_ids)
    return {
        block_id: BlockText(version_id=str(version_id), config=versions[version_id].config)
        if version_id in versions
        else "unpublished"
        for block_id, version_id in chosen.items()
    }


def _chosen_id(block: PromptBlock, policy: Blocks, caller: Caller) -> Any:
    if policy is Blocks.DRAFTS and caller.may(Right.READ_DRAFTS, block.workspace_id):
        return block.latest_version_id
    return block.active_version_id


def _policy(resolved: Resolved[Agent]) -> Blocks:
    if resolved.selector.status is Status.DRAFT or resolved.selector.label == "latest":
        return Blocks.DRAFTS
    return Blocks.LIVE if resolved.version.pk == resolved.resource.active_version_id else Blocks.READABLE


def _build(resolved: Resolved[Agent], context: Mapping[str, Any], found: Found) -> ResolvedAgent:
    agent, config = resolved.resource, resolved.version.config
    instructions, reports = assemble(config["instructions"], context, found)
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
