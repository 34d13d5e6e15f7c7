"""A worker process of `manage.py serve`: how it begins, and when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

from django.core.servers.basehttp import get_internal_wsgi_application
from granian._granian import CallbackScheduler
from granian.server import mp

from editor_project.server import connections
from editor_project.server.gateway import Gateway
from editor_project.server.processors import Processors

TICK: Final = 1.0
"""Seconds between two looks at what is around the worker."""

GRACE: Final = 2.0
"""Seconds in which a worker whose parent is gone may answer what it has begun."""


class HandOver(CallbackScheduler):
    """Gives each request to a function, in the thread in which it comes; granian's own makes a task of it."""

    def __new__(cls, loop: asyncio.AbstractEventLoop, _take: Callable[[Any], None]) -> Self:
        """Leave out what is needed for tasks alone."""
        compiled: Any = super()
        made: Self = compiled.__new__(cls, loop, None, None, None, None)
        return made

    def __init__(self, _loop: asyncio.AbstractEventLoop, take: Callable[[Any], None]) -> None:
        super().__init__()
        self._schedule_fn = take


def work(
    parent: int,
    workers: int,
    threads: int,
    processors: Processors,
    worker: int,
    *arguments: Any,
) -> None:
    """Serve as one of so many workers, the one of this number, until a signal or the parent's end.

    What granian starts for its ASGI interface is started, with another way from a request to the
    application; `arguments` are granian's own.
    """
    processors.take(worker, workers)
    threading.Thread(target=_watch, args=[parent, processors], daemon=True).start()

    def hand_over(loop: asyncio.AbstractEventLoop, *_given: Any, **_options: Any) -> HandOver:
        return HandOver(loop, Gateway(get_internal_wsgi_application(), loop, threads).take)

    # The one thing that is to be different.
    mp._new_cbscheduler = hand_over  # type: ignore[attr-defined]  # noqa: SLF001
    name, application, sockets, *others = arguments
    spawn = mp.MPServer._spawn_asgi_worker  # noqa: SLF001  what granian starts by itself
    spawn(worker, name, application, connections.that_ends(sockets), *others)


def _watch(parent: int, processors: Processors) -> None:
    """Look around once a second: is there a parent, is the processor ours.

    A worker without its parent would go on serving: nobody could stop it, and the next `serve` would
    share the port with it. Linux can send a signal at a parent's death, but means the death of the
    thread that has forked; asking who the parent is does everywhere.
    """
    while os.getppid() == parent:
        time.sleep(TICK)
        with suppress(OSError):  # whatever becomes of /proc, the parent is to be watched
            processors.reconsider()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)
