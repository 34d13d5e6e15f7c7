"""Running calls, synchronously and asynchronously.

`Framework` imports this module at its first run, and with it the agent library.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial

from versioning.domain.errors import Invalid, Issue
from versioning.domain.resolved_agent import CONTEXT_INVALID
from versioning.runtime.calls import Call
from versioning.runtime.loop import background_loop
from versioning.runtime.planning import plan
from versioning.runtime.plans import Catalogue, Plan
from versioning.runtime.preparation import Prepared, Preparer
from versioning.runtime.providers import Providers
from versioning.runtime.results import Result
from versioning.runtime.running import answer, report
from versioning.runtime.store import in_thread
from versioning.runtime.streaming import Emit, Event, Producer, consume


@dataclass(frozen=True)
class Runner:
    """Runs calls of the agents of one framework; the methods are those of `Framework`."""

    catalogue: Catalogue
    preparer: Preparer

    def generate(self, call: Call) -> Result:
        """Run the agent on the background loop and return its answer."""
        background = background_loop()
        background.refuse_itself()
        return background.run(answer(self._prepare(call, background.providers)))

    async def agenerate(self, call: Call) -> Result:
        """Run the agent on the caller's event loop and return its answer."""
        providers = Providers()
        prepared = await self._prepare_in_thread(call, providers)
        try:
            return await answer(prepared)
        finally:
            await providers.aclose()

    def stream(self, call: Call, heartbeat: float | None) -> Generator[Event | None]:
        """Return the events of a run on the background loop; errors of the call are raised at once."""
        background = background_loop()
        background.refuse_itself()
        prepared = self._prepare(call, background.providers)
        return consume(background.loop, partial(report, prepared), heartbeat)

    async def producer(self, call: Call) -> Producer:
        """Return what emits the events of a run on the caller's event loop."""
        providers = Providers()
        prepared = await self._prepare_in_thread(call, providers)

        async def produce(emit: Emit) -> None:
            try:
                await report(prepared, emit)
            finally:
                await providers.aclose()

        return produce

    async def _prepare_in_thread(self, call: Call, providers: Providers) -> Prepared:
        return await in_thread(self.catalogue.store, partial(self._prepare, call, providers))

    def _prepare(self, call: Call, providers: Providers) -> Prepared:
        found = plan(
            self.catalogue,
            call.agent_id,
            call.context,
            selector=call.selector,
            default=call.default,
            published_sub_agents=call.published_sub_agents,
        )
        _refuse_context(found)
        return self.preparer.prepare(call, found, providers)


def _refuse_context(found: Plan) -> None:
    """Raise `Invalid` if the `requestContextSchema` of an agent involved refuses the context."""
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
