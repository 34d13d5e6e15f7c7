"""Which version of which agent runs: all of it settled before the first model call.

Looking ahead keeps one version of an agent for the whole request, gives errors while they can still
be a proper answer, and keeps storage away from the event loop.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from versioning.errors import Forbidden, NotFound
from versioning.overrides import CodeAgent
from versioning.runtime.choices import Choice, own_choice, sub_agent_choice
from versioning.runtime.context import RequestContext
from versioning.runtime.errors import VersionUnresolved
from versioning.runtime.store import AgentStore, CodeOnly, as_code
from versioning.selectors import PUBLISHED, Selector, VersionsMap
from versioning.served import Notice, ResolvedAgent

logger = logging.getLogger("versioning.runtime")


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Where agents come from: the code, a store, and the versions that the framework defaults to."""

    code: Mapping[str, CodeAgent]
    store: AgentStore
    versions: VersionsMap

    @property
    def has_editor(self) -> bool:
        """Whether there can be stored versions at all."""
        return not isinstance(self.store, CodeOnly)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The agents that take part in a request: the called one and all that it can reach."""

    root: ResolvedAgent
    agents: Mapping[str, ResolvedAgent]
    """By id, the called one included. A sub-agent that is not here is not available."""
    warnings: tuple[Notice, ...]

    @property
    def resolved_versions(self) -> dict[str, str | None]:
        """The version of every agent that takes part; None for one that is as its code says."""
        return {agent_id: served.resolved_version_id for agent_id, served in self.agents.items()}


def plan(
    catalogue: Catalogue,
    agent_id: str,
    context: RequestContext,
    *,
    selector: Selector | None = None,
    default: Selector | None = None,
) -> Plan:
    """Return the plan of a request to the agent.

    The agent's own version comes from its entry in the context's versions, from `self` or from
    `selector`, else from `default`; None stands for the agent as its code says. Raises `Invalid`
    when it is selected twice, `NotFound` when it cannot be resolved, `Forbidden` for versions that
    the caller may not read, `VersionUnresolved` in place of a fallback when `strict` is asked for.
    """
    choice = own_choice(agent_id, context, selector)
    planner = _Planner(catalogue, context)
    root = planner.called(agent_id, choice, default)
    planner.explore(root)
    return Plan(root=root, agents=planner.agents, warnings=planner.notices(root))


class _Planner:
    """The plan of one request while it is being made."""

    def __init__(self, catalogue: Catalogue, context: RequestContext) -> None:
        self.agents: dict[str, ResolvedAgent] = {}
        self._catalogue = catalogue
        self._context = context
        self._strict = VersionsMap.merged(catalogue.versions, context.versions).strict or False
        self._warnings: dict[tuple[str, str | None], Notice] = {}
        self._missing: dict[str, bool] = {}  # sub-agent that is not available → looked for as a part

    def called(self, agent_id: str, choice: Choice | None, default: Selector | None) -> ResolvedAgent:
        """Return the called agent."""
        if choice is not None:
            return self._serve(agent_id, choice, as_part=False)
        if default is not None:
            return self._serve(agent_id, Choice(selector=default, by=self._context.by), as_part=False)
        if agent_id not in self._catalogue.code:
            raise NotFound
        return as_code(self._catalogue.code[agent_id], self._context.values)

    def explore(self, root: ResolvedAgent) -> None:
        """Find every agent that can be reached, each once; the nearest first."""
        self.agents[root.id] = root
        parents = deque([root])
        while parents:
            parent = parents.popleft()
            as_part = parent.is_live
            for agent_id in parent.agents:
                # A published agent opens what it delegates to, also when a draft has knocked before.
                if agent_id in self.agents or (agent_id in self._missing and not as_part):
                    continue
                served = self._sub_agent(agent_id, as_part=as_part)
                if served is None:
                    self._missing[agent_id] = as_part
                else:
                    self._missing.pop(agent_id, None)
                    self.agents[agent_id] = served
                    parents.append(served)

    def notices(self, root: ResolvedAgent) -> tuple[Notice, ...]:
        """Return everything that the caller should know; raises `VersionUnresolved` if that is too much."""
        for agent_id in self._missing:
            self._fall_back(
                "agent_unavailable", f"The sub-agent {agent_id!r} is not available.", f"agents.{agent_id}"
            )
        for agent_id in self._context.versions.agents:
            if agent_id not in self.agents:
                self._not_applied(f"versions.agents.{agent_id}")
        own = [notice for served in self.agents.values() for notice in _notices_of(served, root)]
        return (*own, *self._warnings.values())

    def _sub_agent(self, agent_id: str, *, as_part: bool) -> ResolvedAgent | None:
        choice = sub_agent_choice(agent_id, self._context, self._catalogue.versions)
        if choice is not None and choice.is_entry and not self._catalogue.has_editor:
            return self._unresolved(agent_id, choice, as_part=as_part)
        if choice is None or choice.selector == PUBLISHED:
            return self._published(agent_id, as_part=as_part)
        # The framework's own choices need no right of the caller, but they open no closed door.
        if not as_part and not self._readable(agent_id):
            self._not_applied(choice.place)
            return None
        try:
            return self._serve(agent_id, choice, as_part=False)
        except NotFound:
            if self._readable(agent_id):
                return self._unresolved(agent_id, choice, as_part=as_part)
        self._not_applied(choice.place)
        return self._published(agent_id, as_part=as_part)

    def _published(self, agent_id: str, *, as_part: bool) -> ResolvedAgent | None:
        try:
            served = self._serve(agent_id, Choice(selector=PUBLISHED, by=self._context.by), as_part=as_part)
        except (NotFound, Forbidden):
            return None
        # What runs as a part is the same whoever calls: never the latest in place of a published version.
        return None if as_part and not served.is_live else served

    def _unresolved(self, agent_id: str, choice: Choice, *, as_part: bool) -> ResolvedAgent | None:
        reason = "cannot be resolved" if self._catalogue.has_editor else "needs an editor, and there is none"
        message = f"The version of the sub-agent {agent_id!r} that {choice.place} selects {reason}"
        in_code = agent_id in self._catalogue.code
        instead = "it runs as its code says" if in_code else "its published version runs, if it has one"
        self._fall_back("version_unresolved", f"{message}; {instead}.", choice.place)
        if agent_id in self._catalogue.code:
            return as_code(self._catalogue.code[agent_id], self._context.values)
        served = self._published(agent_id, as_part=as_part)
        return served if served is not None and served.is_live else None

    def _readable(self, agent_id: str) -> bool:
        try:
            self._serve(agent_id, Choice(selector=PUBLISHED, by=self._context.by), as_part=False)
        except (NotFound, Forbidden):
            return False
        return True

    def _serve(self, agent_id: str, choice: Choice, *, as_part: bool) -> ResolvedAgent:
        try:
            return self._catalogue.store.serve(
                agent_id, choice.selector, context=self._context.values, by=choice.by, as_part=as_part
            )
        except Forbidden as fault:
            if choice.place is None:
                raise
            raise Forbidden(f"{choice.place}: {fault.message}") from fault

    def _fall_back(self, code: str, message: str, place: str | None) -> None:
        if self._strict:
            raise VersionUnresolved(message)
        logger.warning("%s", message)
        self._warn(Notice(code, message, place))

    def _not_applied(self, place: str | None) -> None:
        # One sentence for both reasons: it must not tell what exists.
        message = "is not applied: the agent takes no part in this request, or you cannot read it."
        self._warn(Notice("version_not_applied", f"{place} {message}", place))

    def _warn(self, notice: Notice) -> None:
        self._warnings.setdefault((notice.code, notice.field), notice)


def _notices_of(served: ResolvedAgent, root: ResolvedAgent) -> list[Notice]:
    notices = [*([served.fallback] if served.fallback else []), *served.warnings]
    if served is root:
        return notices
    return [replace(notice, message=f"Sub-agent {served.id!r}: {notice.message}") for notice in notices]
