"""An installation as its administrator has it: a folder, an environment, a service."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.postgres import programs
from tests.support.service import ROOT, Service, environment_of, is_sqlite, new_database, template_database
from tests.support.streams import beside

SQLITE = is_sqlite()
"""Whether the tests run on SQLite; else on PostgreSQL."""


@dataclass(frozen=True)
class Installation:
    """A folder with this code, this Python and a database."""

    folder: Path
    service: Service

    def python(self, program: str) -> str:
        """Run a program with the application loaded and return its output."""
        return self.service.manage("shell", "--no-imports", "-c", program)

    def run(self, block: str, **environment: str) -> str:
        """Run a block of commands there and return its output; a failing command fails the test."""
        path = os.environ.get("PATH", os.defpath)
        own = {**self.service.environment, **environment}
        if not SQLITE:
            own["PATH"] = f"{programs()}:{path}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.folder,
            env=own,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        return done.stdout


@contextmanager
def installation(folder: Path, *, is_set_up: bool = False, **environment: str) -> Iterator[Installation]:
    """Make an installation with a database of the kind that the tests run on.

    It has no tables, or with `is_set_up` the tables and a key. The service is not started here, but stopped
    in the end.
    """
    folder.mkdir(parents=True)
    (folder / "manage.py").symlink_to(ROOT / "manage.py")
    (folder / "client").symlink_to(ROOT / "client")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "var").mkdir()
    template = template_database() if is_set_up else None
    with new_database(folder / "var/editor.sqlite3", template and template.url) as database_url:
        own = environment_of(database_url, **environment)
        key = template.key if template else ""
        service = beside(Service(url="", environment=own, folder=folder, key=key), folder)
        try:
            yield Installation(folder, service)
        finally:
            if service.process is not None:
                service.stop()
