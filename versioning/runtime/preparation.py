"""Prepare a plan to run: create the models and find the tools, before the first model call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.models import Model

from versioning.domain import provider_catalog
from versioning.domain.agents import Notice, ResolvedAgent
from versioning.domain.provider_catalog import OwnPrice, ProviderCatalog
from versioning.runtime.calls import REQUEST_LIMIT, AnswersTool, Call, RunOptions
from versioning.runtime.errors import NoModel, ProviderUnavailable
from versioning.runtime.observing import PricedModel, Prices, price_list_date
from versioning.runtime.planning import Plan, unresolved_in
from versioning.runtime.providers import Providers
from versioning.runtime.tools import Toolbox, substitute_tool


@dataclass(frozen=True, kw_only=True)
class ReadyAgent:
    """An agent with its model and its tools."""

    served: ResolvedAgent
    model: Model
    tools: tuple[Tool[Any], ...]
    options: RunOptions
    priced: PricedModel
    """The model whose price applies."""

    @property
    def provider(self) -> str:
        return str((self.served.model or {}).get("provider"))


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request with all models and tools that it needs."""

    call: Call
    plan: Plan
    agents: Mapping[str, ReadyAgent]
    """The agents by id, including the called one. A sub-agent that is missing here is not available."""
    warnings: tuple[Notice, ...]
    prices: Prices
    request_limit: int = REQUEST_LIMIT


@dataclass(frozen=True, kw_only=True)
class Preparer:
    """Gives agents their models and tools: each its own tools, and those shared by all."""

    own_tools: Mapping[str, Toolbox]
    shared_tools: Toolbox
    catalog: Callable[[], ProviderCatalog]
    """The model providers that agents may name, as currently configured."""
    prices: Callable[[], Mapping[str, OwnPrice]]
    """The current prices of the installation."""
    request_limit: int = REQUEST_LIMIT

    def prepare(self, call: Call, plan: Plan, providers: Providers) -> Prepared:
        """Return the request ready to run.

        Raises `NoModel` and `ProviderUnavailable` for the called agent. A sub-agent that cannot run is not
        available, and the caller gets a notice.
        """
        root = plan.root
        options = call.options.over(RunOptions.of_agent(root.default_options, root.model))
        instead = call.conduct.answers_tool
        ready, notices = self._ready_agent(root, options, providers, instead)
        agents = {root.id: ready}
        shown_agents = (
            agent for agent in plan.agents.values() if agent is not root or options.instructions is None
        )
        warnings = [*plan.warnings, *unresolved_in(shown_agents), *notices]
        for agent_id, served in plan.agents.items():
            if agent_id == root.id:
                continue
            try:
                agents[agent_id], notices = self._ready_agent(
                    served, RunOptions.of_agent(served.default_options, served.model), providers, instead
                )
            except (NoModel, ProviderUnavailable) as error:
                notices = (Notice(error.code, error.message, f"agents.{agent_id}"),)
            warnings.extend(notices)
        price_list_date()  # loads the price list here, and not on the event loop
        return Prepared(
            call=call,
            plan=plan,
            agents=agents,
            warnings=tuple(warnings),
            prices=Prices(self.prices()),
            request_limit=self.request_limit,
        )

    def _ready_agent(
        self,
        served: ResolvedAgent,
        options: RunOptions,
        providers: Providers,
        instead: AnswersTool | None,
    ) -> tuple[ReadyAgent, tuple[Notice, ...]]:
        # A stored model with a URL as its name is refused; code may use one.
        problem = None if served.source == "code" else provider_catalog.stored_problem(served.model)
        if problem is not None:
            raise NoModel(f"The agent {served.id!r} has no usable model: model.name {problem}.")
        catalog = self.catalog()
        model = providers.model(served.id, served.model, catalog)
        priced = PricedModel.of(served.model or {}, catalog, model.system)
        tools, notices = _chosen_tools(served, self.own_tools.get(served.id, Toolbox(())), self.shared_tools)
        if instead is not None:
            tools = tuple(substitute_tool(tool, instead) for tool in tools)
        ready = ReadyAgent(served=served, model=model, tools=tools, options=options, priced=priced)
        return ready, notices


def _chosen_tools(
    served: ResolvedAgent, own: Toolbox, shared: Toolbox
) -> tuple[tuple[Tool[Any], ...], tuple[Notice, ...]]:
    """Return the tools that the agent lists, with its descriptions, and a notice for each unknown one."""
    tools: list[Tool[Any]] = []
    notices: list[Notice] = []
    for name, usage in served.tools.items():
        tool = own.get(name) or shared.get(name)
        if tool is None:
            notices.append(
                Notice("unknown_tool", f"There is no tool {name!r}; it is left out.", f"tools.{name}")
            )
            continue
        description = usage.get("description")
        if description and description != tool.description:
            schema = tool.function_schema
            tool = Tool(tool.function, name=tool.name, description=description, function_schema=schema)
        tools.append(tool)
    return tuple(tools), tuple(notices)
