"""A worker: a thread for each job, leases that are renewed during the work, and a clean end."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Final

from django.db import Error, InterfaceError, OperationalError, close_old_connections

from versioning.models.due_work import LEASE_SECONDS
from versioning.models.worker_state import WorkerHeartbeat
from versioning.worker import turns
from versioning.worker.jobs import Job, Queue, registered

HEARTBEAT_SECONDS: Final = 10.0
RENEW_SECONDS: Final = LEASE_SECONDS / 3
END_SECONDS: Final = 20.0
"""How long a worker continues with its current work after it was told to stop."""
LONGEST_PAUSE: Final = 30.0
"""The longest pause in seconds after failures of a job; 5 while the database is unavailable."""
_TICK: Final = 0.5

logger = logging.getLogger(__name__)


class Worker:
    """Runs the jobs until it is told to stop."""

    def __init__(self, jobs: Iterable[Job] | None = None) -> None:
        self.jobs = list(registered().values() if jobs is None else jobs)
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._leases = turns.Leases()
        self._stopping = threading.Event()
        self._is_away = False

    def stop(self) -> None:
        """Start nothing more; work in progress is finished or released. Safe in a signal handler."""
        self._stopping.set()

    def run(self, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Work until `stop` is called or the worker is unwanted; return whether all threads have ended."""
        threads = [
            threading.Thread(target=self._work, args=[job, turn], name=f"worker {job.name}", daemon=True)
            for job, turn in ((job, self._turn_of(job)) for job in self.jobs)
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
            logger.warning("the worker ends before %s; the leases end by themselves", ", ".join(late))
        logger.info("the worker has ended", extra={"worker": self.name})
        return not late

    def once(self) -> bool:
        """Do all due work in this thread; return whether nothing failed."""
        self._beat()
        failed = False
        for job in self.jobs:
            turn = self._turn_of(job)
            try:
                while turn() and not self._stopping.is_set():
                    pass
            except turns.Failed:
                failed = True
            except Exception:
                logger.exception("the job %s has failed", job.name)
                failed = True
        return not failed

    def _turn_of(self, job: Job) -> turns.Turn:
        return turns.turn_of(job, self.name, self._leases, self._stopping.is_set)

    def _work(self, job: Job, turn: turns.Turn) -> None:
        pause, failures, wait = turns.pause_of(job), 0, 0.0
        while not self._stopping.wait(wait):
            wait, failures = self._take(job, turn, pause, failures)

    def _take(self, job: Job, turn: turns.Turn, pause: float, failures: int) -> tuple[float, int]:
        """Take a turn; return the pause before the next one, and the number of failures in a row."""
        try:
            more = turn()
        except turns.Failed:
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
