"""Record what runs used and served: in memory at first, written every moment, so that no run waits.

What runs served is written soon, because feedback about them may follow at once in another process; what they
used is written together for longer. A process that is killed loses what it has not written yet.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from multiprocessing.util import Finalize
from typing import Final

from django.db import DatabaseError, transaction
from django.utils import timezone

from experiments.runs.models import ServedRun
from experiments.runs.remembering import served_by
from experiments.usage.counting import Counts, counts_of, store
from versioning.models import connections
from versioning.runtime.observing import RunUse

SECONDS: Final = 0.25
"""How often it is written what runs served, while there are any."""
SECONDS_OF_COUNTS: Final = 2.0
"""How often it is written what they used."""
SECONDS_AFTER_FAILURE: Final = 5.0
"""How long nothing is tried when the database could not be reached."""
MAX_UNWRITTEN: Final = 10_000
"""How many runs are remembered while the database is away."""

logger = logging.getLogger(__name__)


class Recorder:
    """What the runs of this process used and served, until it is written."""

    every: float | None = SECONDS
    """After how many seconds it is written; None writes it when `write` is called, and not before."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # the parent writes what it has recorded

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._counts = Counts()
        self._served: list[ServedRun] = []
        self._news = threading.Event()
        self._writer: threading.Thread | None = None

    def observe(self, use: RunUse) -> None:
        """Record a run that is over."""
        served, used = served_by(use), counts_of(use, timezone.now())
        with self._lock:
            self._served.append(served)
            self._counts.add(used)
            if self._writer is None and self.every is not None:
                self._begin(self.every)
        self._news.set()

    def write(self, *, with_counts: bool = True) -> bool:
        """Write what is recorded by now, and say whether that was possible; if not, it is written later."""
        with self._writing:
            with self._lock:
                served, self._served = self._served, []
                counts = self._counts if with_counts else Counts()
                if with_counts:
                    self._counts = Counts()
            try:
                with transaction.atomic():
                    if counts:
                        store(counts)
                    if served:
                        ServedRun.objects.bulk_create(served, ignore_conflicts=True)
            except DatabaseError:
                logger.warning("usage could not be written, and is written later", exc_info=True)
                with self._lock:
                    self._served = [*served, *self._served][-MAX_UNWRITTEN:]
                    self._counts.add(counts)
                return False
            return True

    def _begin(self, every: float) -> None:
        self._writer = threading.Thread(
            target=self._write_always, args=[every], name="usage-writer", daemon=True
        )
        self._writer.start()
        # Processes that multiprocessing forks, as those of `serve` are, end without `atexit`.
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
            connections.give_back()
            if not is_written:
                time.sleep(SECONDS_AFTER_FAILURE)
            elif with_counts:
                counted_at = time.monotonic()
            if self._counts or self._served:
                self._news.set()


RECORDER: Final = Recorder()
"""That of this process."""
OBSERVER: Final = RECORDER.observe
"""What the application declares."""
