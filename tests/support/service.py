"""A real server: its own processes, its own database, killed on request."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any
from urllib.error import URLError
from urllib.request import urlopen

import psycopg
from django.conf import settings

from tests.support import fork_server, machine
from tests.support.ports import free_port, wait_until_free

ROOT = fork_server.ROOT


@dataclass
class Service:
    """A running server."""

    url: str
    environment: dict[str, str]
    folder: Path
    options: tuple[str, ...] = ()
    key: str = ""
    command: str = "serve"
    process: fork_server.Program | subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> str:
        """The log of the server so far."""
        return (self.folder / "server.log").read_text()

    def manage(self, *arguments: str) -> str:
        """Run a management command on the service's database and return its output."""
        done = fork_server.run("manage.py", *arguments, env=self.environment, is_set_up=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        bind = self.url.removeprefix("http://")
        with (self.folder / "server.log").open("ab") as log:
            self.process = self.started(["manage.py", self.command, "--bind", bind, *self.options], log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log
            try:
                with urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.02)
        raise AssertionError(f"the server does not answer:\n{self.log}")

    def started(self, command: list[str], log: IO[bytes]) -> fork_server.Program | subprocess.Popen[bytes]:
        """Start a program that writes into a log."""
        return fork_server.start(*command, env=self.environment, stdout=log, stderr=log, is_set_up=True)

    def kill(self) -> None:
        """End the server and its workers at once, as a power failure would."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        wait_until_free(int(self.url.rpartition(":")[2]))  # its workers end a moment later

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all processes of the server for a while: connections are accepted, and nothing is answered."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            deadline = time.monotonic() + 60
            while _runs(self.process.pid):  # a thread can go on until another has taken the signal
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Ask the server to end, as a deployment does."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


def _runs(group: int) -> bool:
    """Return whether a thread of a group of processes is not stopped."""
    for stat in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "TZ":
                return True
    return False


@contextmanager
def running_service(
    folder: Path, *options: str, template: Template | None = None, **environment: str
) -> Iterator[Service]:
    """Start a server on a free loopback port with a new database; `environment` is added to its own.

    The database is a copy of `template`, and of the kind that the tests themselves run on.
    """
    template = template or template_database()
    with new_database(folder / "live.sqlite3", template.url) as database_url:
        service = Service(
            url=f"http://127.0.0.1:{free_port()}",
            environment=environment_of(database_url, **environment),
            folder=folder,
            options=options,
            key=template.key,
        )
        service.start()
        try:
            yield service
        finally:
            service.stop()


@dataclass(frozen=True)
class Template:
    """A database with all tables, and the key of an admin of the workspace `default` in it."""

    url: str
    key: str


@cache
def migrated_database() -> str:
    """Return the URL of a database with all tables, for copies: made once in a run, by who needs it first."""
    with machine.once_in_a_run("migrated") as (folder, is_first):
        made = folder / "url"
        if is_first:
            url = _made_database(folder / "live.sqlite3")
            service = Service(url="", environment={**os.environ, "DATABASE_URL": url}, folder=folder)
            service.manage("migrate", "--verbosity", "0", "--skip-checks")
            made.write_text(url)
        return made.read_text()


@cache
def template_database() -> Template:
    """Return the initial database of most services.

    Made once in a run of the tests, by the first process that needs it, because making it takes longer
    than starting the server. It does not depend on the settings of a service.
    """
    return _template("template", "create_api_key", "tester", "--workspace", "default", "--role", "admin")


@cache
def demo_database() -> Template:
    """Return a database as `make run` leaves it, with the demo; made once, too."""
    return _template("demo", "demo")


def _template(name: str, *command: str) -> Template:
    """Return the database that has gone through a command, which prints the key."""
    with machine.once_in_a_run(name) as (folder, is_first):
        made = folder / "template.json"
        if is_first:
            url = _made_database(folder / "live.sqlite3", migrated_database())
            service = Service(url="", environment={**os.environ, "DATABASE_URL": url}, folder=folder)
            key = next(word for word in service.manage(*command).split() if word.startswith("ek_"))
            made.write_text(json.dumps([url, key]))
        return Template(*json.loads(made.read_text()))


def environment_of(database_url: str, **environment: str) -> dict[str, str]:
    """Return the environment of a service on a database.

    Unneeded processes take time: a worker is started only where it is tested.
    """
    return {**os.environ, "EDITOR_WORKER": "off", "DATABASE_URL": database_url, **environment}


def is_sqlite() -> bool:
    """Say whether the tests run on SQLite."""
    return "sqlite" in settings.DATABASES["default"]["ENGINE"]


@contextmanager
def new_database(sqlite_file: Path, template_url: str | None = None) -> Iterator[str]:
    """Make a database, empty or a copy of an unused one, and return its URL; SQLite's is this file."""
    url = _made_database(sqlite_file, template_url)
    try:
        yield url
    finally:
        if not is_sqlite():
            with _postgres() as connection:
                connection.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')


def _made_database(sqlite_file: Path, template_url: str | None = None) -> str:
    """Make a database next to the one of the tests, and return its URL."""
    if is_sqlite():
        if template_url:
            shutil.copyfile(template_url.removeprefix("sqlite:///"), sqlite_file)
        return f"sqlite:///{sqlite_file}"
    name = f"live_{uuid.uuid4().hex}"
    # Nobody uses the template meanwhile, so that its files can be copied, which takes half as long.
    copied = f' TEMPLATE "{template_url.rpartition("/")[2]}" STRATEGY FILE_COPY' if template_url else ""
    with _postgres() as connection:
        connection.execute(f'CREATE DATABASE "{name}"{copied}')
    return _url_of(name)


def _postgres() -> psycopg.Connection[tuple[Any, ...]]:
    """Connect to the server that the tests run on, outside of every database of theirs."""
    database = settings.DATABASES["default"]
    host, port, user, password = (database[part] for part in ("HOST", "PORT", "USER", "PASSWORD"))
    return psycopg.connect(
        autocommit=True, host=host, port=port, user=user, password=password, dbname="postgres"
    )


def _url_of(name: str) -> str:
    """Return the URL of a database of that server."""
    database = settings.DATABASES["default"]
    secret = f":{database['PASSWORD']}" if database["PASSWORD"] else ""
    return f"postgres://{database['USER']}{secret}@{database['HOST']}:{database['PORT']}/{name}"
