"""The event loop for synchronous calls: one thread per process, created when needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any, TypeVar

from versioning.runtime.providers import Providers

_Value = TypeVar("_Value")


class BackgroundLoop:
    """An event loop in its own thread, with the connections that belong to it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.providers = Providers()
        Thread(target=self.loop.run_forever, name="versioning.runtime", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Run the coroutine and return its result; must not be called from the loop's own thread."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            # Interrupting the caller also ends the model call.
            future.cancel()
            raise

    def refuse_itself(self) -> None:
        """Raise `RuntimeError` in the loop's own thread, which would wait for itself for ever."""
        if asyncio._get_running_loop() is self.loop:  # noqa: SLF001  # unlike its public sister it does not raise
            raise RuntimeError(
                "An asynchronous tool may not call generate() or stream(): use agenerate() or astream()."
            )


class _Process:
    """The background loop of this process, once there is one."""

    lock: Lock
    background: BackgroundLoop | None

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start afresh after a fork: the child has no such thread, and nobody would release a held lock."""
        self.lock = Lock()
        self.background = None


_process = _Process()


def background_loop() -> BackgroundLoop:
    """Return the background loop of this process."""
    with _process.lock:
        if _process.background is None:
            _process.background = BackgroundLoop()
        return _process.background


os.register_at_fork(after_in_child=_process.forget)
