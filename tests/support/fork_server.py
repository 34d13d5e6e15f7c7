"""A fork server: starts programs of the project without importing Django and the model library each time.

That import takes a second of processor, more than most programs of a test need after it. One process imports
the libraries, but no settings and nothing of the editor; a program is a fork of it with an environment, a
folder and files. Another one has set up Django and done what every program does first, which takes a second
more: its forks read the settings again, from their own environment. Where a test is about how Python starts a
program, or what wrong settings do, `subprocess` or the first one does it.
"""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

import django
from django.conf import empty, global_settings, settings
from django.core.checks import run_checks
from django.core.signals import setting_changed
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.test import Client

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = (
    "anyio._backends._asyncio",
    "cryptography.fernet",
    "django.contrib.admin",
    "django.core.management.commands.migrate",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.template.backends.django",
    "granian",
    "httpcore2",
    "jsonschema",
    "openai",
    "psycopg_pool",
    "pydantic_ai",
    "pydantic_ai.models.openai",
    "regex",
    "requests",
    "rest_framework",
    "structlog",
    "whitenoise.middleware",
    "yaml",
)
SET_UP = (
    "django.core.management.commands.shell",
    "django.test.signals",
    "editor_client.transfer.commands",
    "editor_project.management.commands.demo",
    "editor_project.management.commands.serve",
    "editor_project.urls",
    "versioning.models.sealing",
    "versioning.runtime.preparation",
)
"""What the server that has set up Django imports, too."""
_ONCE = ("DJANGO_SETTINGS_MODULE", "EDITOR_API_PREFIX", "PYTHONPATH")
"""Variables that are read when Django is set up, and not again: forks must have the same ones."""
_ALWAYS_NEW = "EDITOR_FRAMEWORK"
"""The setting of the editor, which has read others."""
_MAX_REQUEST = 1_000_000
HASHERS = [f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("MD5", "PBKDF2")]
"""How passwords are hashed in tests: a good hash takes half a second of processor, for each sign-in."""


@dataclass
class Program:
    """A running program, with the interface of `subprocess.Popen`."""

    args: Sequence[str]
    pid: int
    news: socket.socket = field(repr=False)
    returncode: int | None = None

    def poll(self) -> int | None:
        """Return the status when the program has ended."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the program, and return its status."""
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return status

    def terminate(self) -> None:
        """Ask the program to end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self.news], [], [], timeout)[0]:
            self.returncode = int(self.news.recv(64) or b"-9")
            self.news.close()
        return self.returncode


def start(
    *args: str,
    env: Mapping[str, str],
    cwd: Path = ROOT,
    stdin: IO[Any] | None = None,
    stdout: IO[Any] | None = None,
    stderr: IO[Any] | None = None,
    is_set_up: bool = False,
) -> Program:
    """Start `python ARGS…`, a file, `-m` and a module or `-c` and a program, in a separate session.

    With `is_set_up` it begins in a process in which Django is set up for its environment.
    """
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its, Path(os.devnull).open("r+b") as nothing:
        files = [given or nothing for given in (stdin, stdout, stderr)]
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        request = json.dumps({"args": args, "env": dict(env), "cwd": str(cwd), "limits": limits}).encode()
        assert len(request) < _MAX_REQUEST
        server = _server(_identity(env)) if is_set_up else _server()
        socket.send_fds(server.requests, [request], [*(file.fileno() for file in files), its.fileno()])
    process_id = mine.recv(64)
    assert process_id, "The fork server has ended; what it wrote to stderr says why."
    return Program(args, int(process_id), mine)


def run(
    *args: str,
    env: Mapping[str, str],
    cwd: Path = ROOT,
    timeout: float = 120,
    is_set_up: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGS…` to its end, as `subprocess.run` does with its output captured."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        status = start(*args, env=env, cwd=cwd, stdout=out, stderr=errors, is_set_up=is_set_up).wait(timeout)
        printed = []
        for file in (out, errors):
            file.seek(0)
            printed.append(file.read().decode())
    return subprocess.CompletedProcess(args, status, *printed)


@dataclass(frozen=True)
class Server:
    """The process that imports the libraries, and its socket; it ends with this one."""

    process: subprocess.Popen[bytes] | Program
    requests: socket.socket

    def end(self) -> None:
        """Close the socket, and wait until the server has ended."""
        self.requests.close()
        self.process.wait()


def _identity(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the variables for which Django is set up; of the database, only which kind it is."""
    kind = environment["DATABASE_URL"].partition(":")[0]
    given = {name: environment[name] for name in _ONCE if name in environment}
    read = {"DJANGO_SETTINGS_MODULE": "editor_project.settings", **given}
    none = {
        "DATABASE_URL": f"{kind}:///{tempfile.gettempdir()}/none",
        "SECRET_KEY": "none",
        "EDITOR_FRAMEWORK": "",
    }
    return tuple({**read, **none}.items())


@cache
def _server(variables: tuple[tuple[str, str], ...] | None = None) -> Server:
    """Return the server without settings, or a fork of it that has set up Django with these variables."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_REQUEST)
    process: subprocess.Popen[bytes] | Program
    if variables is None:
        with its:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fork_server", str(its.fileno())],
                cwd=ROOT,
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
    else:
        own = {"PATH": os.environ.get("PATH", os.defpath), **dict(variables)}
        with its, its.makefile("rwb", buffering=0) as stdin:
            process = start(
                "-m", "tests.support.fork_server", "0", "set up", env=own, stdin=stdin, stderr=sys.__stderr__
            )
    server = Server(process, mine)
    atexit.register(server.end)
    return server


def virtual_environment(folder: Path, environment: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Make a folder like that of this Python, whose programs are forks, too: `forked_python`.

    Return the variables that they need besides `environment`, and a file that they have to inherit.
    """
    (folder / "bin").mkdir(parents=True)
    for program in Path(sys.prefix, "bin").iterdir():
        (folder / "bin" / program.name).symlink_to(program)
    text = Path(__file__).with_name("forked_python.py").read_text()
    python = folder / "bin/python"
    python.unlink()
    python.write_text(
        f"#!{sys.executable} -IS\n" + text.replace('REAL = "python"', f"REAL = {sys.executable!r}")
    )
    python.chmod(0o755)
    number = _server(_identity(environment)).requests.fileno()
    same = {name: environment.get(name) for name in _ONCE}
    same["DATABASE_URL"] = environment["DATABASE_URL"].partition(":")[0]
    return {"FORK_SERVER": json.dumps([number, same])}, number


# In the process of the server


def _serve(requests: socket.socket, *, sets_up: bool) -> None:
    """Fork for every request until the socket is closed; a fork returns when it has run its program."""
    gc.disable()  # all that is imported stays
    for name in LIBRARIES:
        import_module(name)
    assert not settings.configured, "some library has read the settings of no one"
    global_settings.PASSWORD_HASHERS = HASHERS
    if sets_up:
        django.setup()
        for name in (*SET_UP, settings.ROOT_URLCONF):
            import_module(name)
        MigrationLoader(None)
        _warm_up()
    assert threading.active_count() == 1, "a fork would lack the other threads"
    gc.collect()
    gc.freeze()
    gc.enable()
    while True:
        request, files, _, _ = socket.recv_fds(requests, _MAX_REQUEST, 4)
        _reap()
        if not request:
            return
        # The waiting process is not the parent of the program, so a process in between has to wait.
        if not os.fork():
            requests.close()
            _supervise(json.loads(request), files)
        for file in files:
            os.close(file)


def _warm_up() -> None:
    """Do what nearly every program would do first, and what Python and Django then have at hand."""
    logging.disable()
    run_checks()
    visitor = Client(headers={"host": "127.0.0.1"})
    for page in ("/healthz", "/studio/login/"):
        assert visitor.get(page).status_code == HTTPStatus.OK
    logging.disable(logging.NOTSET)


def _reap() -> None:
    """Forget the supervisors that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _supervise(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Start the program, which tells its process id, and tell its status."""
    news = socket.socket(fileno=files[3])
    program = os.fork()
    if not program:
        os.setsid()
        news.send(str(os.getpid()).encode())  # now its group can be ended, too
        news.close()
        _become(request, files[:3])
    for file in files[:3]:
        os.close(file)
    if hasattr(os, "pidfd_open"):
        ended = os.pidfd_open(program)
        if ended not in select.select([ended, news], [], [])[0]:  # no process waits for the program any more
            os.killpg(program, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(OSError):
        news.send(str(status).encode())
    os._exit(0)


def _become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the program, until it ends."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["cwd"])
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(request["limits"]))
    os.environ.clear()
    os.environ.update(request["env"])
    if settings.configured:
        _read_settings()
    status = _run(*request["args"])
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads, as an interpreter does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)  # to take all the modules apart would take longer than most programs


def _run(first: str, *rest: str) -> int:
    """Run what `python FIRST REST…` runs, and return its status."""
    begins = Path.cwd() if first in {"-c", "-m"} else Path(first).resolve().parent
    sys.path[0:1] = [str(begins), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    try:
        if first == "-c":
            sys.argv = ["-c", *rest[1:]]
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        elif first == "-m":
            sys.argv = [*rest]
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = [first, *rest]
            runpy.run_path(first, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)  # noqa: T201  as an interpreter does
        return 1
    except BaseException:  # noqa: BLE001  the program's, whatever it is
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _read_settings() -> None:
    """Read the settings again, as every process does at first, and tell those who keep something of them."""
    from versioning import conf  # noqa: PLC0415  a project may have another copy installed

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")  # as manage.py does
    before = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
    for name in {settings.SETTINGS_MODULE, "editor_project.settings"}:
        sys.modules.pop(name, None)
    settings._wrapped = empty
    for setting in (*conf.SETTINGS, *conf.declared_settings()):
        conf.apply_default(setting)
    connections._settings = None
    connections.__dict__.pop("settings", None)
    for alias in connections:
        with suppress(AttributeError):
            del connections[alias]
    now = {name: getattr(settings, name) for name in dir(settings) if name.isupper()}
    for name, value in now.items():
        if name == _ALWAYS_NEW or (name != "DATABASES" and before.get(name) != value):
            setting_changed.send(_read_settings, setting=name, value=value, enter=True)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sets_up="set up" in sys.argv)
