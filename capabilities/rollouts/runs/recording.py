"""Record what runs used and served: in memory first, and written periodically, so that no run waits.

Served versions are written soon, because feedback on them may follow at once in another process; usage is
collected for longer. A process that is killed loses its unwritten records.
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

from capabilities.rollouts.models import ServedRun
from capabilities.rollouts.runs.remembering import served_by
from capabilities.rollouts.usage.counting import Counts, counts_of, store
from versioning.models import connections
from versioning.runtime.observing import RunUse

SECONDS: Final = 0.25
"""How often served versions are written, while there are any."""
SECONDS_OF_COUNTS: Final = 2.0
"""How often usage is written."""
SECONDS_AFTER_FAILURE: Final = 5.0
"""How long to wait after the database could not be reached."""
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
        """Discard what is not written yet."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._counts = Counts()
        self._served: list[ServedRun] = []
        self._news = threading.Event()
        self._writer: threading.Thread | None = None

    def observe(self, use: RunUse) -> None:
        """Record a run that has ended."""
        served, used = served_by(use), counts_of(use, timezone.now())
        with self._lock:
            self._served.append(served)
            self._counts.add(used)
            if self._writer is None and self.every is not None:
                self._begin(self.every)
        self._news.set()

    def write(self, *, with_counts: bool = True) -> bool:
        """Write the records, and return whether that was possible; if not, they are written later."""
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
            connections.give_back()
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
