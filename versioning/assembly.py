"""From a snapshot to the agent that is served: conditional fields chosen, instructions assembled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from versioning.access import Caller, Right
from versioning.conditions import choose, holds
from versioning.config import Config, referenced_blocks
from versioning.instructions import BlockReport, BlockText, assemble
from versioning.models import Agent, PromptBlock, PromptBlockVersion
from versioning.overrides import CodeAgent, laid_over
from versioning.resolution import Resolved
from versioning.selectors import Selector, Status
from versioning.served import Notice, ResolvedAgent

Found = Mapping[str, BlockText | str]


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
    fallback: Notice | None = None

    @classmethod
    def stored(cls, resolved: Resolved[Agent]) -> Candidate:
        """Return a stored agent in the version that was selected."""
        agent = resolved.resource
        return cls(
            id=agent.pk,
            config=resolved.version.config,
            source="stored",
            status=Status.PUBLISHED if agent.active_version_id else Status.DRAFT,
            metadata=agent.metadata,
            version_id=resolved.version.version_id,
            active_version_id=_text(agent.active_version_id),
            selector=resolved.selector,
            policy=_policy(resolved),
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
            active_version_id=_text(row.active_version_id if row else None),
            selector=selector,
            policy=_policy(override) if override else Blocks.LIVE,
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


def find_blocks(wanted: Iterable[str], policy: Blocks, caller: Caller) -> dict[str, BlockText | str]:
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


def _build(candidate: Candidate, context: Mapping[str, Any], found: Found) -> ResolvedAgent:
    config = candidate.config
    instructions, reports = assemble(config["instructions"], context, found)
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
        selector=candidate.selector,
        fallback=candidate.fallback,
        warnings=tuple(_left_out(report) for report in absent),
        blocks=tuple(report for report in reports if report.id is not None),
    )


def _text(version_id: object) -> str | None:
    return None if version_id is None else str(version_id)


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
