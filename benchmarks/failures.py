"""What callers notice while one part of an installation after the other is killed.

    python -m benchmarks.failures [SECONDS]

The parts of compose.yaml as processes on this machine: nginx, two `serve`, `serve_events`, `work`, and a
PostgreSQL with a streaming replica. Meanwhile four callers read agents, two save and publish, one listens to
the events, and a receiver gets webhooks. A failed request is one without a 2xx, and is not retried.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

from benchmarks.callers import TIMEOUT, Callers
from benchmarks.installation import AGENTS, Installation, running
from tests.support.receiver import Receiver, receiving

READERS, WRITERS = 4, 2
PATIENCE = 180.0
"""Seconds to wait for the last webhook."""
_POSITIONS = "SELECT DISTINCT position FROM versioning_event WHERE resource_kind = 'agent'"


def phases(parts: Installation) -> dict[str, Callable[[], None]]:
    """Return what is done to the parts, in turn."""
    return {
        "nothing": lambda: None,
        "one of two serve killed": partial(parts.kill, "one"),
        "the other serve killed": partial(parts.kill, "two"),
        "serve_events killed": partial(parts.kill, "events"),
        "work killed": partial(parts.kill, "work"),
        "nginx killed": partial(parts.kill, "nginx"),
        "replica 5 s behind": parts.pause_replica,
        "replica killed": parts.kill_replica,
        "primary restarted": parts.restart_primary,
    }


def delivered(receiver: Receiver) -> int:
    """Return how many messages have come; one that was sent twice counts once."""
    return len({message.id for message in list(receiver.messages)})


def measure(parts: Installation, callers: Callers, receiver: Receiver, seconds: float) -> None:
    """Do everything in turn, and print a line for each."""
    for what, do in phases(parts).items():
        callers.begin_phase()
        until = time.monotonic() + seconds
        do()
        time.sleep(max(0.0, until - time.monotonic()))
        late = callers.published - delivered(receiver)
        print(f"{what:26}{callers.phase()}   webhooks to come {late}", flush=True)


def main(seconds: float) -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory() as name,
        receiving() as receiver,
        running(Path(name)) as parts,
    ):
        callers = Callers(parts.url, parts.key, AGENTS)
        webhook = {"workspaceId": "default", "url": receiver.url, "eventTypes": ["agent.published"]}
        callers.send("POST", "/api/webhooks", webhook)
        works = [callers.read] * READERS + [callers.write] * WRITERS + [callers.listen]
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(3)
        measure(parts, callers, receiver, seconds)
        ended = time.monotonic()
        callers.is_over.set()
        while delivered(receiver) < callers.published and time.monotonic() < ended + PATIENCE:
            time.sleep(0.2)
        late = time.monotonic() - ended
        for thread in threads:
            thread.join(TIMEOUT)
        sent = delivered(receiver)
        print(f"published {callers.published:,}; by webhook {sent:,}, the last {late:.0f} s later")
        with psycopg.connect(parts.primary) as server:
            positions = {row[0] for row in server.execute(_POSITIONS)}
        heard = callers.heard
        missed = len({position for position in positions if min(heard) < position < max(heard)} - heard)
        print(f"positions heard on the stream {len(heard):,}, missed {missed}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 15)
