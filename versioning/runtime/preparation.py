"""From a plan to what can run: models made, tools found, before the first model call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.models import Model

from versioning.domain.resolved_agent import Notice, ResolvedAgent
from versioning.runtime.calls import Call
from versioning.runtime.delegation import REQUEST_LIMIT
from versioning.runtime.errors import NoModel, ProviderUnavailable
from versioning.runtime.options import RunOptions
from versioning.runtime.planning import Plan
from versioning.runtime.providers import Providers
from versioning.runtime.tools import Toolbox, chosen_tools


@dataclass(frozen=True, kw_only=True)
class ReadyAgent:
    """An agent with all that it takes to run it."""

    served: ResolvedAgent
    model: Model
    tools: tuple[Tool[Any], ...]
    options: RunOptions

    @property
    def provider(self) -> str:
        """The name of its provider."""
        return str((self.served.model or {}).get("provider"))


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that needs nothing any more but models and tools to answer."""

    call: Call
    plan: Plan
    agents: Mapping[str, ReadyAgent]
    """By id, the called one included. A sub-agent that is not here is not available."""
    warnings: tuple[Notice, ...]
    request_limit: int = REQUEST_LIMIT


@dataclass(frozen=True, kw_only=True)
class Preparer:
    """What agents are fitted out with: the tools of each code-defined agent, the tools for all."""

    own_tools: Mapping[str, Toolbox]
    shared_tools: Toolbox
    request_limit: int = REQUEST_LIMIT

    def prepare(self, call: Call, plan: Plan, providers: Providers) -> Prepared:
        """Return the request ready to run.

        Raises `NoModel` and `ProviderUnavailable` for the called agent; a sub-agent that cannot
        run is not available, which the caller is told.
        """
        root = plan.root
        options = call.options.over(RunOptions.stored(root.default_options))
        ready, notices = self._ready_agent(root, options, providers)
        agents = {root.id: ready}
        warnings = [*plan.warnings, *notices]
        for agent_id, served in plan.agents.items():
            if agent_id == root.id:
                continue
            try:
                agents[agent_id], notices = self._ready_agent(
                    served, RunOptions.stored(served.default_options), providers
                )
            except (NoModel, ProviderUnavailable) as error:
                notices = (Notice(error.code, error.message, f"agents.{agent_id}"),)
            warnings.extend(notices)
        return Prepared(
            call=call, plan=plan, agents=agents, warnings=tuple(warnings), request_limit=self.request_limit
        )

    def _ready_agent(
        self, served: ResolvedAgent, options: RunOptions, providers: Providers
    ) -> tuple[ReadyAgent, tuple[Notice, ...]]:
        model = providers.model(served.id, served.model)
        tools, notices = chosen_tools(served, self.own_tools.get(served.id, {}), self.shared_tools)
        return ReadyAgent(served=served, model=model, tools=tools, options=options), notices
