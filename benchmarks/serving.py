"""Servers to measure: the editor's and, for comparison, the same server with a bare Django view."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import IO

from benchmarks.load import Load
from tests.support.ports import free_port
from tests.support.service import Service

ROOT = Path(__file__).resolve().parents[1]
WARM_UP = 2  # seconds
SETTINGS = "editor_project.settings"


class MeasuredService(Service):
    """A server in a separate process: a fork of the tests would share the tests' memory."""

    def started(self, command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program as in an installation."""
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


@dataclass
class Bench:
    """A database, and servers on it."""

    name: str
    folder: Path
    database_url: str
    seconds: int = 0
    key: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.manage("migrate", "--verbosity", "0", "--skip-checks")
        self.key = self.manage("create_api_key", "bench", "--workspace", "default", "--role", "admin")

    def manage(self, *arguments: str) -> str:
        """Run a management command and return its output."""
        return self._service(SETTINGS).manage(*arguments)

    def fill(self, *arguments: object) -> None:
        """Fill the database; see `benchmarks.fill`."""
        self.note(f"{self.name}: filling with {' '.join(map(str, arguments))}")
        command = [sys.executable, "-m", "benchmarks.fill", *map(str, arguments)]
        subprocess.run(command, cwd=ROOT, env=self.environment(), check=True)

    @contextmanager
    def serving(
        self, *options: str, settings: str = SETTINGS, command: str = "serve", **environment: str
    ) -> Iterator[Service]:
        """Start a server."""
        service = self._service(settings, *options, **environment)
        service.command = command
        service.start()
        try:
            yield service
        finally:
            service.stop()

    def rate(self, service: Service, load: Load, *, warm_up: int = WARM_UP) -> float:
        """Return the answered requests per second, once the server is warm."""
        self.note(f"{self.name}: {load.path if not load.script else 'at random'}")
        load.rate(service.url, self.key, warm_up)
        return load.rate(service.url, self.key, self.seconds)

    def read_each(self, service: Service, paths: Iterable[str]) -> None:
        """Read every one of the paths once."""
        connection = HTTPConnection(service.url.removeprefix("http://"))
        for number, path in enumerate(paths):
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.key}"})
            connection.getresponse().read()
            if number % 2_000 == 0:
                self.note(f"{self.name}: {number} read")
        connection.close()

    def memory(self, service: Service) -> float:
        """Return the memory of the server's worker, in MiB, without what it maps of the database's file.

        The system shares those pages among all connections, and takes them when it needs memory; but it
        counts them once for each connection that maps them.
        """
        assert service.process is not None
        children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text()
        mapped = Path(f"/proc/{children.split()[-1]}/smaps").read_text()
        sizes = re.findall(r"^[0-9a-f]+-[0-9a-f]+ .* (\S*)\n(?:.*\n)*?Rss: +(\d+) kB", mapped, re.MULTILINE)
        return sum(int(size) for file, size in sizes if not file.startswith(str(self.folder))) / 1024

    def processor_time(self, service: Service) -> float:
        """Return the processor time that the server's processes have used, in seconds."""
        assert service.process is not None
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[2]) == service.process.pid:  # its group
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def python(self, program: str) -> str:
        """Run a program with the editor's settings, and return its output."""
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, check=True
        ).stdout

    def note(self, text: str) -> None:
        """Print the progress, because it takes a while."""
        sys.stderr.write(f"  … {text}\n")

    def environment(self, settings: str = SETTINGS) -> dict[str, str]:
        """Return the environment for a program."""
        return {
            **os.environ,
            "DATABASE_URL": self.database_url,
            "DJANGO_SETTINGS_MODULE": settings,
            "SECRET_KEY": "bench",
        }

    def _service(self, settings: str, *options: str, **environment: str) -> Service:
        return MeasuredService(
            url=f"http://127.0.0.1:{free_port()}",
            environment={**self.environment(settings), **environment},
            folder=self.folder,
            options=options,
        )
