"""Saves during runs, and the first run of a process.

    python -m benchmarks.runs [SECONDS]      # of each measurement, 10 when absent

A stub of a provider on 127.0.0.1 answers after half a minute. One client saves drafts: alone, and while
60 and 600 callers ask for a run and try again as `Retry-After` says. The processor time is the worker's, for
each save.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from threading import Event, Lock, Thread

from benchmarks.serving import Bench
from editor_project.server import connections
from tests.support.postgres import throwaway_postgres
from tests.support.service import Service

CALLERS = (0, 60, 600)
MODEL_SECONDS = 30.0
SETTLE = 5.0
"""Seconds between the first runs and the measurement."""
GIVE_UP = 10.0
"""Seconds after which a save counts as unanswered."""
AGENTS = 20
FIRST_RUNS = 3


class Provider(ThreadingHTTPServer):
    """Answers chat completions after `seconds`, or when the benchmark is over."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    seconds = 0.0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.over = Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Completions(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.over.wait(self.server.seconds)
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice]}
        data = json.dumps(answer).encode()
        with suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


class Callers:
    """Callers who ask for runs until they are stopped."""

    def __init__(self, service: Service, key: str) -> None:
        self._service, self._key = service, key
        self._over = Event()
        self._lock = Lock()
        self.statuses: Counter[int] = Counter()

    @contextmanager
    def calling(self, number: int) -> Iterator[None]:
        """Let so many call during the block."""
        threads = [Thread(target=self._call, daemon=True) for _ in range(number)]
        for thread in threads:
            thread.start()
            time.sleep(0.002)
        try:
            yield
        finally:
            self._over.set()

    def _call(self) -> None:
        while not self._over.is_set():
            connection = connect(self._service, MODEL_SECONDS * 4)
            wait = 0.0
            with suppress(OSError, HTTPException):
                answer = send(connection, self._key, "POST", "/api/agents/r0/generate", {"messages": "Hi"})
                with self._lock:
                    self.statuses[answer[0]] += 1
                wait = answer[1]
            connection.close()
            self._over.wait(wait)


def connect(service: Service, timeout: float) -> HTTPConnection:
    """Return an unopened connection."""
    return HTTPConnection(service.url.removeprefix("http://"), timeout=timeout)


def send(connection: HTTPConnection, key: str, method: str, path: str, body: object) -> tuple[int, float]:
    """Send a request; return the status, and the seconds after which to try again."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status, float(answer.headers.get("Retry-After", 0))


def save_milliseconds(service: Service, key: str, seconds: float) -> list[float]:
    """Save drafts one after the other, and return how long each took; an unanswered one takes `GIVE_UP`."""
    took = []
    until = time.monotonic() + seconds
    connection = connect(service, GIVE_UP)
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            body = {"instructions": f"Be brief. {time.monotonic()}"}
            status, _ = send(
                connection, key, "PATCH", f"/api/stored/agents/r{random.randrange(1, AGENTS)}", body
            )
            if status != 200:
                raise RuntimeError(f"a save was answered with {status}")
        except TimeoutError:
            connection.close()
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.005)
    connection.close()
    return took


def processor_seconds(service: Service) -> float:
    """Return the processor time of the worker so far."""
    assert service.process is not None
    parent = service.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    times = Path(f"/proc/{children[-1]}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / 100


def saves_beside_runs(bench: Bench, provider: Provider, key: str) -> None:
    """Print how long saves take alone and during runs."""
    provider.seconds = MODEL_SECONDS
    alone = 0.0
    for number in CALLERS:
        with ExitStack() as stack:
            service = stack.enter_context(bench.serving(OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="x"))
            stack.callback(service.kill)  # its runs would keep it from ending
            save_milliseconds(service, key, 2)  # warms up
            callers = Callers(service, key)
            stack.enter_context(callers.calling(number))
            time.sleep(SETTLE if number else 0)
            before = processor_seconds(service)
            took = save_milliseconds(service, key, bench.seconds)
            used = (processor_seconds(service) - before) * 1000 / len(took)
            late = quantiles(took, n=100)[-1] if len(took) > 1 else took[0]
            alone = alone or late
            unanswered = sum(one >= GIVE_UP * 1000 for one in took)
            print(
                f"{bench.name:11}{number:5} runs{len(took):7} saves   median {median(took):8.1f} ms   "
                f"p99 {late:8.1f} ms = {late / alone:6.2f} ×   processor {used:6.1f} ms   "
                f"unanswered {unanswered}   {dict(callers.statuses) or ''}",
                flush=True,
            )


def first_runs(bench: Bench, provider: Provider, key: str) -> None:
    """Print how long a process takes to be ready, and its first run three seconds later and at once."""
    provider.seconds = 0.0
    for pause in (0.0, 5.0):
        ready, first, second = [], [], []
        for _ in range(FIRST_RUNS):
            began = time.perf_counter()
            with bench.serving(OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="x") as service:
                ready.append(time.perf_counter() - began)
                time.sleep(pause)
                for times in (first, second):
                    began = time.perf_counter()
                    connection = connect(service, 60)
                    send(connection, key, "POST", "/api/agents/r0/generate", {"messages": "Hi"})
                    connection.close()
                    times.append(time.perf_counter() - began)
        print(
            f"{bench.name:11}ready after {median(ready):5.2f} s   first run, {pause:.0f} s later, "
            f"{median(first):6.3f} s   second run {median(second):6.3f} s",
            flush=True,
        )


def main(seconds: int) -> None:
    """Measure and print."""
    connections.possible(4096)  # this process, too, needs files for all connections
    provider = Provider()
    Thread(target=provider.serve_forever, daemon=True).start()
    for name in ("SQLite", "PostgreSQL"):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = f"sqlite:///{folder / 'bench.sqlite3'}"
            if name == "PostgreSQL":
                url = stack.enter_context(throwaway_postgres(fsync="on", full_page_writes="on"))
            bench = Bench(name=name, folder=folder, database_url=url, seconds=seconds)
            bench.fill("r", AGENTS, 1)
            model = {"provider": "openai", "name": "small"}
            with bench.serving() as service:
                connection = connect(service, GIVE_UP)
                body = {"model": model, "autoPublish": True}
                status, _ = send(connection, bench.key, "PATCH", "/api/stored/agents/r0", body)
                if status != 200:
                    raise RuntimeError(f"the agent could not be changed: {status}")
            first_runs(bench, provider, bench.key)
            saves_beside_runs(bench, provider, bench.key)
    provider.over.set()
    provider.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
