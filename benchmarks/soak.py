"""How reads, memory and connections are over minutes, while everything happens at once.

    DATABASE_URL=… SECRET_KEY=… python -m benchmarks.soak [MINUTES]

Two workers, with the worker for webhooks; four readers with 50 reads a second each, of 2 000 random agents;
three writers, each of whom saves drafts in succession and publishes every fourth; two concurrent runs; one
evaluation of 20 items after the other; ten streams of events; and a webhook for what is published. Every
reader is a separate process, so that the measuring program does not limit the result. The target is a p99 of
at most 15 ms. A line for each tenth of the time says what the server's processes take by then.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles

import psycopg

from benchmarks.serving import Bench
from tests.support.receiver import Receiver, receiving
from tests.support.remote import RemoteApi
from tests.support.service import Service

AGENTS = 2_000
READERS, WRITERS, RUNS, EVALUATIONS, STREAMS = 4, 3, 2, 1, 10
ITEMS = 20
SCORER = {"id": "brief", "name": "Brief", "type": "contains", "config": {"values": ["e"]}}
DATASET = {"name": "Greetings", "scorerIds": ["brief"]}
READ_EVERY = 0.02  # seconds
WARM_UP = 10.0  # seconds
TARGET = 15.0  # milliseconds
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"


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


def evaluate(url: str, key: str, until: float) -> list[float]:
    """Evaluate an agent repeatedly; return the milliseconds until each experiment was complete."""
    caller, took = api(url, key), []
    made = caller.post("/datasets", DATASET)
    assert made.status == 201, made
    dataset = f"/datasets/{made.body['id']}"
    items = [{"input": f"Hello {number}."} for number in range(ITEMS)]
    added = caller.post(f"{dataset}/items/batch", {"items": items})
    assert added.status == 201, added
    while time.time() < until:
        begun = time.perf_counter()
        target = {"targetType": "agent", "targetId": f"s{random.randrange(AGENTS)}"}
        started = caller.post(f"{dataset}/experiments", target)
        assert started.status == 201, started
        path = f"{dataset}/experiments/{started.body['id']}"
        while (state := caller.get(path).body)["status"] in ("pending", "running"):
            time.sleep(0.05)
        assert (state["status"], state["succeededCount"]) == ("completed", ITEMS), state
        took.append((time.perf_counter() - begun) * 1000)
    return took


def listen(url: str, key: str, until: float) -> list[float]:
    """Listen to the events; return how many milliseconds after each event it came."""
    took = []
    headers = {"Authorization": f"Bearer {key}"}
    while time.time() < until:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
        connection.request("GET", "/api/events/stream?type=agent.published", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.status
        while time.time() < until and (line := answer.readline()):
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                took.append((time.time() - datetime.fromisoformat(event["createdAt"]).timestamp()) * 1000)
        connection.close()
    return took


def lines(url: str, key: str, minutes: float, state: Callable[[], str]) -> Iterator[str]:
    """Yield what the server takes while it is measured, and then a line for each type of request."""
    until = time.time() + minutes * 60
    parts = {
        "reads": (read, READERS),
        "saves": (write, WRITERS),
        "runs": (run, RUNS),
        "evaluations": (evaluate, EVALUATIONS),
        "events": (listen, STREAMS),
    }
    with ProcessPoolExecutor(sum(number for _, number in parts.values())) as processes:
        asked = {
            name: [processes.submit(work, url, key, until) for _ in range(number)]
            for name, (work, number) in parts.items()
        }
        for part in range(1, 11):
            time.sleep(max(0.0, until - minutes * 6 * (10 - part) - time.time()))
            yield f"after {minutes * part / 10:5.1f} minutes   {state()}"
        for name, futures in asked.items():
            yield summary(name, [future.result() for future in futures], minutes)


def summary(name: str, took: Sequence[Sequence[float]], minutes: float) -> str:
    """Return a line about the milliseconds of one type of request, in order for each process."""
    cuts = quantiles([one for part in took for one in part], n=1000)
    begun = median(one for part in took for one in part[: len(part) // 10 + 1])
    ended = median(one for part in took for one in part[-len(part) // 10 :])
    target = f"   (target: p99 at most {TARGET:.0f} ms)" if name == "reads" else ""
    return (
        f"{name:11}{sum(map(len, took)):8,} in {minutes:g} minutes   median {cuts[499]:6.1f} ms"
        f" (first tenth {begun:.1f}, last {ended:.1f})"
        f"   p99 {cuts[989]:6.1f} ms   p99.9 {cuts[998]:6.1f} ms{target}"
    )


def state_of(service: Service, database_url: str, receiver: Receiver) -> str:
    """Return the memory, the open files and the connections of the processes of a server."""
    assert service.process is not None
    parent = service.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    processes = [Path(f"/proc/{one}") for one in (parent, *children)]
    memory = [
        int((process / "status").read_text().split("VmRSS:")[1].split()[0]) // 1024 for process in processes
    ]
    files = [len(list((process / "fd").iterdir())) for process in processes]
    found = f"MiB {memory}   files {files}   webhooks {len(receiver.messages):,}"
    if database_url.startswith("postgres"):
        with psycopg.connect(database_url) as server:
            [number] = server.execute(_CONNECTIONS).fetchone() or [0]
        found += f"   connections {number}"
    return found


def main(minutes: float) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, receiving() as receiver:
        url = os.environ["DATABASE_URL"]
        bench = Bench(name="soak", folder=Path(folder), database_url=url)
        bench.fill("s", AGENTS, 2)
        with bench.serving("--workers", "2", EDITOR_WEBHOOK_ALLOW="127.0.0.1") as service:
            scorer = api(service.url, bench.key).post("/stored/scorers", SCORER)
            assert scorer.status == 201, scorer
            hook = {"workspaceId": "default", "url": receiver.url, "eventTypes": ["agent.published"]}
            assert api(service.url, bench.key).post("/webhooks", hook).status == 201
            for line in lines(service.url, bench.key, minutes, lambda: state_of(service, url, receiver)):
                print(line, flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8)
