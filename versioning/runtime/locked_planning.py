"""Plan a request by a lock: every version is the one that the lock names, or the request is refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from editor_client.shared.evaluation import Evaluation

from versioning.domain.errors import Invalid
from versioning.domain.locks import Lock, LockBroken, SentLock
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.selectors import Selector
from versioning.runtime.calls import RequestContext
from versioning.runtime.plans import (
    STEPS_OF_AN_AGENT,
    Catalogue,
    Plan,
    agent_unavailable,
    notices_of,
    selected_twice,
    within,
)


def locked_plan(
    catalogue: Catalogue,
    agent_id: str,
    context: RequestContext,
    sent: SentLock,
    *,
    selector: Selector | None = None,
) -> Plan:
    """Return the plan of a request to the agent by a lock.

    Anything missing in the lock was unavailable when it was made, and stays unavailable. The versions that
    the framework selects are ignored. Raises `LockInvalid` for a lock that is not this installation's or was
    changed, `LockBroken` naming everything that this request needs and that cannot be resolved, `Forbidden`
    for a draft of the called agent that the caller may not read, and `Invalid` for a selector in addition to
    the lock.
    """
    if selector is not None:
        raise selected_twice([sent.place, next(iter(selector.as_dict()))])
    planner = _LockedPlanner(catalogue, context, catalogue.store.opened(sent))
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
        self._asked: set[tuple[str, bool]] = set()

    def plan(self, agent_id: str) -> Plan:
        """Return the plan; see `locked_plan`."""
        waiting = deque(self._look_up(agent_id, parent=None))
        unavailable: dict[str, None] = {}  # an ordered set
        while waiting:
            parent, named = waiting.popleft()
            available = self._lock.sub_agents(parent, named)
            unavailable |= dict.fromkeys(one for one in named if one not in available)
            self._delegations[parent] = frozenset(available)
            for one in available:
                waiting.extend(self._look_up(one, parent=parent))
        self._refuse_broken()
        root = self._agents[agent_id]
        own = [notice for served in self._agents.values() for notice in notices_of(served, root)]
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
        if (agent_id, as_part) in self._asked:
            return []
        is_new = not self._asked & {(agent_id, True), (agent_id, False)}
        self._asked.add((agent_id, as_part))
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
