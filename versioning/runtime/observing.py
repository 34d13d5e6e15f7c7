"""The usage of a run, and the observers that are notified at its end."""

from __future__ import annotations

import datetime
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from versioning.domain.access import Caller
from versioning.domain.agents import ResolvedAgent
from versioning.domain.provider_catalog import OwnPrice, plus
from versioning.domain.registering import require_callable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from versioning.domain.provider_catalog import ProviderCatalog


logger = logging.getLogger("versioning.runtime")


@dataclass(kw_only=True)
class AgentUse:
    """The usage of one agent in a run, without its sub-agents."""

    served: ResolvedAgent
    runs: int = 0
    """How many times it was called."""
    errors: int = 0
    """How many of these failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    """Including its sub-agents, for which it waits."""
    cost: Decimal | None = Decimal(0)
    """An estimate in US dollars; None if a price is unknown."""


@dataclass(frozen=True, kw_only=True)
class RunUse:
    """The usage of a run."""

    run_id: str
    by: Caller
    called: str
    """The id of the called agent."""
    arm: str = ""
    """The arm under which it counts, instead of those of rollouts."""
    agents: Mapping[str, AgentUse] = field(default_factory=dict)
    """The agents that ran, by id: the called one and the sub-agents that were called."""


Observer = Callable[[RunUse], None]
"""Called with every run when it is over, even a failed or abandoned one; it must not block."""
_observers: Final[list[Observer]] = []


def register(observer: Observer) -> None:
    """Add an observer of all runs from now on; raises `TypeError` if it is not callable."""
    require_callable(observer, by="runs")
    _observers.append(observer)


def tell(use: RunUse) -> None:
    """Call the observers; their exceptions are logged, because counting must not fail a run."""
    for observer in _observers:
        try:
            observer(use)
        except Exception:
            logger.exception("an observer of runs failed")


_NAMES: Final = {"azure-responses": "azure", "bedrock": "aws", "xai": "x-ai"}
"""Our names of providers → those in the price list, if they differ."""
_DATE: Final = re.compile(r"\b20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])\b")


@dataclass(frozen=True, kw_only=True)
class PricedModel:
    """A model whose price is looked up."""

    provider: str
    """As the agent names it."""
    kind: str
    """The built-in provider that it is like."""
    name: str

    @classmethod
    def of(cls, model: Mapping[str, Any], catalog: ProviderCatalog, system: str = "") -> PricedModel:
        """Return the model that an agent names.

        `system` is the kind of a provider that the catalog does not know, as the agent library calls it.
        """
        provider = str(model.get("provider"))
        return cls(provider=provider, kind=catalog.kind_of(provider) or system, name=str(model.get("name")))


@dataclass(frozen=True)
class Prices:
    """The prices of models: those of the installation take precedence."""

    own: Mapping[str, OwnPrice] = field(default_factory=dict)
    """By `provider/model`."""

    def of_tokens(self, model: PricedModel, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the cost of this many tokens; None if there is no price."""
        from genai_prices import Usage  # noqa: PLC0415  as below

        return self._of(model, (), Usage(input_tokens=input_tokens, output_tokens=output_tokens))

    def of_messages(
        self, model: PricedModel, messages: Iterable[ModelMessage], input_tokens: int, output_tokens: int
    ) -> Decimal | None:
        """Return the cost of a model's responses; None if one has no price or no usage.

        Tokens outside the responses, such as those of an interrupted one, cost the same.
        """
        cost: Decimal | None = Decimal(0)
        for message in messages:
            if message.kind != "response":
                continue
            usage = message.usage
            input_tokens -= usage.input_tokens
            output_tokens -= usage.output_tokens
            is_known = not getattr(usage, "unmeasured_requests", 0)
            answered = (message.model_name,) if message.model_name else ()
            cost = plus(cost, self._of(model, answered, usage) if is_known else None)
        if input_tokens > 0 or output_tokens > 0:
            cost = plus(cost, self.of_tokens(model, max(input_tokens, 0), max(output_tokens, 0)))
        return cost

    def _of(self, model: PricedModel, answered: Iterable[str], usage: Any) -> Decimal | None:
        """Return the cost of a response; `answered` is the model's own name for itself."""
        names = (model.name, *answered)
        for name in names:
            own = self.own.get(f"{model.provider}/{name}")
            if own is not None:
                return own.of(usage.input_tokens, usage.output_tokens)
        # Not at the top: the list takes 13 MiB, and a tenth of a second.
        from genai_prices import calc_price  # noqa: PLC0415

        for name in reversed(names):
            try:
                price = calc_price(usage, name, provider_id=_NAMES.get(model.kind, model.kind))
            except Exception:  # noqa: BLE001, S112  no price, or not for what was used; it is only an estimate
                continue
            return price.total_price
        return None


@cache
def price_list_date() -> datetime.date:
    """Return the date of the price list: the newest date in it, because it has no other."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  as above

    today = datetime.datetime.now(datetime.UTC).date().isoformat()

    def texts() -> Iterator[str]:
        for provider in get_snapshot().providers:
            yield provider.price_comments or ""
            for model in provider.models:
                yield model.price_comments or ""

    dates = (date for text in texts() for date in _DATE.findall(text))
    return datetime.date.fromisoformat(max((date for date in dates if date <= today), default=today))
