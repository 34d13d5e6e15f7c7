"""Run calls, synchronously on a background event loop or asynchronously on the caller's.

`preloading` imports this module, and with it the agent library.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar

from versioning.domain.agents import CONTEXT_INVALID
from versioning.domain.errors import Invalid, Issue
from versioning.runtime.calls import Call, wait_for_result
from versioning.runtime.planning import Catalogue, Plan, plan
from versioning.runtime.preparation import Prepared, Preparer
from versioning.runtime.providers import Providers
from versioning.runtime.results import Emit, Event, Producer, Result, consume
from versioning.runtime.running import answer, report
from versioning.runtime.store import in_thread

_Value = TypeVar("_Value")


class BackgroundLoop:
    """An event loop in its own thread, with the connections that belong to it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.providers = Providers()
        self.strict_providers = Providers(asks_again=False)
        Thread(target=self.loop.run_forever, name="versioning.runtime", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Run the coroutine and return its result; must not be called from the loop's own thread."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            result: _Value = wait_for_result(future)
        except BaseException:
            # Interrupting the caller also ends the model call.
            future.cancel()
            raise
        return result

    def refuse_own_thread(self) -> None:
        """Raise `RuntimeError` in the loop's own thread, which would wait for itself forever."""
        if asyncio._get_running_loop() is self.loop:  # noqa: SLF001  # unlike its public sister it does not raise
            raise RuntimeError(
                "An asynchronous tool may not call generate() or stream(): use agenerate() or astream()."
            )


class _Process:
    """The background loop of this process, once there is one."""

    lock: Lock
    background: BackgroundLoop | None

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start over after a fork: the child has no such thread, and a held lock would never be released."""
        self.lock = Lock()
        self.background = None


_process = _Process()


def background_loop() -> BackgroundLoop:
    with _process.lock:
        if _process.background is None:
            _process.background = BackgroundLoop()
        return _process.background


os.register_at_fork(after_in_child=_process.reset)


@dataclass(frozen=True)
class Runner:
    """Runs calls of the agents of one framework; the methods are those of `Framework`."""

    catalogue: Catalogue
    preparer: Preparer

    def generate(self, call: Call) -> Result:
        """Run the agent on the background loop and return its answer."""
        background = background_loop()
        background.refuse_own_thread()
        asks_again = call.conduct.asks_again
        providers = background.providers if asks_again else background.strict_providers
        prepared = self._prepare(call, providers)
        self.catalogue.store.give_back()
        return background.run(answer(prepared))

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
        background.refuse_own_thread()
        prepared = self._prepare(call, background.providers)
        self.catalogue.store.give_back()
        return consume(background.loop, partial(report, prepared), heartbeat)

    async def producer(self, call: Call) -> Producer:
        """Return the producer of a run's events on the caller's event loop."""
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
        request_plan = plan(
            self.catalogue,
            call.agent_id,
            call.context,
            selector=call.selector,
            default=call.default,
            published_sub_agents=call.published_sub_agents,
        )
        _refuse_context(request_plan)
        return self.preparer.prepare(call, request_plan, providers)


def _refuse_context(request_plan: Plan) -> None:
    """Raise `Invalid` if the `requestContextSchema` of an agent involved refuses the context."""

    def message(agent_id: str, text: str) -> str:
        return text if agent_id == request_plan.root.id else f"{text} (for the sub-agent {agent_id!r})"

    issues = [
        Issue(notice.field or "requestContext", message(agent.id, notice.message))
        for agent in request_plan.agents.values()
        for notice in agent.warnings
        if notice.code == CONTEXT_INVALID
    ]
    if issues:
        raise Invalid(issues, code=CONTEXT_INVALID)
