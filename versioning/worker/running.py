"""A worker: a thread for each job, leases that are renewed during the work, and a clean end."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock, get_ident
from typing import Final

from django.db import Error, InterfaceError, OperationalError, close_old_connections
from django.db.models.functions import Now

from versioning.models.due_work import LEASE_SECONDS, DueWork, LeaseLost, PeriodicJob, Turns, WorkerHeartbeat
from versioning.worker.jobs import Job, Periodic, Queue, list_jobs

LOOK_EVERY: Final = 1.0
"""Seconds between checks for due work."""
LONGEST_WAIT: Final = 3600.0
"""The longest pause in seconds before a row that fails repeatedly is tried again."""
LONGEST_WAIT_OF_PERIODIC: Final = 60.0


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
        """Hold rows for this block; release the unfinished ones at its end."""
        with self._lock:
            self._rows.update({(type(row), row.pk): row for row in rows})
        try:
            yield
        finally:
            unfinished = [row for row in rows if self.remove(row) and row.leased_by]
            if unfinished:
                type(unfinished[0]).objects.release(unfinished)

    def release(self, row: DueWork, end: Callable[[], None]) -> None:
        """Remove a row and end its lease, unless the job has already ended it."""
        with suppress(LeaseLost):
            end()
        self.remove(row)

    def remove(self, row: DueWork) -> bool:
        """Remove a row; return whether it was held."""
        with self._lock:
            return self._rows.pop((type(row), row.pk), None) is not None

    def renew(self) -> None:
        with self._lock:
            rows = list(self._rows.values())
        for model in {type(row) for row in rows}:
            model.objects.renew([row for row in rows if type(row) is model])


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
        """Locked while a thread chooses rows, because its choice affects that of the next thread."""

    def __call__(self) -> bool:
        thread = f"{self._worker}:{get_ident()}"
        with self._choosing:
            rows = self._job.rows.objects.lease(self._job.at_once, by=thread, turns=self._turns)
        if not rows:
            return False
        try:
            failed = False
            with self._leases.holding(rows):
                for batch in [rows] if self._job.in_batches else [[row] for row in rows]:
                    if self._is_stopping():
                        break
                    failed |= not self._is_done(batch)
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


HEARTBEAT_SECONDS: Final = 10.0
RENEW_SECONDS: Final = LEASE_SECONDS / 3
END_SECONDS: Final = 20.0
"""The seconds for which a worker continues its current work after the order to stop."""
LONGEST_PAUSE: Final = 30.0
"""The longest pause in seconds after failures of a job; 5 while the database is unavailable."""
_TICK: Final = 0.5
logger = logging.getLogger(__name__)


class Worker:
    """Runs the jobs until it is told to stop."""

    def __init__(self, jobs: Iterable[Job] | None = None) -> None:
        self.jobs = list(list_jobs().values() if jobs is None else jobs)
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._leases = Leases()
        self._stopping = threading.Event()
        self._is_away = False

    def stop(self) -> None:
        """Start nothing more; work in progress is finished or released. Safe in a signal handler."""
        self._stopping.set()

    def run(self, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Work until `stop` is called or the worker is unwanted; return whether all threads have ended."""
        threads = [
            threading.Thread(target=self._work, args=[job, turn], name=f"worker {job.name}", daemon=True)
            for job, turn in ((job, self._make_turn(job)) for job in self.jobs)
            for _ in range(job.threads if isinstance(job, Queue) else 1)
        ]
        logger.info(
            "the worker has begun", extra={"worker": self.name, "jobs": [job.name for job in self.jobs]}
        )
        for thread in threads:
            thread.start()
        upkeep = threading.Thread(target=self._keep_up, name="worker upkeep", daemon=True)
        upkeep.start()
        while not self._stopping.wait(_TICK):
            if not is_wanted():
                self.stop()
        until = time.monotonic() + END_SECONDS
        for thread in [*threads, upkeep]:
            thread.join(max(0, until - time.monotonic()))
        late = [thread.name for thread in threads if thread.is_alive()]
        if late:
            logger.warning("the worker ends before %s; their leases expire", ", ".join(late))
        logger.info("the worker has ended", extra={"worker": self.name})
        return not late

    def once(self) -> bool:
        """Do all due work in this thread; return whether nothing failed."""
        self._beat()
        failed = False
        for job in self.jobs:
            turn = self._make_turn(job)
            try:
                while turn() and not self._stopping.is_set():
                    pass
            except Failed:
                failed = True
            except Exception:
                logger.exception("the job %s has failed", job.name)
                failed = True
        return not failed

    def _make_turn(self, job: Job) -> Turn:
        is_stopping = self._stopping.is_set
        if isinstance(job, Queue):
            return _QueueTurn(job, self.name, self._leases, is_stopping)
        return partial(_periodic_turn, job, self.name, self._leases)

    def _work(self, job: Job, turn: Turn) -> None:
        pause, failures, wait = (
            (job.every if isinstance(job, Periodic) and job.in_each_worker else LOOK_EVERY),
            0,
            0.0,
        )
        while not self._stopping.wait(wait):
            wait, failures = self._take(job, turn, pause, failures)

    def _take(self, job: Job, turn: Turn, pause: float, failures: int) -> tuple[float, int]:
        """Take a turn; return the pause before the next one, and the number of failures in a row."""
        try:
            more = turn()
        except Failed:
            return pause, 0  # it is logged, and the failed rows are not due for a while
        except (OperationalError, InterfaceError) as error:
            self._note_database(error)
            return min(2.0**failures, 5.0), failures + 1
        except Exception:
            logger.exception("the job %s has failed", job.name)
            return max(pause, min(2.0 ** min(failures, 32), LONGEST_PAUSE)), failures + 1
        finally:
            close_old_connections()
        return (0.0 if more else pause), 0

    def _note_database(self, error: Exception | None) -> None:
        """Log once that the database is unavailable, and once that it is available again."""
        was_away, self._is_away = self._is_away, error is not None
        if error is not None and not was_away:
            logger.warning("the worker waits for the database: %s", str(error).strip())
        elif error is None and was_away:
            logger.info("the worker has the database again")

    def _keep_up(self) -> None:
        """Send heartbeats and renew the leases of rows in progress, until the work ends."""
        beat_at = renew_at = 0.0
        while not self._stopping.is_set() or self._leases:
            now = time.monotonic()
            try:
                if now >= beat_at:
                    self._beat()
                    self._note_database(None)
                    beat_at = now + HEARTBEAT_SECONDS
                if now >= renew_at:
                    self._leases.renew()
                    renew_at = now + RENEW_SECONDS
            except Error as error:
                self._note_database(error)
            finally:
                close_old_connections()
            time.sleep(_TICK)

    def _beat(self) -> None:
        WorkerHeartbeat.objects.beat(self.name)
