"""Makes programs quick: they start as forks of a process that has imported their libraries (`forking`).

Importing Django and the model library takes a second of processor, setting up Django another one; most
programs of a test need less after it. A fork of a server in which Django is set up (`is_set_up`) reads the
settings again, from its own environment. Tests of how Python starts, or of wrong settings, use the other one.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
MAX_REQUEST = 1_000_000
_ONCE = ("DJANGO_SETTINGS_MODULE", "EDITOR_API_PREFIX", "PYTHONPATH")
"""Variables that are read when Django is set up, and not again: forks must have the same ones."""


@dataclass
class Program:
    """A running program, with the interface of `subprocess.Popen`."""

    args: Sequence[str]
    pid: int
    news: socket.socket = field(repr=False)
    returncode: int | None = None

    def poll(self, timeout: float | None = 0) -> int | None:
        """Return the status when the program has ended."""
        if self.returncode is None and select.select([self.news], [], [], timeout)[0]:
            self.returncode = int(self.news.recv(64) or b"-9")
            self.news.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the program, and return its status."""
        status = self.poll(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status

    def terminate(self) -> None:
        """Ask the program to end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def start(
    *args: str, env: Mapping[str, str], cwd: Path = ROOT, is_set_up: bool = False, **files: IO[Any]
) -> Program:
    """Start `python ARGS…` in a session of its own; `files` are `stdin`, `stdout` and `stderr`."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    request = json.dumps({"args": args, "env": dict(env), "cwd": str(cwd), "limits": limits}).encode()
    with its, Path(os.devnull).open("r+b") as nothing:
        numbers = [files.get(name, nothing).fileno() for name in ("stdin", "stdout", "stderr")]
        socket.send_fds(_server(_identity(env) if is_set_up else ()), [request], [*numbers, its.fileno()])
    process_id = mine.recv(64)
    assert process_id, "The fork server has ended; what it wrote to stderr says why."
    return Program(args, int(process_id), mine)


def run(
    *args: str, env: Mapping[str, str], cwd: Path = ROOT, timeout: float = 600, is_set_up: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGS…` to its end, as `subprocess.run` does with its output captured."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        status = start(*args, env=env, cwd=cwd, stdout=out, stderr=errors, is_set_up=is_set_up).wait(timeout)
        for file in (out, errors):
            file.seek(0)
        return subprocess.CompletedProcess(args, status, out.read(), errors.read())


def _identity(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables for which Django is set up; of the database, only which kind it is."""
    kind = environment["DATABASE_URL"].partition(":")[0]
    same = {name: environment[name] for name in _ONCE if name in environment}
    none = {"DATABASE_URL": f"{kind}:////nowhere/none", "SECRET_KEY": "none", "EDITOR_FRAMEWORK": ""}
    return tuple({"DJANGO_SETTINGS_MODULE": "editor_project.settings", **same, **none}.items())


@cache
def _server(variables: tuple[tuple[str, str], ...]) -> socket.socket:
    """Return the connection to a server, without settings or with Django set up for these variables."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST)
    inherited = {"PATH": os.environ["PATH"]} if variables else os.environ
    with its:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.support.forking",
                str(its.fileno()),
                *(["set up"] if variables else []),
            ],
            cwd=ROOT,
            env={**inherited, **dict(variables)},
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    atexit.register(process.wait)
    atexit.register(mine.close)
    return mine
