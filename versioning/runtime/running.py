"""One run: the called agent calls its model and delegates, using pydantic-ai."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pydantic_ai
from pydantic_ai import AgentRun, Tool, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RunUsage
from pydantic_graph import End

from versioning.domain import telemetry
from versioning.domain.agents import Notice
from versioning.domain.errors import VersioningError
from versioning.domain.provider_catalog import cost_dict, plus
from versioning.runtime import observing
from versioning.runtime.delegation import Budget, Chain, delegation_tool, refusal
from versioning.runtime.errors import ProviderFailed
from versioning.runtime.failures import make_failure
from versioning.runtime.observing import AgentUse, RunUse, price_list_date
from versioning.runtime.preparation import Prepared, ReadyAgent
from versioning.runtime.results import Emit, Result
from versioning.runtime.transcripts import (
    Reporter,
    answering_models,
    collect_steps,
    is_empty,
    is_unfinished,
    make_results_storable,
    model_history,
    put_in_order,
    read_finish_reason,
    thinking_tags,
    usage_dict,
)

logger = logging.getLogger("versioning.runtime")
# The budget counts the requests of the whole run; the library counts those of one agent.
_NO_LIMITS = UsageLimits(request_limit=None)


async def answer(prepared: Prepared) -> Result:
    """Run the request and return its result; raises `VersioningError`."""
    run = _Run(prepared)
    try:
        return await run.result()
    finally:
        run.tell_observers()


async def report(prepared: Prepared, emit: Emit) -> None:
    """Run the request and report its events; a failure is the last event and is not raised."""
    run = _Run(prepared)
    reporter = Reporter(emit, run.id)
    reporter.start_run()
    try:
        result = await run.result(reporter)
    except VersioningError as error:
        reporter.fail_run(error)
    except Exception:
        logger.exception("a run failed unexpectedly")
        reporter.fail_run(VersioningError("The run failed unexpectedly; see the log.", code="server_error"))
    else:
        reporter.finish_run(result)
    finally:  # leaving the stream cancels the run, whose usage so far still counts
        run.tell_observers()


class _Run:
    """The state of one run: its usage, and problems that did not stop it."""

    def __init__(self, prepared: Prepared) -> None:
        self.id = str(uuid4())
        self._prepared = prepared
        self._budget = Budget(limit=prepared.request_limit)
        self._usage = RunUsage()
        self._warnings = list(prepared.warnings)
        self._uses: dict[str, AgentUse] = {}

    def tell_observers(self) -> None:
        prepared = self._prepared
        by, called = prepared.call.context.by, prepared.plan.root.id
        arm = prepared.call.conduct.arm
        observing.tell(RunUse(run_id=self.id, by=by, called=called, arm=arm, agents=self._uses))

    async def result(self, reporter: Reporter | None = None) -> Result:
        conversation = self._prepared.call.conversation
        root = self._prepared.plan.root.id
        history = model_history(conversation.history)
        messages = await self._ask(root, conversation.prompt, history, (root,), reporter)
        last = _last_response(messages)
        turns = (
            *(turn.as_dict() for turn in conversation.turns),
            {"role": "assistant", "content": last.text or ""},
        )
        cost: Decimal | None = Decimal(0)
        for use in self._uses.values():
            cost = plus(cost, use.cost)
        return Result(
            text=last.text or "",
            finish_reason=read_finish_reason(last),
            usage={**usage_dict(self._usage), "cost": cost_dict(cost, price_list_date())},
            steps=collect_steps(messages),
            messages=turns,
            run_id=self.id,
            resolved_versions=self._prepared.plan.resolved_versions,
            rollouts=self._prepared.plan.outcomes,
            warnings=tuple(self._warnings),
            models=answering_models(messages),
        )

    async def _ask(
        self,
        agent_id: str,
        prompt: str,
        history: Sequence[ModelMessage],
        chain: Chain,
        reporter: Reporter | None = None,
    ) -> list[ModelMessage]:
        """Run one agent until it is done or out of steps; return the messages of this run."""
        ready = self._prepared.agents[agent_id]
        with telemetry.running(ready.served):
            return await self._ask_ready(ready, prompt, history, chain, reporter)

    async def _ask_ready(
        self,
        ready: ReadyAgent,
        prompt: str,
        history: Sequence[ModelMessage],
        chain: Chain,
        reporter: Reporter | None,
    ) -> list[ModelMessage]:
        agent_id = ready.served.id
        delegations = [
            self._delegation(agent_id, sub_agent_id, usage.get("description"), chain)
            for sub_agent_id, usage in ready.served.agents.items()
        ]
        agent = pydantic_ai.Agent(
            ready.model,
            name=agent_id,
            instructions=ready.options.instructions or ready.served.instructions or None,
            tools=[*ready.tools, *delegations],
        )
        failure: Exception | None = None
        use = self._uses.setdefault(agent_id, AgentUse(served=ready.served))
        use.runs += 1
        began = time.perf_counter()
        async with agent.iter(
            prompt,
            message_history=history,
            model_settings=ready.options.model_settings(),
            usage_limits=_NO_LIMITS,
        ) as run:
            # Raised only after the library has cleaned up; otherwise it would wrap the exception.
            try:
                messages = await self._steps(run, ready, chain, reporter)
            except Exception as error:  # noqa: BLE001  # it is raised below
                failure = error
            finally:
                input_tokens, output_tokens = run.usage.input_tokens, run.usage.output_tokens
                cost = self._prepared.prices.of_messages(
                    ready.priced, run.new_messages(), input_tokens, output_tokens
                )
                use.milliseconds += (time.perf_counter() - began) * 1000
                use.input_tokens += input_tokens
                use.output_tokens += output_tokens
                use.cost = plus(use.cost, cost)
            self._usage += run.usage
        if failure is not None:
            use.errors += 1
            raise failure
        return messages

    async def _steps(
        self, run: AgentRun[None, str], ready: ReadyAgent, chain: Chain, reporter: Reporter | None
    ) -> list[ModelMessage]:
        steps = 0
        node: Any = run.next_node
        while not isinstance(node, End):
            is_request = pydantic_ai.Agent.is_model_request_node(node)
            if is_request:
                if steps == ready.options.max_steps:
                    # The results of the last tool calls, which the model will not see.
                    return [*run.new_messages(), node.request]
                self._budget.spend(chain)
                steps += 1
            try:
                node = await _advance(run, node, ready, reporter)
            except Exception as error:
                failure = make_failure(
                    error, agent_id=ready.served.id, provider=ready.provider, in_request=is_request
                )
                if failure is error:
                    raise
                raise failure from error
            # The library would retry or fail, because it rejects empty answers.
            if pydantic_ai.Agent.is_call_tools_node(node) and is_empty(node.model_response):
                if reporter is not None:
                    reporter.finish_step(node.model_response)
                break
        return run.new_messages()

    def _delegation(self, parent_id: str, agent_id: str, description: str | None, chain: Chain) -> Tool[Any]:
        # Other agents' tools of this run are irrelevant here.
        is_available = agent_id in self._prepared.plan.delegations[parent_id]

        async def delegate(message: str) -> str:
            if not is_available or agent_id not in self._prepared.agents:
                return f"The agent {agent_id!r} is not available."
            refused = refusal(agent_id, chain)
            if refused is not None:
                self._warnings.append(Notice("delegation_stopped", refused, f"agents.{agent_id}"))
                return refused
            messages = await self._ask(agent_id, message, (), (*chain, agent_id))
            return _last_response(messages).text or ""

        served = self._prepared.plan.agents[agent_id] if is_available else None
        own = (
            served.description or f"Delegates to {served.name}."
            if served
            else "An agent that is not available."
        )
        return delegation_tool(agent_id, description or own, delegate)


async def _advance(run: AgentRun[None, str], node: Any, ready: ReadyAgent, reporter: Reporter | None) -> Any:
    """Run one node of the library's graph and return the next, reporting events.

    Raises `ProviderFailed` for a streamed response that is not complete.
    """
    is_request = pydantic_ai.Agent.is_model_request_node(node)
    calls_tools = pydantic_ai.Agent.is_call_tools_node(node)
    tags = None if reporter is None else thinking_tags(ready.model)
    if reporter is not None and (is_request or calls_tools):
        if is_request:
            reporter.start_step(tags)
        async with node.stream(run.ctx) as events:
            async for event in events:
                reporter.report_event(event)
        if is_request:
            reporter.end_response()
    following = await run.next(node)
    if pydantic_ai.Agent.is_call_tools_node(following):
        response = following.model_response
        if reporter is not None and is_unfinished(response, ready.model):
            reason = "broke off: the stream ended without a finish reason."
            raise ProviderFailed(f"The provider {ready.provider!r} {reason}")
        put_in_order(response, tags)
    elif calls_tools:
        make_results_storable(following)
    if calls_tools and reporter is not None:
        reporter.finish_step(node.model_response)
    return following


def _last_response(messages: Sequence[ModelMessage]) -> ModelResponse:
    return next(message for message in reversed(messages) if isinstance(message, ModelResponse))
