"""Plan a request: the version of every agent involved, settled before the first model call.

So one request uses one version of each agent, errors are found while a proper error response is still
possible, and the event loop never waits for storage.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from editor_client.shared.agents import UNRESOLVED, find_unresolved
from editor_client.shared.conditions import Evaluation

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.agents import Notice, ResolvedAgent
from versioning.domain.errors import Forbidden, Invalid, Issue, NotFound
from versioning.domain.locks import Lock, LockBroken, SentLock
from versioning.domain.overrides import CodeAgent
from versioning.domain.selectors import (
    PUBLISHED,
    OverlayName,
    SelectedBlock,
    SelectedBlocks,
    Selector,
    VersionsMap,
)
from versioning.runtime.calls import RequestContext
from versioning.runtime.errors import VersionUnresolved
from versioning.runtime.store import AgentStore, CodeOnly, as_code

STEPS_OF_AN_AGENT: Final = 64 * 1024
"""The evaluation steps charged for looking up an agent, found or not: a few queries."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The sources of agents: the code, a store, and the framework's default versions."""

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
        agents = {
            agent_id: served.outcome for agent_id, served in self.agents.items() if served.outcome is not None
        }
        blocks = {
            block: outcome
            for served in self.agents.values()
            for block, outcome in served.block_outcomes.items()
        }
        return {"agents": agents, "promptBlocks": blocks}


def collect_notices(served: ResolvedAgent, root: ResolvedAgent) -> list[Notice]:
    """Return the notices about one of the agents; those about a sub-agent begin with its id."""
    # `unresolved_in` makes one notice for all unresolved placeholders.
    warnings = (notice for notice in served.warnings if notice.code != UNRESOLVED)
    notices = [*([served.fallback] if served.fallback else []), *warnings]
    if served is root:
        return notices
    return [replace(notice, message=f"Sub-agent {served.id!r}: {notice.message}") for notice in notices]


def unresolved_in(agents: Iterable[ResolvedAgent]) -> Iterator[Notice]:
    """Yield one notice about all unresolved placeholders of these agents."""
    for notice in find_unresolved(block for served in agents for block in served.blocks):
        yield Notice(*notice)


def agent_unavailable(agent_id: str) -> Notice:
    """Return the notice about a sub-agent that is named but cannot run."""
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
    selectors = {place: value for place, value in places.items() if value is not None}
    if len(selectors) > 1:
        raise selected_twice(selectors)
    return next(
        (Choice(selector=value, by=context.by, place=place) for place, value in selectors.items()), None
    )


def selected_twice(places: Iterable[str]) -> Invalid:
    """Return the error for several selectors of the called agent itself, at these places of the request."""
    return Invalid(
        [Issue(place, "the called agent's own version is selected more than once") for place in places]
    )


def sub_agent_choice(agent_id: str, context: RequestContext, framework: VersionsMap) -> Choice | None:
    """Return the selector for a sub-agent; None if there is none, so that the published version runs.

    An entry for its id takes precedence over any `defaultStatus`, and the request over the framework. The
    framework's selectors are the application's decision and are read with its rights; otherwise a default
    could exclude callers without access to drafts.
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


def locked_plan(
    catalogue: Catalogue,
    agent_id: str,
    context: RequestContext,
    sent_lock: SentLock,
    *,
    selector: Selector | None = None,
) -> Plan:
    """Return the plan of a request to the agent by a lock.

    Anything missing in the lock was unavailable when it was made, and stays unavailable. The versions that
    the framework selects are ignored. Raises `LockInvalid` for a lock that is not this installation's or was
    changed, `LockBroken` naming every needed resource that cannot be resolved, `Forbidden` for a draft of the
    called agent that the caller may not read, and `Invalid` for a selector in addition to the lock.
    """
    if selector is not None:
        raise selected_twice([sent_lock.place, next(iter(selector.as_dict()))])
    planner = _LockedPlanner(catalogue, context, catalogue.store.open_lock(sent_lock))
    return planner.plan(agent_id)


class _LockedPlanner:
    """Makes the plan of one request by a lock."""

    def __init__(self, catalogue: Catalogue, context: RequestContext, lock: Lock) -> None:
        self._store = catalogue.store
        self._context = context
        self._lock = lock
        self._evaluation = Evaluation(context.values)
        self._agents: dict[str, ResolvedAgent] = {}
        self._delegations: dict[str, frozenset[str]] = {}
        self._broken: list[LockBroken] = []
        self._looked_up: set[tuple[str, bool]] = set()

    def plan(self, agent_id: str) -> Plan:
        """Return the plan; see `locked_plan`."""
        waiting = deque(self._look_up(agent_id, parent=None))
        unavailable: dict[str, None] = {}  # an ordered set
        while waiting:
            parent, sub_agents = waiting.popleft()
            available = self._lock.sub_agents(parent, sub_agents)
            unavailable |= dict.fromkeys(name for name in sub_agents if name not in available)
            self._delegations[parent] = frozenset(available)
            for tool in available:
                waiting.extend(self._look_up(tool, parent=parent))
        self._refuse_broken()
        root = self._agents[agent_id]
        own = [notice for served in self._agents.values() for notice in collect_notices(served, root)]
        return Plan(
            root=root,
            agents=self._agents,
            looked_up=frozenset(self._agents),
            delegations=self._delegations,
            warnings=(*own, *map(agent_unavailable, unavailable)),
        )

    def _look_up(self, agent_id: str, *, parent: str | None) -> list[tuple[str, Collection[str]]]:
        """Find an agent as a sub-agent of that parent, or record that it cannot be resolved for this caller.

        Return the sub-agents that it names, with its id; nothing if they were already looked up.
        """
        as_part = parent is not None and self._lock.terms.runs_as_part(parent, agent_id)
        if (agent_id, as_part) in self._looked_up:
            return []
        is_new = not self._looked_up & {(agent_id, True), (agent_id, False)}
        self._looked_up.add((agent_id, as_part))
        self._evaluation.field = "agents"
        self._evaluation.spend(STEPS_OF_AN_AGENT)
        try:
            served = self._store.serve_locked(
                agent_id,
                self._lock,
                context=self._evaluation,
                by=self._context.by,
                as_part=as_part,
                is_called=parent is None,
            )
        except LockBroken as error:
            self._broken.append(error)
            return [(agent_id, error.leading_to)] if is_new else []
        except Invalid as error:
            raise within(agent_id, error, is_called=parent is None) from None
        self._agents[agent_id] = served
        return [(agent_id, served.agents)] if is_new else []

    def _refuse_broken(self) -> None:
        if self._broken:
            raise LockBroken(
                agents=[agent for error in self._broken for agent in error.agents],
                prompt_blocks=[
                    prompt_block for error in self._broken for prompt_block in error.prompt_blocks
                ],
            )


logger = logging.getLogger("versioning.runtime")


def plan(
    catalogue: Catalogue,
    agent_id: str,
    context: RequestContext,
    *,
    selector: Selector | None = None,
    default: Selector | None = None,
    published_sub_agents: bool = False,
) -> Plan:
    """Return the plan of a request to the agent.

    The agent's own version comes from its entry in the context's versions, from `self` or from `selector`,
    otherwise from `default`; None means the agent as defined in code.

    With `published_sub_agents` a draft delegates as it would once published: a sub-agent without a selector
    and without a published version is not available, whereas a normal run of a draft uses its latest version
    if the caller may read drafts. If an overlay selects the agent, it also selects sub-agents without a
    selector. Raises `Invalid` if the agent is selected twice, `NotFound` if it cannot be resolved,
    `Forbidden` for a version that the caller may not read, and `VersionUnresolved` instead of a fallback if
    `strict` is set. A lock determines all versions: `locked_plan`.
    """
    if context.versions.lock is not None:
        return locked_plan(catalogue, agent_id, context, context.versions.lock, selector=selector)
    choice = own_choice(agent_id, context, selector)

    def make_plan() -> Plan:
        planner = _Planner(
            catalogue,
            context,
            published_only=published_sub_agents,
            overlay=choice.selector.overlay if choice is not None else None,
        )
        root = planner.serve_root(agent_id, choice, default)
        planner.explore(root)
        return Plan(
            root=root,
            agents=planner.agents,
            looked_up=planner.looked_up,
            delegations=planner.delegations,
            warnings=planner.notices(root),
        )

    return catalogue.store.consistently(make_plan)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The place where a sub-agent is named, and the identity that may run there for every caller."""

    is_live: bool
    """Whether the naming agent runs as published."""
    identity: UUID | None
    """The identity of the sub-agent that may run as a part of it; None if none may."""


class _Planner:
    """Makes the plan of one request.

    Whether a sub-agent is available is decided for each agent that names it: it may run as part of one
    agent and still not be available to another that names it too.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        context: RequestContext,
        *,
        published_only: bool = False,
        overlay: OverlayName | None = None,
    ) -> None:
        self._unselected = PUBLISHED if overlay is None else Selector(overlay=overlay)
        """The overlay or version that counts as published for agents without a selector."""
        self._published_only = published_only or overlay is not None
        self._blocks = block_choices(context, catalogue.versions)
        self.agents: dict[str, ResolvedAgent] = {}
        self.delegations: dict[str, frozenset[str]] = {}
        self._catalogue = catalogue
        self._context = context
        self._evaluation = Evaluation(context.values)
        self._strict = VersionsMap.merge(catalogue.versions, context.versions).strict or False
        self._warnings: dict[tuple[str, str | None], Notice] = {}
        self._unavailable: dict[str, None] = {}  # an ordered set
        self._served: dict[tuple[str, Selector, bool, UUID | None], ResolvedAgent | None] = {}

    @property
    def looked_up(self) -> frozenset[str]:
        """The ids of all agents that were looked up."""
        return frozenset(self.agents) | {agent_id for agent_id, *_ in self._served}

    def serve_root(self, agent_id: str, choice: Choice | None, default: Selector | None) -> ResolvedAgent:
        if choice is not None:
            return self._serve(agent_id, choice)
        if default is not None:
            return self._serve(agent_id, Choice(selector=default, by=self._context.by))
        if agent_id not in self._catalogue.code:
            raise NotFound
        return as_code(self._catalogue.code[agent_id], self._evaluation)

    def explore(self, root: ResolvedAgent) -> None:
        """Find all agents that can be reached, breadth first."""
        self.agents[root.id] = root
        parents = deque([root])
        while parents:
            parent = parents.popleft()
            is_live = parent.is_live
            granted = self._catalogue.store.granted_sub_agents(parent) if is_live and parent.agents else {}
            available = set()
            for agent_id in parent.agents:
                served = self._sub_agent(agent_id, _Place(is_live=is_live, identity=granted.get(agent_id)))
                if served is None:
                    self._unavailable[agent_id] = None
                    continue
                available.add(agent_id)
                if agent_id not in self.agents:
                    self.agents[agent_id] = served
                    parents.append(served)
            self.delegations[parent.id] = frozenset(available)

    def notices(self, root: ResolvedAgent) -> tuple[Notice, ...]:
        """Return all notices for the caller; raises `VersionUnresolved` if `strict` does not allow one."""
        for agent_id in self._unavailable:
            self._fall_back(agent_unavailable(agent_id))
        reason = "cannot be resolved" if self._catalogue.has_editor else "needs an editor, and there is none"
        for block_id in sorted(
            {block_id for served in self.agents.values() for block_id in served.unresolved_blocks}
        ):
            # Callers get the same notice for blocks and versions that do not exist or may not be read.
            place = f"versions.promptBlocks.{block_id}"
            message = f"The version of the prompt block {block_id!r} that {place} selects {reason}"
            instead = "it is shown as without the selection, if at all"
            self._fall_back(Notice("version_unresolved", f"{message}; {instead}.", place), refused=message)
        shown_ids = {report.id for served in self.agents.values() for report in served.blocks}
        for agent_id in self._context.versions.agents:
            if agent_id not in self.agents:
                self._not_applied(f"versions.agents.{agent_id}", "the agent takes no part in this request")
        for block_id in self._context.versions.prompt_blocks:
            if block_id not in shown_ids:
                self._not_applied(
                    f"versions.promptBlocks.{block_id}", "no agent of this request refers to it"
                )
        own = [notice for served in self.agents.values() for notice in collect_notices(served, root)]
        return (*own, *self._warnings.values())

    def _sub_agent(self, agent_id: str, place: _Place) -> ResolvedAgent | None:
        """Return a sub-agent as it runs for the naming agent; None if it is not available."""
        choice = sub_agent_choice(agent_id, self._context, self._catalogue.versions)
        if choice is None:
            return self._serve_published(agent_id, place)
        if self._catalogue.has_editor or not choice.is_entry:
            if choice.selector == PUBLISHED:
                return self._serve_published(agent_id, place, Choice(selector=PUBLISHED, by=self._context.by))
            served = self._chosen(agent_id, choice, place)
            if served is not None:
                return served
        return self._replace_unresolved(agent_id, choice, place)

    def _serve_published(
        self, agent_id: str, place: _Place, choice: Choice | None = None
    ) -> ResolvedAgent | None:
        """Return the published version of a sub-agent, if it is granted here or the caller may read it."""
        choice = choice or self._published_choice
        if place.identity is not None:
            part = self._look_up(agent_id, choice, identity=place.identity)
            if part is not None and part.is_live:
                return part
        served = self._look_up(agent_id, choice)
        # A published agent never runs the latest version in place of a missing published one.
        published_only = place.is_live or self._published_only
        return served if served is None or not published_only or served.is_live else None

    def _chosen(self, agent_id: str, choice: Choice, place: _Place) -> ResolvedAgent | None:
        """Return the selected version of a sub-agent; None if it may not run here.

        The framework's own selectors need no right of the caller, but they do not make a sub-agent
        available. A caller who cannot run it is refused before anything is evaluated, because the cost of
        evaluation would reveal that it exists.
        """
        if choice.by is not self._context.by:
            if place.identity is not None:
                part = self._look_up(agent_id, choice, identity=place.identity)
                if part is not None:
                    return part
            if self._look_up(agent_id, self._published_choice) is None:
                return None
        return self._look_up(agent_id, choice)

    def _replace_unresolved(self, agent_id: str, choice: Choice, place: _Place) -> ResolvedAgent | None:
        """Return the replacement for a version that does not exist or that the caller may not use.

        The caller gets the same notice in both cases, and for agents that do not exist.
        """
        reason = "cannot be resolved" if self._catalogue.has_editor else "needs an editor, and there is none"
        message = f"The version of the sub-agent {agent_id!r} that {choice.place} selects {reason}"
        served = self._serve_published(agent_id, place)
        in_code = served is not None and served.source == "code"
        instead = "it runs as defined in code" if in_code else "its published version runs, if it has one"
        self._fall_back(Notice("version_unresolved", f"{message}; {instead}.", choice.place), refused=message)
        if not in_code:
            return served
        agent = self._catalogue.code[agent_id]
        return None if agent.instructions is None else as_code(agent, self._evaluation)

    def _not_applied(self, place: str, reason: str) -> None:
        """Warn of an entry without effect, unless a warning already reports that it cannot be resolved."""
        if ("version_unresolved", place) not in self._warnings:
            self._warn(Notice("version_not_applied", f"{place} is not applied: {reason}.", place))

    def _look_up(
        self, agent_id: str, choice: Choice, *, identity: UUID | None = None
    ) -> ResolvedAgent | None:
        """Return a version of a sub-agent, or None; each is looked up once per request."""
        key = (agent_id, choice.selector, choice.by is self._context.by, identity)
        if key not in self._served:
            try:
                self._served[key] = self._serve(agent_id, choice, identity=identity)
            except (NotFound, Forbidden):
                self._served[key] = None
        return self._served[key]

    def _serve(self, agent_id: str, choice: Choice, *, identity: UUID | None = None) -> ResolvedAgent:
        self._evaluation.field = "agents"
        self._evaluation.spend(STEPS_OF_AN_AGENT)
        try:
            return self._catalogue.store.serve(
                agent_id,
                choice.selector,
                context=self._evaluation,
                by=choice.by,
                identity=identity,
                blocks=self._blocks,
            )
        except Invalid as error:
            raise within(agent_id, error, is_called=not self.agents) from None
        except Forbidden as error:
            if choice.place is None:
                raise
            raise Forbidden(f"{choice.place}: {error.message}") from error

    @property
    def _published_choice(self) -> Choice:
        return Choice(selector=self._unselected, by=self._context.by)

    def _fall_back(self, notice: Notice, *, refused: str = "") -> None:
        """Warn about the fallback; a strict call is refused instead, without the fallback."""
        if self._strict:
            raise VersionUnresolved(f"{refused}; nothing ran." if refused else notice.message)
        logger.warning("%s", notice.message)
        self._warn(notice)

    def _warn(self, notice: Notice) -> None:
        self._warnings.setdefault((notice.code, notice.field), notice)
