"""One turn of a job: check whether something is due, and do it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final

from django.db.models.functions import Now

from versioning.models.due_work import DueWork, LeaseLost, Turns
from versioning.models.worker_state import PeriodicJob
from versioning.worker.jobs import Job, Periodic, Queue

LOOK_EVERY: Final = 1.0
"""Seconds between checks whether something is due."""
LONGEST_WAIT: Final = 3600.0
"""The longest pause in seconds before a row that fails repeatedly is tried again."""
LONGEST_WAIT_OF_PERIODIC: Final = 60.0

logger = logging.getLogger(__name__)


class Failed(Exception):
    """A job has failed; that was logged, and it is tried again later."""


Turn = Callable[[], bool]
"""Does what is due of a job and returns whether there may be more; raises what went wrong."""


class InHand:
    """The rows that a worker has leased and not finished."""

    def __init__(self) -> None:
        self._rows: dict[tuple[type[DueWork], object], DueWork] = {}
        self._lock = Lock()

    def __bool__(self) -> bool:
        return bool(self._rows)

    @contextmanager
    def having(self, rows: list[DueWork]) -> Iterator[None]:
        """Hold rows for this block; those not finished by its end are given back."""
        with self._lock:
            self._rows.update({(type(row), row.pk): row for row in rows})
        try:
            yield
        finally:
            for row in rows:
                if self.drop(row):
                    with suppress(LeaseLost):
                        row.release()

    def drop(self, row: DueWork) -> bool:
        """Remove a row; return whether it was held."""
        with self._lock:
            return self._rows.pop((type(row), row.pk), None) is not None

    def renew(self, worker: str) -> None:
        """Renew the leases of all rows held."""
        with self._lock:
            rows = list(self._rows.values())
        for model in {type(row) for row in rows}:
            model.objects.renew([row for row in rows if type(row) is model], by=worker)


def turn_of(job: Job, worker: str, in_hand: InHand, is_stopping: Callable[[], bool]) -> Turn:
    """Return the function that does a job's turns in the worker with this name; its threads share it."""
    if isinstance(job, Queue):
        return _QueueTurn(job, worker, in_hand, is_stopping)
    if job.in_each_worker:
        return lambda: _simple_turn(job)
    return lambda: _periodic_turn(job, worker, in_hand)


def pause_of(job: Job) -> float:
    """Return the pause in seconds between two turns of a job without work."""
    if isinstance(job, Periodic) and job.in_each_worker:
        return job.every
    return LOOK_EVERY


def _simple_turn(job: Periodic) -> bool:
    job.run()
    return False


def _periodic_turn(job: Periodic, worker: str, in_hand: InHand) -> bool:
    """Do a job if it is due and nobody else does it."""
    jobs = PeriodicJob.objects.filter(pk=job.name)
    leased = jobs.lease(1, by=worker)
    if not leased:
        if not jobs.exists():
            PeriodicJob.objects.bulk_create([PeriodicJob(name=job.name)], ignore_conflicts=True)
            jobs.filter(due_at=None).update(due_at=Now())
            return True
        return False
    [row] = leased
    with in_hand.having([row]):
        try:
            job.run()
        except Exception as error:
            wait = min(2.0 ** min(row.attempts - 1, 32), LONGEST_WAIT_OF_PERIODIC, job.every)
            # First, so that a missing database is reported as such, and not by what follows from it.
            _let_go(in_hand, row, lambda: row.postpone(wait))
            logger.exception("the job %s has failed", job.name, extra={"attempts": row.attempts})
            raise Failed(job.name) from error
        _let_go(in_hand, row, lambda: row.postpone(job.every, attempts=0))
    return False


class _QueueTurn:
    """Does some of the due rows of whose turn it is."""

    def __init__(self, job: Queue, worker: str, in_hand: InHand, is_stopping: Callable[[], bool]) -> None:
        self._job, self._worker, self._in_hand, self._is_stopping = job, worker, in_hand, is_stopping
        self._turns = Turns(job.threads)
        self._choosing = Lock()
        """Held by one thread at a time: the next one has to know of the place that this one takes."""

    def __call__(self) -> bool:
        with self._choosing:
            rows = self._job.rows.objects.lease(self._job.at_once, by=self._worker, turns=self._turns)
        if not rows:
            return False
        try:
            self._do(rows)
        finally:
            self._turns.end(rows[0].leased_for)
        return True

    def _do(self, rows: list[DueWork]) -> None:
        failed = False
        with self._in_hand.having(rows):
            for row in rows:
                if self._is_stopping():
                    break
                failed |= not _is_done(self._job, row, self._in_hand)
        if failed:
            raise Failed(self._job.name)


def _is_done(job: Queue, row: DueWork, in_hand: InHand) -> bool:
    try:
        job.run(row)
    except LeaseLost:
        in_hand.drop(row)
        logger.warning("the job %s took longer than its lease", job.name, extra={"row": str(row.pk)})
        return True
    except Exception:
        wait = min(2.0 ** min(row.attempts - 1, 32), LONGEST_WAIT)
        _let_go(in_hand, row, lambda: row.postpone(wait))
        logger.exception(
            "the job %s has failed", job.name, extra={"row": str(row.pk), "attempts": row.attempts}
        )
        return False
    _let_go(in_hand, row, row.finish)
    return True


def _let_go(in_hand: InHand, row: DueWork, way: Callable[[], None]) -> None:
    """End a lease, unless the job has ended it itself."""
    with suppress(LeaseLost):
        way()
    in_hand.drop(row)
