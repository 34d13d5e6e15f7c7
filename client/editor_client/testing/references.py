"""The references between resources of the editor in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from editor_client.shared.configurations import Config, keys, referenced_agents
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.instructions import referenced_blocks
from editor_client.stored_agents import AGENTS
from editor_client.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.stored_scorers import SCORERS
from editor_client.testing.protocol import Json
from editor_client.testing.resources import AnyKind, Resource


class Resources(Protocol):
    """The resources of an editor."""

    def get(self, kind: AnyKind, resource_id: str) -> Resource | None:
        """Return a resource, or None."""

    def all(self, kind: AnyKind) -> list[Resource]:
        """Return all resources of a kind."""


def references(config: Config) -> list[tuple[AnyKind, str]]:
    """Return the sub-agents, prompt blocks and scorers that a configuration names, in any context."""
    agents = {(AGENTS, agent_id) for _, agent_id in referenced_agents(config)}
    blocks = {(PROMPT_BLOCKS, block_id) for _, block_id in referenced_blocks(config)}
    scorers = {(SCORERS, scorer_id) for _, scorer_id in keys(config, "scorers")}
    found: Iterable[tuple[AnyKind, str]] = agents | blocks | scorers
    return sorted(found, key=lambda one: (one[0].slug, one[1]))


def require_published_blocks(resources: Resources, config: Config) -> None:
    """Raise `Invalid` naming each prompt block in the instructions that is not published."""
    issues = []
    for field, target in referenced_blocks(config):
        block = resources.get(PROMPT_BLOCKS, target)
        problem = "is not published" if block else "does not exist, or you may not read it"
        if block is None or block.active is None:
            issues.append(Issue(field, f"the prompt block {target!r} {problem}"))
    if issues:
        raise Invalid(issues, code="unpublished_blocks")


def dependents(resources: Resources, resource: Resource, status: str = "published") -> list[Json]:
    """Return the agents that refer to a resource, in their published versions or the latest ones."""
    versions = {
        agent: agent.latest if status == "draft" else agent.active
        for agent in sorted(resources.all(AGENTS), key=lambda one: one.id)
    }
    about = {"kind": AGENTS.slug} if resource.kind is SCORERS else {}
    return [
        {"id": agent.id, "name": version.config["name"], **about}
        for agent, version in versions.items()
        if version is not None and agent is not resource
        if (resource.kind, resource.id) in references(version.config)
    ]
