"""The agents and tools that code defines, as the editor sees them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from versioning.domain.access import Caller, Right
from versioning.domain.overrides import CodeAgent


@dataclass
class Registry:
    """Filled by the framework when the application starts; empty if code defines nothing."""

    workspace_id: str
    """The workspace of code-defined agents."""
    agents: Mapping[str, CodeAgent] = field(default_factory=dict)
    tools: frozenset[str] = frozenset()
    """The tools that every agent can use by name."""

    def register(self, agents: Sequence[CodeAgent], tools: Collection[str]) -> None:
        """Replace the registered agents and tools with those of the framework."""
        self.agents = {agent.id: agent for agent in agents}
        self.tools = frozenset(tools)

    def get(self, agent_id: str) -> CodeAgent | None:
        """Return the agent that code defines under this id, or None."""
        return self.agents.get(agent_id)

    def overridden_by(self, resource_id: str, workspace_id: str) -> CodeAgent | None:
        """Return the agent that a record with this id in this workspace overrides.

        None for a record in another workspace: it was stored before the code took its id, and stays an
        ordinary resource.
        """
        return self.get(resource_id) if workspace_id == self.workspace_id else None

    def readable_by(self, caller: Caller) -> dict[str, CodeAgent]:
        """Return the code-defined agents that the caller may read and run, by id."""
        member = caller.may(Right.READ, self.workspace_id)
        return {
            agent_id: agent
            for agent_id, agent in self.agents.items()
            if (member or agent.visibility == "public") and caller.covers(agent_id)
        }

    def tools_of(self, agent_id: str) -> frozenset[str]:
        """Return the tools that this agent can use by name."""
        agent = self.get(agent_id)
        return self.tools | frozenset(agent.tool_descriptions if agent else ())
