# a script, and no package
"""The cost of the Python client: reads from its cache, reads that the server confirms, following the log.

    EDITOR_URL=http://127.0.0.1:8000 EDITOR_API_KEY=ek_… python -m benchmarks.client [REPETITIONS]

The first is compared with a target of 20 µs. The second is compared with the same conditional
request sent by httpx2 alone over the very same connection, which answers 304 as well; the target is
a factor of at most 1.1. Both take turns in random order. The processor time is shown next
to the clock time, because other load does not distort it.

For a client that follows the log: a read from memory, and the time from sending a publish until continuous
reads show it.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from functools import partial
from itertools import count
from statistics import median, quantiles
from typing import Literal

from editor_client import Client

from benchmarks.timing import in_turns, milliseconds

AGENT = "support"
WARM_UP = 50
CACHED_READS = 1000
HELD_READS = 100
ROUNDS = 50
PUBLISHES = {"poll": 20, "stream": 100}
TARGET_MICROSECONDS, TARGET_FACTOR = 20, 1.1


def cached(url: str, key: str) -> None:
    """Measure reads without a request to the server."""
    with Client(url, api_key=key, max_age=3600) as client:
        client.get_agent(AGENT).details()

        def read_many() -> None:
            for _ in range(CACHED_READS):
                client.get_agent(AGENT).details()

        rounds = [milliseconds(read_many) for _ in range(ROUNDS)]
    for position, name in enumerate(("clock", "processor")):
        cost = median(one[position] for one in rounds) / CACHED_READS * 1e3
        print(f"cached       {name:9}  {cost:7.1f} µs (target: under {TARGET_MICROSECONDS})")


def revalidated(url: str, key: str, repetitions: int) -> None:
    """Measure reads that the server answers with 304, against httpx2 alone."""
    with Client(url, api_key=key) as client:
        found = client.get_agent(AGENT).details()
        http, headers = client._http, {**client._headers, "If-None-Match": found.etag or ""}  # noqa: SLF001
        address = f"{client.address}/agents/{AGENT}?form=parts"

        def alone() -> None:
            if http.get(address, headers=headers).status_code != 304:
                raise RuntimeError("the agent changes while it is measured")

        contenders: list[Callable[[], object]] = [alone, lambda: client.get_agent(AGENT).details()]
        for work in contenders * WARM_UP:
            work()
        times = in_turns(contenders, repetitions)
    (bare, bare_cpu), (ours, ours_cpu) = (
        [sorted(one[position] * 1e3 for one in measured) for position in range(2)] for measured in times
    )
    print(
        f"revalidated  clock      httpx2 {median(bare):7.0f} µs   client {median(ours):7.0f} µs   "
        f"factor {median(ours) / median(bare):4.2f} (target: at most {TARGET_FACTOR})"
    )
    tenth = quantiles(bare, n=10)[0], quantiles(ours, n=10)[0]
    print(
        f"  the quickest tenth    httpx2 {tenth[0]:7.0f} µs   client {tenth[1]:7.0f} µs   "
        f"factor {tenth[1] / tenth[0]:4.2f}"
    )
    print(
        f"  processor             httpx2 {median(bare_cpu):7.0f} µs   client {median(ours_cpu):7.0f} µs   "
        "of this process alone, without the server and the wait for it"
    )


def held(url: str, key: str) -> None:
    """Measure reads of a client that follows the log, in repeated contexts and in new ones."""
    numbers = count()
    block = {"type": "prompt_block", "content": "Hello {{ name || 'you' }}.", "rules": None}
    with Client(url, api_key=key, updates="stream") as client:
        created = client.create_stored_agent(
            id=f"bench-{uuid.uuid4().hex}", name="Held", instructions=[block]
        )
        agent = client.get_agent(created.id)
        kinds: dict[str, Callable[[], object]] = {
            "no context": agent.details,
            "the same context": lambda: agent.details(request_context={"name": "ada"}),
            "a new context": lambda: agent.details(request_context={"name": next(numbers)}),
        }
        for name, read in kinds.items():
            read()
            rounds = [milliseconds(partial(_repeat, read, HELD_READS)) for _ in range(ROUNDS)]
            clock, cpu = (median(one[position] for one in rounds) / HELD_READS * 1e3 for position in range(2))
            print(f"held         {name:17}  clock {clock:6.1f} µs   processor {cpu:6.1f} µs")
        client.get_stored_agent(created.id).delete()


def _repeat(read: Callable[[], object], times: int) -> None:
    for _ in range(times):
        read()


def heard(url: str, key: str, updates: Literal["poll", "stream"]) -> None:
    """Measure the time until a publish shows in the next read."""
    with Client(url, api_key=key) as admin, Client(url, api_key=key, updates=updates) as client:
        created = admin.create_stored_agent(id=f"bench-{uuid.uuid4().hex}", name="Heard", instructions="0")
        agent, stored = client.get_agent(created.id), admin.get_stored_agent(created.id)
        agent.details()
        waits = []
        for number in range(1, PUBLISHES[updates] + 1):
            began = time.perf_counter()
            stored.update(instructions=str(number), auto_publish=True)
            while agent.details().instructions != str(number):
                time.sleep(0.0005)
            waits.append((time.perf_counter() - began) * 1e3)
        stored.delete()
    print(
        f"heard        {updates:9}  median {median(waits):6.0f} ms   "
        f"p99 {quantiles(waits, n=100)[98]:6.0f} ms   "
        f"from the request that publishes to the read, {len(waits)} times"
    )


if __name__ == "__main__":
    where = os.environ["EDITOR_URL"], os.environ["EDITOR_API_KEY"]
    cached(*where)
    revalidated(*where, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    held(*where)
    heard(*where, "poll")
    heard(*where, "stream")
