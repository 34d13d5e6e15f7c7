"""The plan of a request: the agents involved, each in one version, and the selector that applies to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from editor_client.shared.agents import UNRESOLVED, unresolved

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue
from versioning.domain.overrides import CodeAgent
from versioning.domain.resolved_agent import Notice, ResolvedAgent
from versioning.domain.selectors import SelectedBlock, SelectedBlocks, Selector, VersionsMap
from versioning.runtime.calls import RequestContext
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
    """The ids of all agents that were looked up, available or not."""
    delegations: Mapping[str, frozenset[str]]
    """The sub-agents available to each agent."""
    warnings: tuple[Notice, ...]

    @property
    def resolved_versions(self) -> dict[str, str | None]:
        """The version of every agent involved; None for one that is as defined in code."""
        return {agent_id: served.resolved_version_id for agent_id, served in self.agents.items()}

    @property
    def outcomes(self) -> dict[str, dict[str, Mapping[str, Any]]]:
        """The outcomes of the choice of versions, by `agents` and `promptBlocks` and then by id.

        Contains only those with a chosen version (`versioning.serving.choice`).
        """
        agents = {one: served.outcome for one, served in self.agents.items() if served.outcome is not None}
        blocks = {
            block: outcome
            for served in self.agents.values()
            for block, outcome in served.block_outcomes.items()
        }
        return {"agents": agents, "promptBlocks": blocks}


def notices_of(served: ResolvedAgent, root: ResolvedAgent) -> list[Notice]:
    """Return the notices about one of the agents; those about a sub-agent begin with its id."""
    kept = (notice for notice in served.warnings if notice.code != UNRESOLVED)  # one for all: `unresolved_in`
    notices = [*([served.fallback] if served.fallback else []), *kept]
    if served is root:
        return notices
    return [replace(notice, message=f"Sub-agent {served.id!r}: {notice.message}") for notice in notices]


def unresolved_in(agents: Iterable[ResolvedAgent]) -> Iterator[Notice]:
    """Yield one notice about all placeholders of these agents that stay as they are written."""
    for notice in unresolved(block for served in agents for block in served.blocks):
        yield Notice(*notice)


def agent_unavailable(agent_id: str) -> Notice:
    """Return the notice about a sub-agent that is named but does not run."""
    return Notice("agent_unavailable", f"The sub-agent {agent_id!r} is not available.", f"agents.{agent_id}")


def within(agent_id: str, error: Invalid, *, is_called: bool) -> Invalid:
    """Return the error of evaluating an agent; for a sub-agent, with fields that name it."""
    if is_called:
        return Invalid(error.issues, code=error.code)
    issues = [Issue(f"agents.{agent_id}.{issue.field}", issue.message) for issue in error.issues]
    return Invalid(issues, code=error.code)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A selector, the caller whose rights apply, and its place in the request."""

    selector: Selector
    by: Caller
    place: str | None = None
    is_entry: bool = False
    """Whether it is in an entry for this agent."""


def own_choice(agent_id: str, context: RequestContext, selector: Selector | None) -> Choice | None:
    """Return the selector for the called agent itself; None if there is none.

    Raises `Invalid`, naming each place, if there is more than one. The framework's defaults are for
    sub-agents and do not count.
    """
    places = {
        f"versions.agents.{agent_id}": context.versions.agents.get(agent_id),
        "versions.self": context.versions.self_,
    }
    if selector is not None:
        places[next(iter(selector.as_dict()))] = selector
    found = {place: value for place, value in places.items() if value is not None}
    if len(found) > 1:
        raise selected_twice(found)
    return next((Choice(selector=value, by=context.by, place=place) for place, value in found.items()), None)


def selected_twice(places: Iterable[str]) -> Invalid:
    """Return the error for several selectors of the called agent itself, at these places of the request."""
    return Invalid(
        [Issue(place, "the called agent's own version is selected more than once") for place in places]
    )


def sub_agent_choice(agent_id: str, context: RequestContext, framework: VersionsMap) -> Choice | None:
    """Return the selector for a sub-agent; None if there is none, so that the published version runs.

    An entry for its id takes precedence over any `defaultStatus`, and the request over the framework. The
    framework's selectors are the application's decision and are read with its rights; otherwise a default
    could exclude callers who may not read drafts.
    """
    sources = ((context.versions, context.by), (framework, APPLICATION))
    for versions, by in sources:
        if agent_id in versions.agents:
            place = f"versions.agents.{agent_id}"
            return Choice(selector=versions.agents[agent_id], by=by, place=place, is_entry=True)
    for versions, by in sources:
        if versions.default_status is not None:
            selector = Selector(status=versions.default_status)
            return Choice(selector=selector, by=by, place="versions.defaultStatus")
    return None


def block_choices(context: RequestContext, framework: VersionsMap) -> SelectedBlocks:
    """Return the selected versions of prompt blocks; the request takes precedence over the framework."""
    return {
        block_id: SelectedBlock(selector, by)
        for versions, by in ((framework, APPLICATION), (context.versions, context.by))
        for block_id, selector in versions.prompt_blocks.items()
    }
