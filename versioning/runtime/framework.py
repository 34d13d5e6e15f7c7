"""The framework: the agents of an application, the editor that versions them, and how they run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, Unpack

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue
from versioning.domain.resolved_agent import CONTEXT_INVALID
from versioning.domain.selectors import PUBLISHED, Selector, VersionsMap
from versioning.runtime.agent import Agent, SelectedAgent
from versioning.runtime.calls import Call, Options
from versioning.runtime.delegation import REQUEST_LIMIT
from versioning.runtime.events import Emit, Event
from versioning.runtime.loop import background_loop
from versioning.runtime.planning import Catalogue, Plan, plan
from versioning.runtime.preparation import Prepared, Preparer
from versioning.runtime.providers import Providers
from versioning.runtime.results import Result
from versioning.runtime.running import answer, report
from versioning.runtime.store import AgentStore, CodeOnly
from versioning.runtime.streaming import EventStream, Producer, consume
from versioning.runtime.tools import toolbox

T = TypeVar("T")


class Framework:
    """Agents by id, whether they are defined in code or stored, at the version that is asked for.

    `tools` are functions that stored agents can use by name; `versions` selects versions of
    sub-agents for every call that does not say otherwise; `request_limit` bounds the model
    requests of one call, all delegations included. Agents that a given one names as objects
    belong to the framework too. Raises `ValueError` for two agents or two tools of one name and
    for an agent of another framework, `Invalid` for malformed `versions`.
    """

    def __init__(
        self,
        *,
        agents: Iterable[Agent] = (),
        tools: Iterable[Callable[..., Any]] = (),
        editor: AgentStore | None = None,
        versions: VersionsMap | Mapping[str, Any] | None = None,
        request_limit: int = REQUEST_LIMIT,
    ) -> None:
        defaults = versions if isinstance(versions, VersionsMap) else VersionsMap.parse(versions)
        shared = toolbox(tools)
        self._agents: Mapping[str, Agent] = MappingProxyType(_by_id(agents))
        self._catalogue = Catalogue(
            code=self._agents, store=CodeOnly() if editor is None else editor, versions=defaults
        )
        self._preparer = Preparer(
            own_tools={agent.id: agent.toolbox for agent in self._agents.values()},
            shared_tools=shared,
            request_limit=request_limit,
        )
        self._catalogue.store.register(list(self._agents.values()), list(shared))
        for agent in self._agents.values():
            agent.join(self)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents that are defined in code, by id."""
        return self._agents

    @property
    def editor(self) -> AgentStore | None:
        """The editor, or None."""
        return self._catalogue.store if self._catalogue.has_editor else None

    def get_agent_by_id(
        self,
        agent_id: str,
        *,
        status: str | None = None,
        version_id: str | None = None,
        label: str | None = None,
        by: Caller = APPLICATION,
        context: Mapping[str, Any] | None = None,
    ) -> Agent | SelectedAgent:
        """Return the agent: the registered object itself, or with a selector a copy at that version.

        Where the selector names no override there is nothing to be applied, and it is the registered
        object again, which is never changed. An agent that is only stored is always such a copy,
        of the published version when nothing is selected. Raises `NotFound` for an unknown agent
        or version, `Forbidden` for one that `by` may not read, `Invalid` for two selectors.
        """
        given = {"status": status, "versionId": version_id, "label": label}
        selected = {key: str(value) for key, value in given.items() if value is not None}
        if not selected and agent_id in self._agents:
            return self._agents[agent_id]
        served = self._catalogue.store.serve(
            agent_id, Selector.parse(selected), context=context or {}, by=by, identity=None
        )
        if agent_id in self._agents and served.resolved_version_id is None:
            return self._agents[agent_id]
        return SelectedAgent.of(served, self)

    async def aget_agent_by_id(self, agent_id: str, **selector: Any) -> Agent | SelectedAgent:
        """Do as `get_agent_by_id` without keeping the event loop waiting."""
        return await self._in_thread(partial(self.get_agent_by_id, agent_id, **selector))

    def generate(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None = PUBLISHED,
        **options: Unpack[Options],
    ) -> Result:
        """Run an agent by id and return its answer; see `Runnable.generate`.

        `default` is what runs when nothing is selected; None stands for the agent as its code says.
        """
        background = background_loop()
        background.refuse_itself()
        return background.run(
            answer(
                self._prepare(
                    Call.parse(agent_id, messages, default=default, **options), background.providers
                )
            )
        )

    async def agenerate(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None = PUBLISHED,
        **options: Unpack[Options],
    ) -> Result:
        """Run an agent by id and return its answer; see `Runnable.agenerate`."""
        call = Call.parse(agent_id, messages, default=default, **options)
        providers = Providers()
        prepared = await self._in_thread(partial(self._prepare, call, providers))
        try:
            return await answer(prepared)
        finally:
            await providers.aclose()

    def stream(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None = PUBLISHED,
        heartbeat: float | None = None,
        **options: Unpack[Options],
    ) -> Generator[Event | None]:
        """Return the events of a run by id; see `Runnable.stream`."""
        background = background_loop()
        background.refuse_itself()
        call = Call.parse(agent_id, messages, default=default, **options)
        prepared = self._prepare(call, background.providers)
        return consume(background, partial(report, prepared), heartbeat)

    def astream(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None = PUBLISHED,
        heartbeat: float | None = None,
        **options: Unpack[Options],
    ) -> EventStream[Event | None]:
        """Return the events of a run by id; see `Runnable.astream`."""

        async def prepare() -> Producer:
            call = Call.parse(agent_id, messages, default=default, **options)
            providers = Providers()
            prepared = await self._in_thread(partial(self._prepare, call, providers))

            async def produce(emit: Emit) -> None:
                try:
                    await report(prepared, emit)
                finally:
                    await providers.aclose()

            return produce

        return EventStream(prepare, heartbeat)

    async def _in_thread(self, ask: Callable[[], T]) -> T:
        """Ask the store in a thread, which keeps nothing of it open, while the event loop goes on."""

        def asked() -> T:
            try:
                return ask()
            finally:
                self._catalogue.store.close_thread()

        return await asyncio.to_thread(asked)

    def _prepare(self, call: Call, providers: Providers) -> Prepared:
        found = plan(
            self._catalogue,
            call.agent_id,
            call.context,
            selector=call.selector,
            default=call.default,
            published_sub_agents=call.published_sub_agents,
        )
        refuse_context(found)
        return self._preparer.prepare(call, found, providers)


def refuse_context(found: Plan) -> None:
    """Raise `Invalid` when an agent that takes part has a `requestContextSchema` that refuses the context."""
    issues = [
        Issue(notice.field or "requestContext", _of_agent(agent.id, notice.message, found))
        for agent in found.agents.values()
        for notice in agent.warnings
        if notice.code == CONTEXT_INVALID
    ]
    if issues:
        raise Invalid(issues, code=CONTEXT_INVALID)


def _of_agent(agent_id: str, message: str, found: Plan) -> str:
    return message if agent_id == found.root.id else f"{message} (for the sub-agent {agent_id!r})"


def _by_id(agents: Iterable[Agent]) -> dict[str, Agent]:
    """Return the agents and those that they name as objects, by id."""
    found: dict[str, Agent] = {}
    waiting = list(agents)
    for agent in waiting:
        if agent.is_registered:
            raise ValueError(f"Agent {agent.id!r} is in another framework already.")
        if agent.id in found and found[agent.id] is not agent:
            raise ValueError(f"there are two agents with the id {agent.id!r}")
        if agent.id not in found:
            found[agent.id] = agent
            waiting.extend(one for one in agent.agents if isinstance(one, Agent))
    return found
