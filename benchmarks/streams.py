"""Streams of events: how soon they deliver an event, and their cost for reads."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from statistics import median, quantiles
from threading import Event, Thread

from benchmarks.listeners import listening
from benchmarks.measures import Row
from benchmarks.serving import Bench
from editor_project.server import connections
from tests.support.service import Service

STREAMS = (1, 100, 1000)
PUBLISHES = 40
PAUSES = (0.05, 0.35)
"""Seconds between two publishes, random relative to the interval at which the log is checked."""

READS = 2000
BESIDE = 200
"""The number of streams that `serve` itself has by default."""
PEOPLE = 10
"""The number of people whose keys the listeners use: each person may have a tenth of the streams."""


def streams(bench: Bench) -> Iterator[Row]:
    """The time from a commit to an open stream, and reads while a thousand are open."""
    bench.fill("e", 20, 1)
    limits = ("--workspace", "default", "--role", "admin")
    keys = [bench.manage("create_api_key", f"listener-{one}", *limits) for one in range(PEOPLE)]
    connections.possible(STREAMS[-1])  # this process, too, needs a file for each stream
    with bench.serving() as service, bench.serving("--streams", "2000", command="serve_events") as hub:
        for number in STREAMS:
            bench.note(f"{bench.name}: {number} streams")
            with listening(hub.url, keys, number) as listeners:
                publish(service, bench.key, PUBLISHES)
                listeners.wait_for(PUBLISHES * number)
            middle, late = figures(listeners.milliseconds)
            name = f"from commit to an open stream, {number:,} on `serve_events`"
            yield Row(bench.name, name, f"{middle:.0f} ms, p99 {late:.0f} ms", "≤ 500 ms", late <= 500)
        crowds = {"`serve_events`": (hub, STREAMS[-1]), "the same `serve`": (service, BESIDE)}
        yield from reads_beside(bench, service, keys, crowds)


def reads_beside(
    bench: Bench, service: Service, keys: Sequence[str], crowds: dict[str, tuple[Service, int]]
) -> Iterator[Row]:
    """Measure reads without streams and then with them, while versions are published."""
    with publishing(service, bench.key):
        alone = figures(reads(service, bench.key))
    yield Row(bench.name, "a read during publishes", shown(alone))
    for name, (hub, number) in crowds.items():
        with listening(hub.url, keys, number), publishing(service, bench.key):
            beside = figures(reads(service, bench.key))
        yield Row(bench.name, f"the same with {number:,} open streams on {name}", shown(beside))


def reads(service: Service, key: str) -> list[float]:
    """Read a published agent repeatedly; return the milliseconds of each read."""
    connection = connect(service)
    took = []
    for _ in range(READS):
        begun = time.perf_counter()
        connection.request("GET", "/api/agents/e0", headers={"Authorization": f"Bearer {key}"})
        connection.getresponse().read()
        took.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.001)
    connection.close()
    return took


@contextmanager
def publishing(service: Service, key: str) -> Iterator[None]:
    """Publish continuously during the block."""
    over = Event()

    def run() -> None:
        while not over.is_set():
            publish(service, key, 1)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def publish(service: Service, key: str, times: int) -> None:
    """Publish new versions of an agent, with pauses; raises `RuntimeError` on failure."""
    with ExitStack() as stack:
        connection = connect(service)
        stack.callback(connection.close)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        for _ in range(times):
            time.sleep(random.uniform(*PAUSES))
            body = json.dumps({"instructions": f"Be brief. {time.monotonic()}", "autoPublish": True})
            connection.request("PATCH", f"/api/stored/agents/e{random.randrange(1, 20)}", body, headers)
            answer = connection.getresponse()
            if answer.read() and answer.status != 200:
                raise RuntimeError(f"a publish was answered with {answer.status}")


def connect(service: Service) -> HTTPConnection:
    """Return an unopened connection."""
    return HTTPConnection(service.url.removeprefix("http://"))


def figures(milliseconds: list[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    return median(milliseconds), quantiles(milliseconds, n=100)[-1]


def shown(found: tuple[float, float]) -> str:
    """Return both formatted for the table."""
    return f"{found[0]:.2f} ms, p99 {found[1]:.2f} ms"
