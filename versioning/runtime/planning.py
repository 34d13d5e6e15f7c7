"""Plan a request: the version of every agent involved, settled before the first model call.

So one request uses one version of each agent, errors are found while a proper error response is still
possible, and the event loop never waits for storage.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from uuid import UUID

from editor_client.shared.evaluation import Evaluation

from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.domain.resolved_agent import Notice, ResolvedAgent
from versioning.domain.selectors import PUBLISHED, OverlayName, Selector, VersionsMap
from versioning.runtime.calls import RequestContext
from versioning.runtime.errors import VersionUnresolved
from versioning.runtime.locked_planning import locked_plan
from versioning.runtime.plans import (
    STEPS_OF_AN_AGENT,
    Catalogue,
    Choice,
    Plan,
    agent_unavailable,
    block_choices,
    notices_of,
    own_choice,
    sub_agent_choice,
    within,
)
from versioning.runtime.store import as_code

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
    `strict` is set. A lock decides everything: `locked_plan`.
    """
    if context.versions.lock is not None:
        return locked_plan(catalogue, agent_id, context, context.versions.lock, selector=selector)
    choice = own_choice(agent_id, context, selector)

    def planned() -> Plan:
        planner = _Planner(
            catalogue,
            context,
            published_only=published_sub_agents,
            overlay=choice.selector.overlay if choice is not None else None,
        )
        root = planner.called(agent_id, choice, default)
        planner.explore(root)
        return Plan(
            root=root,
            agents=planner.agents,
            looked_up=planner.looked_up,
            delegations=planner.delegations,
            warnings=planner.notices(root),
        )

    return catalogue.store.consistently(planned)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """The place where a sub-agent is named, and what the naming agent may run for every caller."""

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
        """What counts as published for agents without a selector."""
        self._published_only = published_only or overlay is not None
        self._blocks = block_choices(context, catalogue.versions)
        self.agents: dict[str, ResolvedAgent] = {}
        self.delegations: dict[str, frozenset[str]] = {}
        self._catalogue = catalogue
        self._context = context
        self._evaluation = Evaluation(context.values)
        self._strict = VersionsMap.merged(catalogue.versions, context.versions).strict or False
        self._warnings: dict[tuple[str, str | None], Notice] = {}
        self._unavailable: dict[str, None] = {}  # an ordered set
        self._found: dict[tuple[str, Selector, bool, UUID | None], ResolvedAgent | None] = {}

    @property
    def looked_up(self) -> frozenset[str]:
        """The ids of all agents that were looked up."""
        return frozenset(self.agents) | {agent_id for agent_id, *_ in self._found}

    def called(self, agent_id: str, choice: Choice | None, default: Selector | None) -> ResolvedAgent:
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
        for block_id in sorted(
            {block_id for served in self.agents.values() for block_id in served.unresolved_blocks}
        ):
            self._without_selected(block_id)
        shown = {report.id for served in self.agents.values() for report in served.blocks}
        for agent_id in self._context.versions.agents:
            if agent_id not in self.agents:
                self._not_applied(f"versions.agents.{agent_id}", "the agent takes no part in this request")
        for block_id in self._context.versions.prompt_blocks:
            if block_id not in shown:
                self._not_applied(
                    f"versions.promptBlocks.{block_id}", "no agent of this request refers to it"
                )
        own = [notice for served in self.agents.values() for notice in notices_of(served, root)]
        return (*own, *self._warnings.values())

    def _sub_agent(self, agent_id: str, place: _Place) -> ResolvedAgent | None:
        """Return a sub-agent as it runs for the naming agent; None if it is not available."""
        choice = sub_agent_choice(agent_id, self._context, self._catalogue.versions)
        if choice is None:
            return self._published(agent_id, place)
        if self._catalogue.has_editor or not choice.is_entry:
            if choice.selector == PUBLISHED:
                return self._published(agent_id, place, Choice(selector=PUBLISHED, by=self._context.by))
            served = self._chosen(agent_id, choice, place)
            if served is not None:
                return served
        return self._unresolved(agent_id, choice, place)

    def _published(self, agent_id: str, place: _Place, choice: Choice | None = None) -> ResolvedAgent | None:
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
        available. A caller who may not run it is refused before anything is evaluated, because the cost of
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

    def _unresolved(self, agent_id: str, choice: Choice, place: _Place) -> ResolvedAgent | None:
        """Return the replacement for a version that does not exist or that the caller may not use.

        The caller gets the same notice in both cases, and for agents that do not exist.
        """
        reason = "cannot be resolved" if self._catalogue.has_editor else "needs an editor, and there is none"
        message = f"The version of the sub-agent {agent_id!r} that {choice.place} selects {reason}"
        served = self._published(agent_id, place)
        in_code = served is not None and served.source == "code"
        instead = "it runs as its code says" if in_code else "its published version runs, if it has one"
        self._fall_back(Notice("version_unresolved", f"{message}; {instead}.", choice.place), refused=message)
        if not in_code:
            return served
        agent = self._catalogue.code[agent_id]
        return None if agent.instructions is None else as_code(agent, self._evaluation)

    def _without_selected(self, block_id: str) -> None:
        """Warn of a prompt block that is shown as without the selection that cannot be resolved.

        The caller gets the same notice whether the version does not exist or may not be read, and for
        prompt blocks that do not exist.
        """
        place = f"versions.promptBlocks.{block_id}"
        reason = "cannot be resolved" if self._catalogue.has_editor else "needs an editor, and there is none"
        message = f"The version of the prompt block {block_id!r} that {place} selects {reason}"
        instead = "it is shown as without that, if at all"
        self._fall_back(Notice("version_unresolved", f"{message}; {instead}.", place), refused=message)

    def _not_applied(self, place: str, reason: str) -> None:
        """Warn of an entry without effect, unless a warning already reports that it cannot be resolved."""
        if ("version_unresolved", place) not in self._warnings:
            self._warn(Notice("version_not_applied", f"{place} is not applied: {reason}.", place))

    def _look_up(
        self, agent_id: str, choice: Choice, *, identity: UUID | None = None
    ) -> ResolvedAgent | None:
        """Return a version of a sub-agent, or None; each is looked up once per request."""
        key = (agent_id, choice.selector, choice.by is self._context.by, identity)
        if key not in self._found:
            try:
                self._found[key] = self._serve(agent_id, choice, identity=identity)
            except (NotFound, Forbidden):
                self._found[key] = None
        return self._found[key]

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
