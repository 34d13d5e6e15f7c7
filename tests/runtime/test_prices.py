"""What runs cost: by the prices of the installation, by the list, and unknown where one is missing."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import ModelServer
from versioning.domain.provider_catalog import own_prices
from versioning.runtime import Agent, Framework
from versioning.runtime.observing import PricedModel, Prices, price_list_date

PRICES = {"echo/echo": {"input": 1, "output": "2.5"}, "openai/a/b": {"input": 0, "output": 0.000001}}


def priced(provider: str, name: str) -> PricedModel:
    return PricedModel(provider=provider, kind=provider, name=name)


def test_own_prices_take_precedence_over_the_list() -> None:
    prices = Prices(own_prices({**PRICES, "openai/gpt-4o": {"input": 1000, "output": 0}}))
    assert prices.of_tokens(priced("echo", "echo"), 1_000_000, 2) == Decimal("1.000005")
    assert prices.of_tokens(priced("openai", "a/b"), 5, 3) == Decimal("3e-12")
    assert prices.of_tokens(priced("openai", "gpt-4o"), 1, 1) == Decimal("0.001")
    listed = Prices().of_tokens(priced("openai", "gpt-4o"), 1_000_000, 0)
    assert listed is not None and listed > 0
    for provider in ("openai-responses", "azure-responses"):
        assert Prices().of_tokens(priced(provider, "gpt-4o"), 1_000_000, 0) is not None
    for unknown in (priced("openai", "no-such-model"), priced("vllm", "gpt-4o"), priced("echo", "echo")):
        assert Prices().of_tokens(unknown, 1, 1) is None
    assert datetime.date(2026, 1, 1) < price_list_date() <= datetime.datetime.now(datetime.UTC).date()


def test_a_run_costs_what_all_its_models_cost(model_server: ModelServer) -> None:
    store = MemoryStore(own_prices=own_prices({"echo/echo": {"input": 1, "output": 1}}))
    small = Agent(id="small", name="S", instructions="x", model={"provider": "openai", "name": "gpt-4o-mini"})
    lead = Agent(
        id="lead", name="L", instructions="x", model={"provider": "echo", "name": "echo"}, agents=[small]
    )
    framework = Framework(agents=[lead], editor=store)
    alone = framework.get_agent_by_id("small").generate("hello").usage
    cost = Prices().of_tokens(priced("openai", "gpt-4o-mini"), 11, 7)
    assert cost is not None and Decimal(alone["cost"]["amount"]) == cost
    assert alone["cost"] == {
        "amount": format(cost.normalize(), "f"),
        "currency": "USD",
        "estimate": True,
        "pricesOf": price_list_date().isoformat(),
    }
    whole = framework.get_agent_by_id("lead").generate("hello").usage
    echoed = Decimal(whole["totalTokens"] - 18) / 1_000_000
    assert Decimal(whole["cost"]["amount"]) == cost + echoed
    store.own_prices = {}
    assert framework.get_agent_by_id("lead").generate("hello").usage["cost"] is None
    *_, finish = framework.get_agent_by_id("small").stream("hello")
    assert finish["payload"]["usage"]["cost"] == alone["cost"]


def test_an_answer_that_does_not_say_what_it_used_makes_the_cost_unknown() -> None:
    answers = iter(
        [
            ModelResponse(parts=[ToolCallPart("noop", {})], usage=RequestUsage(input_tokens=5)),
            ModelResponse(parts=[TextPart("done")], usage=RequestUsage(unmeasured_requests=1)),
        ]
    )

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return next(answers)

    def noop() -> None:
        """Do nothing."""

    store = MemoryStore(own_prices=own_prices({"mine/m": {"input": 1, "output": 1}}))
    agent = Agent(id="a", name="A", instructions="x", model={"provider": "mine", "name": "m"}, tools=[noop])
    framework = Framework(agents=[agent], editor=store, providers={"mine": lambda _: FunctionModel(say)})
    assert framework.get_agent_by_id("a").generate("hello").usage["cost"] is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("{", "is not JSON"),
        ("[1]", "must be an object"),
        ('{"a/b": {"input": 1, "output": 1}, "a/b": {"input": 2, "output": 1}}', "names 'a/b' twice"),
        ('{"gpt": {"input": 1, "output": 1}}', "must be provider/model"),
        ('{"a/b": {"input": 1}}', "input and output, and nothing else"),
        ('{"a/b": {"input": 1, "output": -1}}', "a price must be a number from 0"),
        ('{"a/b": {"input": true, "output": "x"}}', "a price must be a number from 0"),
    ],
)
def test_prices_that_cannot_be_read_are_explained(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        own_prices(value)
