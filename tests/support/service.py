"""A real server: its own processes, its own database, killed when asked to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psycopg
from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Service:
    """A running server."""

    url: str
    environment: dict[str, str]
    folder: Path
    options: tuple[str, ...] = ()
    key: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def log(self) -> str:
        """What the server has written so far."""
        return (self.folder / "server.log").read_text()

    def manage(self, *arguments: str) -> str:
        """Run a management command on the service's database and return what it prints."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        bind = self.url.removeprefix("http://")
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--bind", bind, *self.options],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log
            try:
                with urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        raise AssertionError(f"the server does not answer:\n{self.log}")

    def kill(self) -> None:
        """End the server and its workers at once, as a power failure would."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ask the server to end, as a deployment does."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def running_service(folder: Path, *options: str, **environment: str) -> Iterator[Service]:
    """Start a server on a free loopback port with a new database; `environment` is added to its own.

    The database is of the kind that the tests themselves run on.
    """
    with _new_database(folder) as database_url:
        service = Service(
            url=f"http://127.0.0.1:{free_port()}",
            environment={**os.environ, "DATABASE_URL": database_url, **environment},
            folder=folder,
            options=options,
        )
        service.manage("migrate", "--verbosity", "0", "--skip-checks")
        service.key = service.manage("create_api_key", "tester", "--workspace", "default", "--role", "admin")
        service.start()
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def _new_database(folder: Path) -> Iterator[str]:
    """Make an empty database beside the one of the tests and return its URL."""
    database = settings.DATABASES["default"]
    if "sqlite" in database["ENGINE"]:
        yield f"sqlite:///{folder / 'live.sqlite3'}"
        return
    host, port, user, password = (database[part] for part in ("HOST", "PORT", "USER", "PASSWORD"))
    server = {"host": host, "port": port, "user": user, "password": password, "dbname": "postgres"}
    name = f"live_{uuid.uuid4().hex}"
    with psycopg.connect(autocommit=True, **server) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    secret = f":{password}" if password else ""
    try:
        yield f"postgres://{user}{secret}@{host}:{port}/{name}"
    finally:
        with psycopg.connect(autocommit=True, **server) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
