"""The interface to storage that the runtime needs from an editor, and a replacement without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from uuid import UUID

from editor_client.shared.agents import find_unresolved
from editor_client.shared.conditions import Evaluation, choose
from editor_client.shared.instructions import assemble

from versioning.domain.access import Caller
from versioning.domain.agents import Involving, Notice, ResolvedAgent
from versioning.domain.errors import NoInstructions, NotFound
from versioning.domain.locks import Lock, LockBroken, LockInvalid, SentLock
from versioning.domain.overrides import IN_CODE, CodeAgent, code_config
from versioning.domain.provider_catalog import BUILT_IN, OwnPrice, ProviderCatalog
from versioning.domain.selectors import NO_BLOCKS, PUBLISHED, SelectedBlocks, Selector, Status

T = TypeVar("T")
Planned = TypeVar("Planned", bound=Involving)


class AgentStore(Protocol):
    """Stores agents and overrides, and serves the selected version."""

    def register(
        self, agents: Sequence[CodeAgent], tools: Collection[str], providers: Mapping[str, Any]
    ) -> None:
        """Register the agents, the tools and the model providers that are defined in code."""

    def providers(self) -> ProviderCatalog:
        """Return the model providers that agents may name, with those that were registered."""

    def prices(self) -> Mapping[str, OwnPrice]:
        """Return the prices of models that the installation sets, by `provider/model`."""

    def serve(
        self,
        agent_id: str,
        selector: Selector,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Caller,
        identity: UUID | None,
        blocks: SelectedBlocks = NO_BLOCKS,
    ) -> ResolvedAgent:
        """Return the agent that the selector names, with its override applied.

        The agents of one run share the budget of one `Evaluation`. With an `identity` the agent runs as
        part of a published agent to which it was granted (see `granted_sub_agents`), so its published
        version is served for every caller. It shows the selected versions of `blocks`; those that cannot be
        resolved are in its `unresolved_blocks`. Raises `NotFound` for an unknown agent, version or label, for
        one that the caller cannot read, and for an agent with another identity; `Forbidden` if the caller
        may read the agent but not this version; and `Invalid` if it is too much to evaluate.
        """

    def open_lock(self, sent_lock: SentLock) -> Lock:
        """Verify and return a lock; raises `LockInvalid` unless this installation has signed it."""

    def serve_locked(
        self,
        agent_id: str,
        lock: Lock,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Caller,
        as_part: bool,
        is_called: bool,
    ) -> ResolvedAgent:
        """Return the agent and its prompt blocks in their locked versions.

        With `as_part` it runs as part of an agent, for every caller who can run that agent; otherwise only
        for callers who can read it. Raises `LockBroken`, and `Forbidden` for a called agent whose draft the
        caller may not read.
        """

    def consistently(self, read: Callable[[], Planned]) -> Planned:
        """Return the result of `read`, with all agents read as of one moment.

        `read` may be called several times.
        """

    def granted_sub_agents(self, parent: ResolvedAgent) -> Mapping[str, UUID]:
        """Return the identities, by id, of the sub-agents that run as part of an agent for every caller.

        There is no grant for an id that is missing in the result, or that another agent has taken since.
        """

    def give_back(self) -> None:
        """Release the calling thread's resources for others, such as a database connection.

        The runtime calls this before the thread waits for models; afterwards the thread may use the store
        again.
        """

    def close_thread(self) -> None:
        """Release the resources of the calling thread, such as a database connection.

        The runtime calls this after its work in a thread of an event loop's executor, which no other code
        would clean up.
        """


class CodeOnly:
    """The store of a framework without an editor: agents are as defined in code."""

    def __init__(self) -> None:
        self._agents: dict[str, CodeAgent] = {}
        self._providers = BUILT_IN

    def register(
        self, agents: Sequence[CodeAgent], tools: Collection[str], providers: Mapping[str, Any]
    ) -> None:
        self._agents = {agent.id: agent for agent in agents}
        self._providers = ProviderCatalog(own=providers)

    def providers(self) -> ProviderCatalog:
        return self._providers

    def prices(self) -> Mapping[str, OwnPrice]:
        """Return none: without an editor there are no settings."""
        return {}

    def serve(
        self,
        agent_id: str,
        selector: Selector,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Caller,
        identity: UUID | None,
        blocks: SelectedBlocks = NO_BLOCKS,
    ) -> ResolvedAgent:
        """Return the agent as defined in code; raises `NotFound` for versions and drafts: there are none."""
        is_stored = selector.version_id is not None or selector.label is not None
        if agent_id not in self._agents or is_stored:
            raise NotFound
        served = as_code(self._agents[agent_id], context, selector)
        unresolved = {report.id for report in served.blocks if report.id is not None} & blocks.keys()
        return replace(served, unresolved_blocks=tuple(sorted(unresolved)))

    def open_lock(self, sent_lock: SentLock) -> Lock:
        """Raise `LockInvalid`: without an editor, locks cannot be verified."""
        raise LockInvalid.at(sent_lock.place)

    def serve_locked(
        self,
        agent_id: str,
        lock: Lock,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Caller,
        as_part: bool,
        is_called: bool,
    ) -> ResolvedAgent:
        """Raise `LockBroken`: there are no versions."""
        raise LockBroken(agents=[agent_id])

    def consistently(self, read: Callable[[], Planned]) -> Planned:
        """Return the result of `read`: code does not change."""
        return read()

    def granted_sub_agents(self, parent: ResolvedAgent) -> Mapping[str, UUID]:
        """Return every sub-agent that code defines: they all belong to one application."""
        return {agent_id: IN_CODE for agent_id in parent.agents if agent_id in self._agents}

    def give_back(self) -> None:
        """Do nothing: there is nothing to release."""

    def close_thread(self) -> None:
        """Do nothing: there is nothing to release."""


async def in_thread(store: AgentStore, ask: Callable[[], T]) -> T:
    """Call the store in a thread, without blocking the event loop, and release the thread's resources."""

    def ask_and_close() -> T:
        try:
            return ask()
        finally:
            store.close_thread()

    return await asyncio.to_thread(ask_and_close)


def as_code(
    agent: CodeAgent, context: Mapping[str, Any] | Evaluation, selector: Selector = PUBLISHED
) -> ResolvedAgent:
    """Return the agent exactly as defined in code, ignoring stored overrides.

    Blocks are rendered in the given context. References to stored prompt blocks are omitted, because their
    texts are not part of the code. Raises `NoInstructions` if the code has none.
    """
    config = code_config(agent)
    if "instructions" not in config:
        raise NoInstructions(agent.id)
    evaluation = Evaluation.of(context)
    instructions, reports = assemble(config["instructions"], evaluation, {})
    return ResolvedAgent(
        id=agent.id,
        uuid=IN_CODE,
        name=agent.name,
        description=agent.description or None,
        instructions=instructions,
        tools=config.get("tools", {}),
        agents=config.get("agents", {}),
        model=choose(config.get("model"), evaluation),
        default_options=dict(agent.default_options),
        source="code",
        status=Status.PUBLISHED,
        metadata=dict(agent.metadata),
        resolved_version_id=None,
        active_version_id=None,
        is_live=True,
        selector=selector,
        warnings=(
            *(
                Notice(
                    code="block_missing",
                    message=f"The prompt block {report.id!r} is not part of the code; it is left out.",
                    field=f"instructions.{report.position}.id",
                )
                for report in reports
                if report.reason == "missing"
            ),
            *(Notice(*notice) for notice in find_unresolved(reports)),
        ),
        blocks=tuple(reports),
    )
