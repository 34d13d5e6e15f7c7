"""What a run used, and who is told when it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    """How many times it was asked."""
    errors: int = 0
    """How many of these failed."""
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: float = 0.0
    """With its sub-agents, for which it waits."""


@dataclass(frozen=True, kw_only=True)
class RunUse:
    """What a run used."""

    run_id: str
    by: Caller
    called: str
    """The id of the called agent."""
    agents: Mapping[str, AgentUse] = field(default_factory=dict)
    """The agents that ran, by id: the called one and the sub-agents that were asked."""


Observer = Callable[[RunUse], None]
"""Is told of every run when it is over, failed or left ones too; it must not block."""

_observers: Final[list[Observer]] = []


def register(observer: Observer) -> None:
    """Tell an observer of every run from now on; raises `TypeError` for what cannot be called."""
    require_callable(observer, by="runs")
    _observers.append(observer)


def tell(use: RunUse) -> None:
    """Tell the observers; what one of them raises is logged, because no run fails by being counted."""
    for observer in _observers:
        try:
            observer(use)
        except Exception:
            logger.exception("an observer of runs failed")
