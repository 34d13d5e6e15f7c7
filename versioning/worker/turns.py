"""One turn of a job: check whether work is due, and do it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock, get_ident
from typing import Final

from django.db.models.functions import Now

from versioning.models.due_work import DueWork, LeaseLost, Turns
from versioning.models.worker_state import PeriodicJob
from versioning.worker.jobs import Job, Periodic, Queue

LOOK_EVERY: Final = 1.0
"""Seconds between checks for due work."""
LONGEST_WAIT: Final = 3600.0
"""The longest pause in seconds before a row that fails repeatedly is tried again."""
LONGEST_WAIT_OF_PERIODIC: Final = 60.0

logger = logging.getLogger(__name__)


class Failed(Exception):
    """A job has failed; the failure is logged, and the job is tried again later."""


Turn = Callable[[], bool]
"""Does the due work of a job and returns whether there may be more; raises the job's exception."""


class Leases:
    """The rows that a worker has leased and not finished."""

    def __init__(self) -> None:
        self._rows: dict[tuple[type[DueWork], object], DueWork] = {}
        self._lock = Lock()

    def __bool__(self) -> bool:
        return bool(self._rows)

    @contextmanager
    def holding(self, rows: list[DueWork]) -> Iterator[None]:
        """Hold rows for this block; those not finished by its end are released."""
        with self._lock:
            self._rows.update({(type(row), row.pk): row for row in rows})
        try:
            yield
        finally:
            left = [row for row in rows if self.remove(row) and row.leased_by]
            if left:
                type(left[0]).objects.release(left)

    def release(self, row: DueWork, end: Callable[[], None]) -> None:
        """Remove a row after ending its lease, unless the job has ended that itself."""
        with suppress(LeaseLost):
            end()
        self.remove(row)

    def remove(self, row: DueWork) -> bool:
        """Remove a row; return whether it was held."""
        with self._lock:
            return self._rows.pop((type(row), row.pk), None) is not None

    def renew(self) -> None:
        """Renew the leases of all rows held."""
        with self._lock:
            rows = list(self._rows.values())
        for model in {type(row) for row in rows}:
            model.objects.renew([row for row in rows if type(row) is model])


def turn_of(job: Job, worker: str, leases: Leases, is_stopping: Callable[[], bool]) -> Turn:
    """Return the function that does a job's turns in the worker with this name; its threads share it."""
    if isinstance(job, Queue):
        return _QueueTurn(job, worker, leases, is_stopping)
    return partial(_periodic_turn, job, worker, leases)


def pause_of(job: Job) -> float:
    """Return the pause in seconds between two turns of a job without work."""
    return job.every if isinstance(job, Periodic) and job.in_each_worker else LOOK_EVERY


def _periodic_turn(job: Periodic, worker: str, leases: Leases) -> bool:
    """Do a job if each worker does it, or if it is due and no other worker does it."""
    if job.in_each_worker:
        job.run()
        return False
    jobs = PeriodicJob.objects.filter(pk=job.name)
    leased = jobs.lease(1, by=worker)
    if not leased:
        if not jobs.exists():
            PeriodicJob.objects.bulk_create([PeriodicJob(name=job.name)], ignore_conflicts=True)
            jobs.filter(due_at=None).update(due_at=Now())
            return True
        return False
    [row] = leased
    with leases.holding([row]):
        try:
            job.run()
        except Exception as error:
            wait = min(2.0 ** min(row.attempts - 1, 32), LONGEST_WAIT_OF_PERIODIC, job.every)
            # First, so that a missing database is reported as such.
            leases.release(row, lambda: row.postpone(wait))
            logger.exception("the job %s has failed", job.name, extra={"attempts": row.attempts})
            raise Failed(job.name) from error
        leases.release(row, lambda: row.postpone(job.every, attempts=0))
    return False


class _QueueTurn:
    """Processes some due rows of the owner whose turn it is."""

    def __init__(self, job: Queue, worker: str, leases: Leases, is_stopping: Callable[[], bool]) -> None:
        self._job, self._worker, self._leases, self._is_stopping = job, worker, leases, is_stopping
        self._turns = Turns(job.threads)
        self._choosing = Lock()
        """Held while a thread chooses rows, because its choice affects that of the next thread."""

    def __call__(self) -> bool:
        thread = f"{self._worker}:{get_ident()}"
        with self._choosing:
            rows = self._job.rows.objects.lease(self._job.at_once, by=thread, turns=self._turns)
        if not rows:
            return False
        try:
            failed = False
            with self._leases.holding(rows):
                for some in [rows] if self._job.in_batches else [[row] for row in rows]:
                    if self._is_stopping():
                        break
                    failed |= not self._is_done(some)
            if failed:
                raise Failed(self._job.name)
        finally:
            self._turns.end(rows[0].leased_for)
        return True

    def _is_done(self, rows: list[DueWork]) -> bool:
        """Pass a row to the job, or a batch; return whether that was no failure."""
        name, about = self._job.name, {"row": str(rows[0].pk)}
        try:
            self._job.run(rows if self._job.in_batches else rows[0])
        except LeaseLost:
            for row in rows:
                self._leases.remove(row)
            logger.warning("the job %s took longer than its lease", name, extra=about)
            return True
        except Exception:
            wait = min(2.0 ** min(rows[0].attempts - 1, 32), LONGEST_WAIT)
            for row in rows:
                self._leases.release(row, partial(row.postpone, wait))
            logger.exception("the job %s has failed", name, extra={**about, "attempts": rows[0].attempts})
            return False
        if not self._job.in_batches:
            self._leases.release(rows[0], rows[0].finish)
        return True
