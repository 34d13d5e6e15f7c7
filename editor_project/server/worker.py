"""A worker process of `manage.py serve`: its start and its end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from granian import _signals
from granian._granian import CallbackScheduler, WorkerSignal
from granian._signals import set_loop_signals
from granian.server import mp

from editor_project import metrics, traces
from editor_project.server import connections
from editor_project.server.gateway import Application, Gateway
from editor_project.server.processors import Processors

TICK: Final = 1.0
"""Seconds between checks of the parent and the processor."""

GRACE: Final = 2.0
"""Seconds for which a worker whose parent has ended may finish its requests."""

OBJECTS_BETWEEN_COLLECTIONS: Final = 5000
"""Garbage is collected after this many more allocations than deallocations; Python's default is 700."""


class HandOver(CallbackScheduler):
    """Passes each request to a function in the thread in which it arrives; granian would create a task."""

    def __new__(cls, loop: asyncio.AbstractEventLoop, _take: Callable[[Any], None]) -> Self:
        """Skip the parts that are needed only for tasks."""
        compiled: Any = super()
        instance: Self = compiled.__new__(cls, loop, None, None, None, None)
        return instance

    def __init__(self, _loop: asyncio.AbstractEventLoop, take: Callable[[Any], None]) -> None:
        super().__init__()
        self._schedule_fn = take


class Served(NamedTuple):
    """The application of a worker, and its limits."""

    application: Callable[[], Application]
    """Returns the WSGI application; called in the worker."""
    threads: int
    streams: int
    """The maximum number of open asynchronous streams."""
    preload: Callable[[], None] | None = None
    """Called in each worker in the background, shortly after its start."""


def work(
    parent: int,
    workers: int,
    served: Served,
    processors: Processors,
    worker: int,
    *arguments: Any,
) -> None:
    """Serve as the worker with this number until a signal or the end of the parent.

    It starts the same parts as granian's ASGI interface, but passes requests to the application in another
    way; `arguments` are granian's own.
    """
    processors.take(worker, workers)
    threading.Thread(target=_watch, args=[parent, processors], daemon=True).start()

    gateways: list[Gateway] = []

    def hand_over(loop: asyncio.AbstractEventLoop, *_args: Any, **_options: Any) -> HandOver:
        metrics.enable()
        traces.enable()
        gateway = Gateway(served.application(), loop, served.threads, served.streams)
        gateways.append(gateway)
        _collect_seldom()
        if served.preload is not None:
            threading.Thread(target=_preload, args=[served.preload], daemon=True).start()
        return HandOver(loop, gateway.take)

    def signals(loop: asyncio.AbstractEventLoop) -> WorkerSignal:
        shutdown: WorkerSignal = set_loop_signals(loop)  # type: ignore[no-untyped-call]

        def end() -> None:
            for gateway in gateways:  # granian waits for all answers in progress
                gateway.end_streams()
            shutdown.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
        return shutdown

    # The two differences.
    mp._new_cbscheduler = hand_over  # type: ignore[attr-defined]  # noqa: SLF001
    _signals.set_loop_signals = signals
    name, application, sockets, *rest = arguments
    spawn = mp.MPServer._spawn_asgi_worker  # noqa: SLF001  granian's own start
    spawn(worker, name, application, connections.that_ends(sockets), *rest)
    traces.flush()


def _preload(preload: Callable[[], None]) -> None:
    """Load the parts that the first requests do not need, once these are answered."""
    time.sleep(TICK)
    preload()
    _collect_seldom()


def _collect_seldom() -> None:
    """Exclude the objects loaded so far from Python's garbage collection, and run it less often.

    These are 170 000 objects that are never freed. Traversing them takes tens of milliseconds, in which no
    request is answered; this saves 6 % of the processor time of a save.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


def _watch(parent: int, processors: Processors) -> None:
    """Check once a second whether the parent exists and the processor is free enough.

    A worker without its parent would continue to serve: nothing could stop it, and the next `serve` would
    share the port with it. Linux can send a signal when a parent dies, but means the death of the thread that
    forked; checking the parent's id works everywhere.
    """
    while os.getppid() == parent:
        time.sleep(TICK)
        with suppress(OSError):  # even without /proc, the parent must be watched
            processors.reconsider()
        metrics.sample()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
