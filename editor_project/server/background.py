"""The worker that `manage.py serve` runs, in addition to the processes that answer requests."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import signal
import stat
import threading
import time
from types import TracebackType
from typing import Final, Self

from django.db import connections

from editor_project import metrics, traces
from versioning.worker.running import END_SECONDS, Worker

LONGEST_PAUSE: Final = 30.0
"""The maximum seconds before a worker that keeps ending is started again."""
_STEADY_AFTER: Final = 60.0
_LATE: Final = 2.0
_HIGHEST: Final = 1024  # the server has few files open in this process

logger = logging.getLogger(__name__)


class BackgroundWorker:
    """A child process that does due work during the block; it is restarted when it ends.

    It is forked, as granian forks its own workers, so the memory of Django and the framework is shared.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._process = _start_process()
        self._watch = threading.Thread(target=self._restart, name="background worker", daemon=True)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._process.terminate()
        self._watch.join(END_SECONDS + _LATE)
        if self._watch.is_alive():
            self._process.kill()

    def _restart(self) -> None:
        """Wait for the end of the process, and start another one unless it was asked to stop."""
        pause = 1.0
        while True:
            started_at = time.monotonic()
            self._process.join()
            if self._stopping.is_set():
                return
            logger.error("the worker exited with %s and is restarted", self._process.exitcode)
            pause = 1.0 if time.monotonic() - started_at > _STEADY_AFTER else min(2 * pause, LONGEST_PAUSE)
            if self._stopping.wait(pause):
                return
            self._process = _start_process()
            if self._stopping.is_set():
                self._process.terminate()


def _start_process() -> multiprocessing.process.BaseProcess:
    process = multiprocessing.get_context("fork").Process(target=_work, args=[os.getpid()])
    process.start()
    return process


def _work(parent: int) -> None:
    """Run as the worker until a signal arrives or the parent has ended.

    A worker without its parent would be unknown to the next `serve`.
    """
    _leave_sockets()
    connections.close_all()
    metrics.enable()
    traces.enable()
    worker = Worker()
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    # Ctrl-C reaches all processes; the parent decides when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ended = worker.run(lambda: os.getppid() == parent)
    traces.flush()
    os._exit(0 if ended else 1)


def _leave_sockets() -> None:
    """Close the server's sockets, which a restarted process has inherited.

    Their descriptors stay reserved, so that code with a reference to one does not close another file.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _HIGHEST)):
        try:
            is_socket = stat.S_ISSOCK(os.fstat(number).st_mode)
        except OSError:
            continue
        if is_socket:
            os.dup2(nothing, number)
