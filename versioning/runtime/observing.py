"""What a run used, and the observers that are notified at its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from versioning.domain.access import Caller
from versioning.domain.registering import require_callable
from versioning.domain.resolved_agent import ResolvedAgent

logger = logging.getLogger("versioning.runtime")


@dataclass(kw_only=True)
class AgentUse:
    """What one agent used in a run, without its sub-agents."""

    served: ResolvedAgent
    runs: int = 0
    """How many times it was called."""
    errors: int = 0
    """How many of these failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    """With its sub-agents, for which it waits."""
    cost: Decimal | None = Decimal(0)
    """An estimate in US dollars; None where a price is unknown."""


@dataclass(frozen=True, kw_only=True)
class RunUse:
    """What a run used."""

    run_id: str
    by: Caller
    called: str
    """The id of the called agent."""
    arm: str = ""
    """The arm under which it counts, in place of those of rollouts."""
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
