"""The usage and served versions of runs: counted in memory, written periodically, stored for a while."""

from __future__ import annotations

import datetime
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from multiprocessing.util import Finalize
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from capabilities.rollouts.models import COSTS, LAST, REMEMBERED, SUMS, ServedRun, Usage
from versioning.domain.access import Caller
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS
from versioning.domain.provider_catalog import in_billionths
from versioning.domain.uuids import parse_uuid
from versioning.models import storage
from versioning.models.versioned import find_model
from versioning.runtime.observing import AgentUse, RunUse, price_list_date
from versioning.worker.jobs import Periodic


class UsageKey(NamedTuple):
    """The key of a count: a version, in an arm, on a day."""

    kind: str
    resource_id: str
    version_id: str
    arm: str
    day: datetime.date


@dataclass
class Count:
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
    prices_of: datetime.date = field(default_factory=price_list_date)

    @classmethod
    def of(cls, by: Caller, now: datetime.datetime, *, cost: Decimal | None, **sums: int) -> Count:
        """Return the usage by a caller at a moment; None is an unknown cost."""
        unpriced = sums.get("runs", 0) or 1 if cost is None else 0
        amount = in_billionths(cost)
        username, prefix = by.username or "", by.key_prefix or ""
        count = cls(now, now, username, prefix, cost=amount, unpriced_runs=unpriced)
        for name, value in sums.items():
            setattr(count, name, value)
        return count

    @property
    def last(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in LAST}

    def add(self, more: Count) -> None:
        self.first_used_at = min(self.first_used_at, more.first_used_at)
        if more.last_used_at >= self.last_used_at:
            self.last_used_at = more.last_used_at
            self.last_used_by, self.last_key_prefix = more.last_used_by, more.last_key_prefix
            self.prices_of = more.prices_of
        for name in (*SUMS, *COSTS):
            setattr(self, name, getattr(self, name) + getattr(more, name))


class Counts(dict[UsageKey, Count]):
    def add(self, more: Mapping[UsageKey, Count]) -> None:
        for counted, count in more.items():
            existing = self.get(counted)
            if existing is None:
                self[counted] = count
            else:
                existing.add(count)


def store(counts: Mapping[UsageKey, Count]) -> None:
    """Add counts to the stored ones, all or none; those of deleted versions are dropped."""
    numbers = _numbers(counts)
    with transaction.atomic():
        # In a fixed order, so that two processes never deadlock.
        for counted in sorted(member for member in counts if member in numbers):
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


def _numbers(counts: Mapping[UsageKey, Count]) -> dict[UsageKey, int | None]:
    """Return the numbers of existing versions; those in code and in files have none."""
    version_numbers: dict[UsageKey, int | None] = {}
    for kind in KINDS:
        ids: dict[UsageKey, UUID] = {}
        rows = find_model(kind).version_model.objects.order_by()
        of_kind = [count for count in counts if count.kind == kind.slug]
        for rollout in of_kind:
            try:
                ids[rollout] = parse_uuid(rollout.version_id)
            except NotFound:
                version_numbers[rollout] = None
        versions = (
            rows.filter(pk__in=set(ids.values())).values_list("pk", "resource_id", "number") if ids else ()
        )
        numbers = {(pk, resource_id): number for pk, resource_id, number in versions}
        for counted, pk in ids.items():
            if (pk, counted.resource_id) in numbers:
                version_numbers[counted] = numbers[pk, counted.resource_id]
    return version_numbers


def count_run(use: RunUse, now: datetime.datetime) -> Counts:
    """Return the counts of a run that has ended: for its agents, and the prompt blocks that they showed."""
    counts = Counts()
    for agent in use.agents.values():
        counts.add(_counts_of_agent(agent, use, now))
    return counts


def _counts_of_agent(agent: AgentUse, use: RunUse, now: datetime.datetime) -> Counts:
    served, day, by = agent.served, now.date(), use.by
    arm = use.arm or _arm(served.outcome)
    agent_key = UsageKey(AGENT.slug, served.id, served.resolved_version_id or "", arm, day)
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
    counts = Counts({agent_key: count})
    shown_blocks = {
        block.id: block.version_id for block in served.blocks if block.id is not None and block.shown
    }
    for block_id, version_id in shown_blocks.items():
        arm = use.arm or _arm(served.block_outcomes.get(block_id))
        block = UsageKey(PROMPT_BLOCK.slug, block_id, version_id or "", arm, day)
        # Tokens and their cost count only for the agent.
        counts[block] = Count.of(by, now, runs=agent.runs, cost=None)
    return counts


def _arm(outcome: Mapping[str, object] | None) -> str:
    return str(outcome["arm"] or "") if outcome else ""


AT_ONCE: Final = 1000


def served_by(use: RunUse) -> ServedRun:
    versions_by_reference: dict[str, list[str | None]] = {}
    for agent in (agent.served for agent in use.agents.values()):
        arm = agent.outcome["arm"] if agent.outcome else None
        versions_by_reference[reference(AGENT.slug, agent.id)] = [
            agent.resolved_version_id,
            arm,
            str(agent.uuid),
        ]
        for block in agent.blocks:
            if block.id is not None and block.shown:
                outcome = agent.block_outcomes.get(block.id)
                versions_by_reference[reference(PROMPT_BLOCK.slug, block.id)] = [
                    block.version_id,
                    outcome["arm"] if outcome else None,
                ]
    return ServedRun(id=UUID(use.run_id), called=use.called, served=versions_by_reference)


def reference(kind: str, resource_id: str) -> str:
    """Return the key of a resource in `ServedRun.served`."""
    return f"{kind}/{resource_id}"


def forget_old() -> None:
    old = ServedRun.objects.filter(created_at__lt=timezone.now() - REMEMBERED).order_by("created_at")
    while batch := list(old.values_list("pk", flat=True)[:AT_ONCE]):
        ServedRun.objects.filter(pk__in=batch).delete()


JOBS: Final = (Periodic(name="old runs", run=forget_old, every=3600.0),)
SECONDS: Final = 0.25
"""The seconds between writes of served versions, while there are any."""
SECONDS_OF_COUNTS: Final = 2.0
"""The seconds between writes of usage."""
SECONDS_AFTER_FAILURE: Final = 5.0
"""The seconds to wait after the database could not be reached."""
MAX_UNWRITTEN: Final = 10_000
"""The maximum number of runs held while the database is unavailable."""
logger = logging.getLogger(__name__)


class Recorder:
    """The usage and served versions of the runs of this process, until they are written."""

    every: float | None = SECONDS
    """The seconds between writes; None writes only when `write` is called."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)  # the parent writes its own records

    def forget(self) -> None:
        """Discard unwritten records."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._counts = Counts()
        self._served: list[ServedRun] = []
        self._news = threading.Event()
        self._writer: threading.Thread | None = None

    def observe(self, use: RunUse) -> None:
        run, counts = served_by(use), count_run(use, timezone.now())
        with self._lock:
            self._served.append(run)
            self._counts.add(counts)
            if self._writer is None and self.every is not None:
                self._begin(self.every)
        self._news.set()

    def write(self, *, with_counts: bool = True) -> bool:
        """Write the records, and return whether that was possible; if not, they are written later."""
        with self._writing:
            with self._lock:
                runs, self._served = self._served, []
                counts = self._counts if with_counts else Counts()
                if with_counts:
                    self._counts = Counts()
            try:
                with transaction.atomic():
                    if counts:
                        store(counts)
                    if runs:
                        ServedRun.objects.bulk_create(runs, ignore_conflicts=True)
            except DatabaseError:
                logger.warning("usage could not be written, and is written later", exc_info=True)
                with self._lock:
                    self._served = [*runs, *self._served][-MAX_UNWRITTEN:]
                    self._counts.add(counts)
                return False
            return True

    def _begin(self, every: float) -> None:
        self._writer = threading.Thread(
            target=self._write_always, args=[every], name="usage-writer", daemon=True
        )
        self._writer.start()
        # Processes forked by multiprocessing, such as those of `serve`, end without `atexit`.
        Finalize(None, self.write, exitpriority=0)

    def _write_always(self, every: float) -> None:
        counted_at = time.monotonic()
        while self._news.wait():
            self._news.clear()
            time.sleep(every)
            with_counts = time.monotonic() - counted_at >= SECONDS_OF_COUNTS
            try:
                is_written = self.write(with_counts=with_counts)
            except Exception:
                logger.exception("some usage could not be written, and is lost")
                is_written = False
            storage.give_back()
            if not is_written:
                time.sleep(SECONDS_AFTER_FAILURE)
            elif with_counts:
                counted_at = time.monotonic()
            if self._counts or self._served:
                self._news.set()


RECORDER: Final = Recorder()
"""The recorder of this process."""
OBSERVER: Final = RECORDER.observe
"""The observer that the application declares."""
