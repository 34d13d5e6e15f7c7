"""What models cost: the prices that an installation sets itself, and costs as JSON. Pure.

Costs are estimates in US dollars. `versioning.runtime.prices` knows the prices of providers, too.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from versioning.domain.json_settings import object_of

CURRENCY: Final = "USD"
BILLION: Final = 10**9
"""Costs are stored in billionths of a dollar."""
_MILLION: Final = 10**6
_MEMBERS: Final = frozenset({"input", "output"})
_HIGHEST: Final = 10**6


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """The price of a model, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return what so many tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


def own_prices(value: str | Mapping[str, Any]) -> Mapping[str, OwnPrice]:
    """Return the prices of `EDITOR_PRICES` by `provider/model`, from JSON or its value; empty means none.

    Raises `ValueError` with a sentence about what cannot be read.
    """
    prices = object_of(value, example='{"vllm-a/qwen3-8b": {"input": 0.1, "output": 0.4}}')
    return {name: _price(name, given) for name, given in prices.items()}


def _price(name: object, given: Any) -> OwnPrice:
    provider, _, model = str(name).partition("/")
    if not provider or not model:
        raise ValueError(f"names the model {name!r}, which must be provider/model")
    if not isinstance(given, Mapping) or given.keys() != _MEMBERS:
        raise ValueError(f"{name}: must be an object with input and output, and nothing else")
    return OwnPrice(input=_amount(name, given["input"]), output=_amount(name, given["output"]))


def _amount(name: object, given: Any) -> Decimal:
    try:
        amount = Decimal("NaN") if isinstance(given, bool) else Decimal(str(given))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= _HIGHEST:
        raise ValueError(
            f"{name}: a price must be a number from 0 to {_HIGHEST}, in dollars for a million tokens"
        )
    return amount


def plus(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    """Return the sum of two costs; None, because unknown, if one of them is."""
    return None if one is None or other is None else one + other


def in_billionths(cost: Decimal | None) -> int:
    """Return a cost as it is stored; 0 for an unknown one, which is counted separately."""
    return 0 if cost is None else round(cost * BILLION)


def from_billionths(stored: int) -> Decimal:
    """Return a stored cost in dollars."""
    return Decimal(stored) / BILLION


def cost_dict(cost: Decimal | None, prices_of: datetime.date | None) -> dict[str, Any] | None:
    """Return the JSON form of a cost; None for an unknown one.

    `prices_of` is the date of the price list; None if nothing was priced yet.
    """
    if cost is None or prices_of is None:
        return None
    amount = format(cost.normalize(), "f") if cost else "0"
    return {"amount": amount, "currency": CURRENCY, "estimate": True, "pricesOf": prices_of.isoformat()}
