"""The parts of compose.yaml as processes on this machine, which can be killed one by one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import psycopg

from benchmarks.serving import ROOT, Bench, MeasuredService
from tests.support import nginx
from tests.support.ports import free_port, wait_for
from tests.support.postgres import programs, standby, throwaway_postgres

AGENTS = 500
DOWN = 3.0
"""Seconds for which a part is gone."""


class Part(Protocol):
    """A part that is a program."""

    def start(self) -> None:
        """Start it."""

    def kill(self) -> None:
        """Kill it, with its children."""


@dataclass
class Program:
    """A program that is none of the servers."""

    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    is_ready: Callable[[subprocess.Popen[bytes]], None] = lambda _process: None
    """Returns once it is."""
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        self.is_ready(self.process)

    def kill(self) -> None:
        """Kill it, with its children, as the end of a container does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Let it end."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, how)
        self.process.wait(30)


@dataclass(frozen=True)
class Installation:
    """The running parts."""

    url: str
    """Of nginx."""
    key: str
    parts: Mapping[str, Part]
    primary: str
    replica: str

    def kill(self, name: str) -> None:
        """Kill a part, and start it again."""
        self.parts[name].kill()
        time.sleep(DOWN)
        self.parts[name].start()

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
def running(folder: Path) -> Iterator[Installation]:
    """Start everything."""
    with ExitStack() as stack:
        primary = stack.enter_context(throwaway_postgres(fsync="on"))
        replica = stack.enter_context(standby(primary))
        bench = Bench(name="installation", folder=folder, database_url=primary)
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
        work = Program([sys.executable, "manage.py", "work"], environment, folder / "work.log")
        url, proxy = _proxy(
            folder / "nginx", {name: urlsplit(service.url).netloc for name, service in services.items()}
        )
        parts = {**services, "work": work, "nginx": proxy}
        for part in parts.values():
            part.start()
            stack.callback(part.stop)
        yield Installation(url, bench.key, parts, primary, replica)


def _proxy(folder: Path, addresses: Mapping[str, str]) -> tuple[str, Program]:
    """Return nginx with compose's configuration, and its address."""
    port = free_port()
    (folder / "conf.d").mkdir(parents=True)
    text = (ROOT / "deploy/compose/nginx.conf").read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, address in addresses.items():
        text = text.replace(f"{name}:8000", address)
    (folder / "conf.d/editor.conf").write_text(text)
    (folder / "nginx.conf").write_text(nginx.MAIN.format(user="user root;" if os.geteuid() == 0 else ""))
    binary, log = nginx.program(), folder / "error.log"
    assert binary
    command = [binary, "-p", str(folder), "-e", "error.log", "-c", "nginx.conf"]
    program = Program(command, os.environ, log, lambda process: wait_for(port, process, log))
    return f"http://127.0.0.1:{port}", program
