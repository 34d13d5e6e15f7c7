"""Many clients of `GET /events/stream` in one thread, which record when each event arrives."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import cycle, islice
from threading import Thread

_HEAD = (
    "GET /api/events/stream?type=agent.published HTTP/1.1\r\n"
    "Host: {host}\r\nAuthorization: Bearer {key}\r\n\r\n"
)
_AT_ONCE = 50  # how many open their streams at the same time
_DATA = b"data: "
SECONDS = 60


class Listeners:
    """Clients that listen."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        """How long each event took to reach each client, from just before its commit."""
        self.open = 0

    def wait_for(self, arrivals: int) -> None:
        """Wait until all clients together have received this many events; raises `RuntimeError`."""
        deadline = time.monotonic() + SECONDS
        while len(self.milliseconds) < arrivals:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(self.milliseconds)} of {arrivals} events have arrived")
            time.sleep(0.01)

    async def listen(self, address: str, keys: Sequence[str], number: int) -> None:
        """Open this many streams, distributed over the keys, and read them until cancelled."""
        doors = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(*(self._listen(address, key, doors) for key in islice(cycle(keys), number)))

    async def _listen(self, address: str, key: str, doors: asyncio.Semaphore) -> None:
        host, _, port = address.partition(":")
        async with doors:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(_HEAD.format(host=host, key=key).encode())
            status = await reader.readline()
            if b" 200 " not in status:
                raise RuntimeError(f"no stream: {status!r}")
            await reader.readuntil(b": ")  # the first comment
            self.open += 1
        while line := await reader.readline():
            if line.startswith(_DATA):
                arrived = time.time()
                self._note(arrived, line.removeprefix(_DATA))

    def _note(self, arrived: float, event: bytes) -> None:
        written = datetime.fromisoformat(json.loads(event)["createdAt"]).timestamp()
        self.milliseconds.append((arrived - written) * 1000)


@contextmanager
def listening(url: str, keys: Sequence[str], number: int) -> Iterator[Listeners]:
    """Let this many clients listen to the streams of a service, with the keys of several people."""
    listeners = Listeners()
    loop = asyncio.new_event_loop()
    work = loop.create_task(listeners.listen(url.removeprefix("http://"), keys, number))

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(work)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while listeners.open < number:
        if not thread.is_alive():
            raise RuntimeError(f"{listeners.open} of {number} streams are open")
        time.sleep(0.01)
    try:
        yield listeners
    finally:
        loop.call_soon_threadsafe(work.cancel)
        thread.join()
        loop.close()
