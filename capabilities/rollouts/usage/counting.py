"""Counting runs: by version, arm and day."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F

from capabilities.rollouts.models import COSTS, LAST, SUMS, Usage
from versioning.domain.access import Caller
from versioning.domain.agents import AGENT
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS
from versioning.domain.prices import in_billionths
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.domain.uuids import uuid_of
from versioning.models.versioned import model_of
from versioning.runtime.observing import AgentUse, RunUse
from versioning.runtime.prices import prices_of


class Counted(NamedTuple):
    """The key of a count: a version, in an arm, on a day."""

    kind: str
    resource_id: str
    version_id: str
    arm: str
    day: datetime.date


@dataclass
class Count:
    """The usage under one key."""

    first_used_at: datetime.datetime
    last_used_at: datetime.datetime
    last_used_by: str = ""
    """The username; empty for the application itself."""
    last_key_prefix: str = ""
    """The prefix of the last key that used it."""
    runs: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0
    cost: int = 0
    """In billionths of a US dollar."""
    unpriced_runs: int = 0
    prices_of: datetime.date = field(default_factory=prices_of)

    @classmethod
    def of(cls, by: Caller, now: datetime.datetime, *, cost: Decimal | None, **sums: int) -> Count:
        """Return the usage by a caller at a moment; None is an unknown cost."""
        unpriced = sums.get("runs", 0) or 1 if cost is None else 0
        amount = in_billionths(cost)
        username, prefix = by.username or "", by.key_prefix or ""
        made = cls(now, now, username, prefix, cost=amount, unpriced_runs=unpriced)
        for name, value in sums.items():
            setattr(made, name, value)
        return made

    @property
    def last(self) -> dict[str, Any]:
        """When it was last used, and by whom."""
        return {name: getattr(self, name) for name in LAST}

    def add(self, more: Count) -> None:
        self.first_used_at = min(self.first_used_at, more.first_used_at)
        if more.last_used_at >= self.last_used_at:
            self.last_used_at = more.last_used_at
            self.last_used_by, self.last_key_prefix = more.last_used_by, more.last_key_prefix
            self.prices_of = more.prices_of
        for name in (*SUMS, *COSTS):
            setattr(self, name, getattr(self, name) + getattr(more, name))


class Counts(dict[Counted, Count]):
    """Counts by their keys."""

    def add(self, more: Mapping[Counted, Count]) -> None:
        for counted, count in more.items():
            known = self.get(counted)
            if known is None:
                self[counted] = count
            else:
                known.add(count)


def store(counts: Mapping[Counted, Count]) -> None:
    """Add counts to the stored ones, all or none; those of deleted versions are left out."""
    numbers = _numbers(counts)
    with transaction.atomic():
        # In a fixed order, so that two processes never deadlock.
        for counted in sorted(one for one in counts if one in numbers):
            count = counts[counted]
            rows = Usage.objects.filter(**counted._asdict())
            sums = {name: F(name) + getattr(count, name) for name in (*SUMS, *COSTS)}
            if not rows.update(**count.last, **sums):
                Usage.objects.bulk_create(
                    [
                        Usage(
                            **counted._asdict(),
                            version_number=numbers[counted],
                            first_used_at=count.first_used_at,
                            **count.last,
                        )
                    ],
                    ignore_conflicts=True,
                )
                rows.update(**sums)


def _numbers(counts: Mapping[Counted, Count]) -> dict[Counted, int | None]:
    """Return the numbers of existing versions; those in code and in files have none."""
    found: dict[Counted, int | None] = {}
    for kind in KINDS:
        ids: dict[Counted, UUID] = {}
        rows = model_of(kind).version_model.objects.order_by()
        of_kind = [count for count in counts if count.kind == kind.slug]
        for one in of_kind:
            try:
                ids[one] = uuid_of(one.version_id)
            except NotFound:
                found[one] = None
        named = (
            rows.filter(pk__in=set(ids.values())).values_list("pk", "resource_id", "number") if ids else ()
        )
        numbers = {(pk, resource_id): number for pk, resource_id, number in named}
        for one, pk in ids.items():
            if (pk, one.resource_id) in numbers:
                found[one] = numbers[pk, one.resource_id]
    return found


def counts_of(use: RunUse, now: datetime.datetime) -> Counts:
    """Return the counts of a run that has ended: for its agents, and the prompt blocks that they showed."""
    found = Counts()
    for agent in use.agents.values():
        found.add(_counts_of_agent(agent, use, now))
    return found


def _counts_of_agent(agent: AgentUse, use: RunUse, now: datetime.datetime) -> Counts:
    served, day, by = agent.served, now.date(), use.by
    arm = use.arm or _arm(served.outcome)
    own = Counted(AGENT.slug, served.id, served.resolved_version_id or "", arm, day)
    count = Count.of(
        by,
        now,
        runs=agent.runs,
        errors=agent.errors,
        input_tokens=agent.input_tokens,
        output_tokens=agent.output_tokens,
        milliseconds=round(agent.milliseconds),
        cost=agent.cost,
    )
    found = Counts({own: count})
    shown = {block.id: block.version_id for block in served.blocks if block.id is not None and block.shown}
    for block_id, version_id in shown.items():
        arm = use.arm or _arm(served.block_outcomes.get(block_id))
        block = Counted(PROMPT_BLOCK.slug, block_id, version_id or "", arm, day)
        # Tokens, and what they cost, count for the agent alone.
        found[block] = Count.of(by, now, runs=agent.runs, cost=None)
    return found


def _arm(outcome: Mapping[str, object] | None) -> str:
    return str(outcome["arm"] or "") if outcome else ""
