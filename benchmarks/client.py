# a script, and no package
"""What the Python client costs: a read from its cache, and a read that the server confirms.

    EDITOR_URL=http://127.0.0.1:8000 EDITOR_API_KEY=ek_… python -m benchmarks.client [REPETITIONS]

The first is compared with a target of 20 µs. The second is compared with the same conditional
request sent by httpx alone over the very same connection, which answers 304 as well; the target is
a factor of at most 1.1. Both take turns in random order. Next to the time on the clock
stands that of the processor, which other load does not distort.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from statistics import median, quantiles

from editor_client import Client

from benchmarks.timing import in_turns, milliseconds

AGENT = "support"
WARM_UP = 50
CACHED_READS = 1000
ROUNDS = 50
TARGET_MICROSECONDS, TARGET_FACTOR = 20, 1.1


def cached(url: str, key: str) -> None:
    """Measure reads that the server is not asked for."""
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
    """Measure reads that the server answers with 304, against httpx alone."""
    with Client(url, api_key=key) as client:
        held = client.get_agent(AGENT).details()
        http, headers = client._http, {"If-None-Match": held.etag or ""}  # noqa: SLF001
        address = f"{client.address}/agents/{AGENT}"

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
        f"revalidated  clock      httpx {median(bare):7.0f} µs   client {median(ours):7.0f} µs   "
        f"factor {median(ours) / median(bare):4.2f} (target: at most {TARGET_FACTOR})"
    )
    tenth = quantiles(bare, n=10)[0], quantiles(ours, n=10)[0]
    print(
        f"  the quickest tenth    httpx {tenth[0]:7.0f} µs   client {tenth[1]:7.0f} µs   "
        f"factor {tenth[1] / tenth[0]:4.2f}"
    )
    print(
        f"  processor             httpx {median(bare_cpu):7.0f} µs   client {median(ours_cpu):7.0f} µs   "
        "of this process alone, without the server and the wait for it"
    )


if __name__ == "__main__":
    where = os.environ["EDITOR_URL"], os.environ["EDITOR_API_KEY"]
    cached(*where)
    revalidated(*where, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
