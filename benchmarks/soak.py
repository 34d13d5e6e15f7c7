"""How long reads take over minutes, while people save and agents run.

    DATABASE_URL=… SECRET_KEY=… python -m benchmarks.soak [MINUTES]

Two workers; four readers with 50 reads a second each, of 2 000 random agents; three writers, each of whom
saves drafts in succession and publishes every fourth; and two concurrent runs. Every reader is a separate
process, so that the measuring program does not limit the result. The target is a p99 of at most 15 ms.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import quantiles

from benchmarks.serving import Bench
from tests.support.remote import RemoteApi

AGENTS = 2_000
READERS, WRITERS, RUNS = 4, 3, 2
READ_EVERY = 0.02  # seconds
WARM_UP = 10.0  # seconds
TARGET = 15.0  # milliseconds


def api(url: str, key: str) -> RemoteApi:
    """Return a caller with its own connection."""
    return RemoteApi(key=key, address=url.removeprefix("http://"))


def read(url: str, key: str, until: float) -> list[float]:
    """Read random agents; return the milliseconds of each read after the warm-up."""
    caller, took = api(url, key), []
    measured = time.time() + WARM_UP
    while time.time() < until:
        begun = time.perf_counter()
        answer = caller.get(f"/agents/s{random.randrange(AGENTS)}")
        spent = time.perf_counter() - begun
        assert answer.status == 200, answer
        if time.time() > measured:
            took.append(spent * 1000)
        time.sleep(max(0.0, READ_EVERY - spent))
    return took


def write(url: str, key: str, until: float) -> list[float]:
    """Save and publish; return the milliseconds of each save."""
    caller, took = api(url, key), []
    while time.time() < until:
        begun = time.perf_counter()
        body = {"instructions": f"Be brief. {begun}", "autoPublish": len(took) % 4 == 3}
        answer = caller.patch(f"/stored/agents/s{random.randrange(AGENTS)}", body)
        assert answer.status == 200, answer
        took.append((time.perf_counter() - begun) * 1000)
    return took


def run(url: str, key: str, until: float) -> list[float]:
    """Run an agent repeatedly; return the milliseconds of each run."""
    caller, took = api(url, key), []
    while time.time() < until:
        begun = time.perf_counter()
        answer = caller.post(f"/agents/s{random.randrange(AGENTS)}/generate", {"messages": "Hello."})
        assert answer.status == 200, answer
        took.append((time.perf_counter() - begun) * 1000)
    return took


def lines(url: str, key: str, minutes: float) -> Iterator[str]:
    """Yield a line for each type of request."""
    until = time.time() + minutes * 60
    parts = {"reads": (read, READERS), "saves": (write, WRITERS), "runs": (run, RUNS)}
    with ProcessPoolExecutor(READERS + WRITERS + RUNS) as processes:
        asked = {
            name: [processes.submit(work, url, key, until) for _ in range(number)]
            for name, (work, number) in parts.items()
        }
        for name, futures in asked.items():
            took = [one for future in futures for one in future.result()]
            cuts = quantiles(took, n=1000)
            target = f"   (target: p99 at most {TARGET:.0f} ms)" if name == "reads" else ""
            yield (
                f"{name:6}{len(took):8,} in {minutes:g} minutes   median {cuts[499]:6.1f} ms   "
                f"p99 {cuts[989]:6.1f} ms   p99.9 {cuts[998]:6.1f} ms{target}"
            )


def main(minutes: float) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        url = os.environ["DATABASE_URL"]
        bench = Bench(name="soak", folder=Path(folder), database_url=url)
        bench.fill("s", AGENTS, 2)
        with bench.serving("--workers", "2") as service:
            for line in lines(service.url, bench.key, minutes):
                print(line, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8)
