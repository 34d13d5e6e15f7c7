"""The plan of a request: the agents involved, each in one version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from versioning.domain.errors import Invalid, Issue
from versioning.domain.overrides import CodeAgent
from versioning.domain.resolved_agent import Notice, ResolvedAgent
from versioning.domain.selectors import VersionsMap
from versioning.runtime.store import AgentStore, CodeOnly

STEPS_OF_AN_AGENT: Final = 64 * 1024
"""The evaluation steps charged for looking up an agent, found or not: a few queries."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Where agents come from: the code, a store, and the framework's default versions."""

    code: Mapping[str, CodeAgent]
    store: AgentStore
    versions: VersionsMap

    @property
    def has_editor(self) -> bool:
        """Whether there can be stored versions."""
        return not isinstance(self.store, CodeOnly)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The agents involved in a request: the called one and all that it can reach."""

    root: ResolvedAgent
    agents: Mapping[str, ResolvedAgent]
    """By id, the called one included."""
    looked_up: frozenset[str]
    """The ids of all agents that were asked for, whether they are available or not."""
    delegations: Mapping[str, frozenset[str]]
    """The sub-agents available to each agent."""
    warnings: tuple[Notice, ...]

    @property
    def resolved_versions(self) -> dict[str, str | None]:
        """The version of every agent involved; None for one that is as defined in code."""
        return {agent_id: served.resolved_version_id for agent_id, served in self.agents.items()}


def notices_of(served: ResolvedAgent, root: ResolvedAgent) -> list[Notice]:
    """Return what the caller is told about one of the agents; of a sub-agent, with its id."""
    notices = [*([served.fallback] if served.fallback else []), *served.warnings]
    if served is root:
        return notices
    return [replace(notice, message=f"Sub-agent {served.id!r}: {notice.message}") for notice in notices]


def agent_unavailable(agent_id: str) -> Notice:
    """Return the notice of a sub-agent that is named and does not run."""
    return Notice("agent_unavailable", f"The sub-agent {agent_id!r} is not available.", f"agents.{agent_id}")


def within(agent_id: str, error: Invalid, *, is_called: bool) -> Invalid:
    """Return the error of evaluating an agent; of a sub-agent, with fields that say which."""
    if is_called:
        return Invalid(error.issues, code=error.code)
    issues = [Issue(f"agents.{agent_id}.{one.field}", one.message) for one in error.issues]
    return Invalid(issues, code=error.code)
