"""What callers notice while one part of an installation after the other is killed.

    python -m benchmarks.failures [SECONDS]

The parts of compose.yaml as processes on this machine: nginx, two `serve`, `serve_events`, `work`, and a
PostgreSQL with a streaming replica. Meanwhile four callers read agents, two save and publish, one listens to
the events, and a receiver gets webhooks. A failed request is one without a 2xx; nobody tries again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from benchmarks.serving import ROOT, Bench, MeasuredService
from tests.support import nginx
from tests.support.ports import free_port, wait_for
from tests.support.postgres import programs, standby, throwaway_postgres
from tests.support.receiver import receiving

AGENTS = 500
READERS, WRITERS = 4, 2
PAUSE = 0.01
"""Seconds between two requests of a caller."""
DOWN = 3.0
"""Seconds for which a part is gone."""
TIMEOUT = 30.0
_POSITIONS = "SELECT DISTINCT position FROM versioning_event WHERE resource_kind = 'agent'"


@dataclass
class Callers:
    """The requests of all callers so far."""

    url: str
    key: str
    requests: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    """How the failed ones ended: a status, or an error of the connection."""
    failures: list[float] = field(default_factory=list)
    """When they ended."""
    slowest: float = 0.0
    published: int = 0
    heard: set[int] = field(default_factory=set)
    is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, began: float, outcome: str) -> None:
        """Count a request that began at a moment of the monotonic clock."""
        with self._lock:
            self.requests[what] += 1
            self.failed[what] += outcome != "ok"
            if outcome != "ok":
                self.outcomes[outcome] += 1
                self.failures.append(time.monotonic())
            self.slowest = max(self.slowest, time.monotonic() - began)

    def read(self) -> None:
        """Read agents."""

        def ask(send: Send) -> None:
            send("GET", f"/api/agents/f{random.randrange(AGENTS)}")

        self._call("reads", ask)

    def write(self) -> None:
        """Save agents and publish them."""

        def ask(send: Send) -> None:
            body = {"instructions": f"Be brief. {time.time()}", "autoPublish": True}
            if send("PATCH", f"/api/stored/agents/f{random.randrange(AGENTS)}", body):
                self.published += 1

        self._call("saves", ask)

    def _call(self, what: str, ask: Callable[[Send], None]) -> None:
        connection = self._connection()

        def send(method: str, path: str, body: object = None) -> bool:
            began, outcome = time.monotonic(), ""
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            try:
                connection.request(method, path, json.dumps(body) if body else None, headers)
                answer = connection.getresponse()
                answer.read()
                outcome = "ok" if answer.status == 200 else str(answer.status)
            except (OSError, HTTPException) as error:
                outcome = type(error).__name__
                connection.close()  # the next request opens it again
            self.note(what, began, outcome)
            return outcome == "ok"

        while not self.is_over.wait(PAUSE):
            ask(send)

    def listen(self) -> None:
        """Listen to the events, and go on after the last one when the stream ends."""
        last = "now"
        while not self.is_over.is_set():
            connection = self._connection()
            headers = {"Authorization": f"Bearer {self.key}"} | (
                {} if last == "now" else {"Last-Event-ID": last}
            )
            with suppress(OSError, HTTPException):
                path = "/api/events/stream" + ("?after=now" if last == "now" else "")
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                while answer.status == 200 and (line := answer.readline()) and not self.is_over.is_set():
                    if line.startswith(b"id:"):
                        last = line[3:].strip().decode()
                        self.heard.add(int(last))
            connection.close()
            self.is_over.wait(0.2)

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc, timeout=TIMEOUT)


Send = Callable[..., bool]


@dataclass(frozen=True)
class Parts:
    """The running parts."""

    services: dict[str, MeasuredService]
    work: Callable[[], subprocess.Popen[bytes]]
    worker: list[subprocess.Popen[bytes]]
    primary: str
    replica: str

    def kill(self, name: str) -> None:
        """Kill a service, and start it again."""
        self.services[name].kill()
        time.sleep(DOWN)
        self.services[name].start()

    def kill_worker(self) -> None:
        """Kill the worker, and start another one."""
        self.worker[0].kill()
        time.sleep(DOWN)
        self.worker[0] = self.work()

    def pause_replica(self) -> None:
        """Let the replica be behind."""
        with psycopg.connect(self.replica, autocommit=True) as server:
            server.execute("SELECT pg_wal_replay_pause()")
            time.sleep(5)
            server.execute("SELECT pg_wal_replay_resume()")

    def kill_replica(self) -> None:
        """Kill the replica, and start it again."""
        control(self.replica, DOWN)

    def restart_primary(self) -> None:
        """End the primary without warning, and start it again."""
        control(self.primary, 0)


def control(url: str, seconds: float) -> None:
    """End a server as a power failure would, and start it again after so many seconds."""
    with psycopg.connect(url) as server:
        [folder] = server.execute("SHOW data_directory").fetchone() or [""]
    owner = Path(folder).stat()

    def run(*arguments: str) -> None:
        subprocess.run(
            [programs() / "pg_ctl", "--pgdata", folder, "--wait", *arguments],
            cwd=folder,
            user=owner.st_uid,
            group=owner.st_gid,
            extra_groups=[],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    if not seconds:
        run("restart", "--mode=immediate")
        return
    options = Path(folder, "postmaster.opts").read_text().split(" ", 1)[1]
    run("stop", "--mode=immediate")
    time.sleep(seconds)
    run("start", "--options", options.replace('"', "'"))


@contextmanager
def started(folder: Path) -> Iterator[tuple[Bench, Parts, str]]:
    """Start everything; yield the bench, the parts and the address of nginx."""
    with ExitStack() as stack:
        primary = stack.enter_context(throwaway_postgres(fsync="on"))
        replica = stack.enter_context(standby(primary))
        bench = Bench(name="failures", folder=folder, database_url=primary)
        bench.fill("f", AGENTS, 2)
        environment = {
            **bench.environment(),
            "DATABASE_REPLICA_URL": replica,
            "EDITOR_WORKER": "off",
            "EDITOR_WEBHOOK_ALLOW": "127.0.0.1",
        }
        services = {}
        for name, command in (("one", "serve"), ("two", "serve"), ("events", "serve_events")):
            own = folder / name
            own.mkdir()
            url = f"http://127.0.0.1:{free_port()}"
            services[name] = MeasuredService(url, environment, own, key=bench.key, command=command)
            services[name].start()
            stack.callback(services[name].stop)

        def work() -> subprocess.Popen[bytes]:
            with (folder / "work.log").open("ab") as log:
                return subprocess.Popen(
                    [sys.executable, "manage.py", "work"], cwd=ROOT, env=environment, stdout=log, stderr=log
                )

        worker = [work()]

        def end_worker() -> None:
            worker[0].terminate()
            worker[0].wait(20)

        stack.callback(end_worker)
        url = stack.enter_context(proxy(folder, services))
        yield bench, Parts(services, work, worker, primary, replica), url


@contextmanager
def proxy(folder: Path, services: dict[str, MeasuredService]) -> Iterator[str]:
    """Run nginx with compose's configuration."""
    own, port = folder / "nginx", free_port()
    (own / "conf.d").mkdir(parents=True)
    text = (ROOT / "deploy/compose/nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, service in services.items():
        text = text.replace(f"{name}:8000", urlsplit(service.url).netloc)
    (own / "conf.d/editor.conf").write_text(text)
    (own / "nginx.conf").write_text(nginx.MAIN.format(user="user root;" if os.geteuid() == 0 else ""))
    binary = nginx.program()
    assert binary
    process = subprocess.Popen([binary, "-p", str(own), "-e", "error.log", "-c", "nginx.conf"])
    try:
        wait_for(port, process, own / "error.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def phases(parts: Parts) -> dict[str, Callable[[], None]]:
    """Return what is done to the parts, in turn."""
    return {
        "nothing": lambda: None,
        "one of two serve killed": lambda: parts.kill("one"),
        "the other serve killed": lambda: parts.kill("two"),
        "serve_events killed": lambda: parts.kill("events"),
        "work killed": parts.kill_worker,
        "replica 5 s behind": parts.pause_replica,
        "replica killed": parts.kill_replica,
        "primary restarted": parts.restart_primary,
    }


def main(seconds: float) -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory() as name,
        receiving() as receiver,
        started(Path(name)) as (bench, parts, url),
    ):
        callers = Callers(url, bench.key)
        webhook = {"workspaceId": "default", "url": receiver.url, "eventTypes": ["agent.published"]}
        connection = HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
        headers = {"Authorization": f"Bearer {bench.key}", "Content-Type": "application/json"}
        connection.request("POST", "/api/webhooks", json.dumps(webhook), headers)
        assert connection.getresponse().status == 201
        works = [callers.read] * READERS + [callers.write] * WRITERS + [callers.listen]
        threads = [threading.Thread(target=one) for one in works]
        for thread in threads:
            thread.start()
        time.sleep(3)
        for what, do in phases(parts).items():
            before, failed, callers.slowest = callers.requests.copy(), callers.failed.copy(), 0.0
            callers.outcomes.clear()
            callers.failures.clear()
            until = time.monotonic() + seconds
            do()
            time.sleep(max(0.0, until - time.monotonic()))
            sent = len({one.id for one in receiver.messages})
            counts = [
                f"{one} {callers.requests[one] - before[one]:6,} failed {callers.failed[one] - failed[one]:3}"
                for one in ("reads", "saves")
            ]
            failing = max(callers.failures, default=0.0) - min(callers.failures, default=0.0)
            ends = " ".join(f"{one}:{number}" for one, number in callers.outcomes.items())
            print(
                f"{what:26}"
                + "   ".join(counts)
                + f"   for {failing:4.1f} s   slowest {callers.slowest:4.1f} s   webhooks {sent:,}   {ends}",
                flush=True,
            )
        ended = time.monotonic()
        callers.is_over.set()
        while (
            len({one.id for one in receiver.messages}) < callers.published and time.monotonic() < ended + 180
        ):
            time.sleep(0.2)
        for thread in threads:
            thread.join(TIMEOUT)
        webhooks = len({one.id for one in receiver.messages})
        late = time.monotonic() - ended
        print(f"published {callers.published:,}; by webhook {webhooks:,}, the last {late:.0f} s later")
        with psycopg.connect(parts.primary) as server:
            positions = {row[0] for row in server.execute(_POSITIONS)}
        missed = len(
            {one for one in positions if min(callers.heard) < one < max(callers.heard)} - callers.heard
        )
        print(f"positions heard on the stream {len(callers.heard):,}, missed {missed}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 15)
