"""The framework: the agents of an application, the editor that versions them, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from versioning.domain import selectors
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid
from versioning.domain.provider_catalog import own_providers
from versioning.domain.selectors import PUBLISHED, Selector, VersionsMap
from versioning.runtime.agent import Agent, SelectedAgent
from versioning.runtime.calls import REQUEST_LIMIT, Call, Options
from versioning.runtime.planning import Catalogue
from versioning.runtime.preloading import load_agent_library
from versioning.runtime.results import Event, EventStream, Producer, Result
from versioning.runtime.store import AgentStore, CodeOnly, in_thread
from versioning.runtime.tools import Toolbox, by_name

if TYPE_CHECKING:
    from versioning.runtime.runner import Runner


class Framework:
    """Finds agents by id, defined in code or stored, in the requested version, and runs them.

    `tools` are functions that stored agents can use by name. `scorers` are functions by which stored scorers
    judge an answer: they are called with `input, output, groundTruth, metadata` by keyword and return a
    number. `providers` are model providers by name, in addition to the built-in ones and those of
    `EDITOR_PROVIDERS`: a pydantic-ai provider, or a function that returns a pydantic-ai model; it is called
    with the name of a model before each run. `versions` selects versions of sub-agents for every call that
    does not select them itself. `request_limit` limits the model requests of one call, including all
    delegations. Agents that a given agent names as objects belong to the framework too. Raises `ValueError`
    if two agents, two tools or two scorers have the same name, if an agent belongs to another framework and
    if a provider has an invalid or built-in name, `TypeError` for an invalid provider, and `Invalid` for
    malformed `versions`, and for a lock, which is only for a single call.
    """

    def __init__(
        self,
        *,
        agents: Iterable[Agent] = (),
        tools: Iterable[Callable[..., Any]] = (),
        scorers: Iterable[Callable[..., Any]] = (),
        providers: Mapping[str, Any] | None = None,
        editor: AgentStore | None = None,
        versions: VersionsMap | Mapping[str, Any] | None = None,
        request_limit: int = REQUEST_LIMIT,
    ) -> None:
        defaults = versions if isinstance(versions, VersionsMap) else VersionsMap.parse(versions)
        if defaults.lock is not None:
            raise Invalid.field("versions", "a lock is for a call, not for a framework")
        self._agents: Mapping[str, Agent] = MappingProxyType(_by_id(agents))
        self._catalogue = Catalogue(
            code=self._agents, store=CodeOnly() if editor is None else editor, versions=defaults
        )
        self._tools = Toolbox(tools)
        self.scorers = by_name(scorers, noun="scorer")
        """The functions by which stored scorers judge an answer, by name."""
        self._request_limit = request_limit
        self.providers = own_providers(providers or {})
        """The model providers that the application defines, by name."""
        self._catalogue.store.register(list(self._agents.values()), list(self._tools), self.providers)
        for agent in self._agents.values():
            agent.join(self)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents defined in code, by id."""
        return self._agents

    @property
    def editor(self) -> AgentStore | None:
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
        **overlay: str | None,
    ) -> Agent | SelectedAgent:
        """Return the registered agent, or with a selector a copy of it in that version.

        If the selector names no override, there is nothing to apply and the registered agent itself is
        returned; it never changes. A stored agent is always a copy, of the published version if nothing is
        selected. `overlay` is a selector that an application adds, such as `release`. Raises `NotFound` for
        an unknown agent or version, `Forbidden` for one that `by` may not read, and `Invalid` for two
        selectors.
        """
        members = {"status": status, "versionId": version_id, "label": label, **overlay}
        unknown = overlay.keys() - set(selectors.keys())
        if unknown:
            raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
        selected = {key: str(value) for key, value in members.items() if value is not None}
        if not selected and agent_id in self._agents:
            return self._agents[agent_id]
        served = self._catalogue.store.serve(
            agent_id, Selector.parse(selected), context=context or {}, by=by, identity=None
        )
        if agent_id in self._agents and served.resolved_version_id is None:
            return self._agents[agent_id]
        return SelectedAgent.of(served, self)

    async def aget_agent_by_id(self, agent_id: str, **selector: Any) -> Agent | SelectedAgent:
        """Do the same as `get_agent_by_id` without blocking the event loop."""
        return await in_thread(self._catalogue.store, partial(self.get_agent_by_id, agent_id, **selector))

    def generate(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None = PUBLISHED,
        **options: Unpack[Options],
    ) -> Result:
        """Run an agent by id and return its answer; see `Runnable.generate`.

        `default` runs if nothing is selected; None means the agent as defined in code.
        """
        call = Call.parse(agent_id, messages, default=default, **options)
        return self._runner.generate(call)

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
        return await (await self._loaded_runner()).agenerate(call)

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
        call = Call.parse(agent_id, messages, default=default, **options)
        return self._runner.stream(call, heartbeat)

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
            return await (await self._loaded_runner()).producer(call)

        return EventStream(prepare, heartbeat)

    async def _loaded_runner(self) -> Runner:
        """Return the runner; loading the agent library takes half a second, so that is done in a thread."""
        return await asyncio.to_thread(lambda: self._runner)

    @cached_property
    def _runner(self) -> Runner:
        load_agent_library()
        # Not at the top: they load the agent library, 50 MiB that a worker without runs does not need.
        from versioning.runtime import preparation, runner  # noqa: PLC0415

        preparer = preparation.Preparer(
            own_tools={agent.id: agent.toolbox for agent in self._agents.values()},
            shared_tools=self._tools,
            catalog=self._catalogue.store.providers,
            prices=self._catalogue.store.prices,
            request_limit=self._request_limit,
        )
        return runner.Runner(self._catalogue, preparer)


def _by_id(agents: Iterable[Agent]) -> dict[str, Agent]:
    """Return the agents, and those that they name as objects, by id."""
    agents_by_id: dict[str, Agent] = {}
    waiting = list(agents)
    for agent in waiting:
        if agent.is_registered:
            raise ValueError(f"Agent {agent.id!r} is in another framework already.")
        if agent.id in agents_by_id and agents_by_id[agent.id] is not agent:
            raise ValueError(f"there are two agents with the id {agent.id!r}")
        if agent.id not in agents_by_id:
            agents_by_id[agent.id] = agent
            waiting.extend(sub_agent for sub_agent in agent.agents if isinstance(sub_agent, Agent))
    return agents_by_id
