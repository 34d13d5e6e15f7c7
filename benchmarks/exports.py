"""How long the results of an experiment of 50 000 cells take as a file, and how much memory.

    SECRET_KEY=test python -m benchmarks.exports [--database URL]

Each format is exported in a process of its own, over the route, and read to its end without a network. The
seconds are those of the processor, which other load distorts less. The memory is what the process has at most
beyond what it had before the first line; on SQLite, what it has mapped of the database is part of that.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

FORMATS = ("jsonl", "csv", "junit")


def main() -> None:
    """Fill a database, export in every format, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", default="")
    parser.add_argument("--format", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        address = given.database or f"sqlite:///{folder}/exports.sqlite3"
        os.environ["DATABASE_URL"] = address
        os.environ["DJANGO_SETTINGS_MODULE"] = "editor_project.settings"
        import django  # noqa: PLC0415  settings come first

        django.setup()
        if given.format:
            sys.stdout.write(export(given.format))
            return
        prepare()
        sys.stdout.write("| file | seconds | MB | first line, ms | memory, MiB |\n|---|---|---|---|---|\n")
        sys.stdout.flush()
        for name in FORMATS:
            command = [sys.executable, "-m", "benchmarks.exports", "--database", address, "--format", name]
            subprocess.run(command, check=True)


def prepare() -> None:
    """Fill the database, unless that is done."""
    from django.contrib.auth.models import User  # noqa: PLC0415  settings come first
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks import evaluation_data  # noqa: PLC0415
    from tests.support.people import make_cast  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    if not User.objects.filter(username="paula").exists():
        make_cast()
    evaluation_data.fill()


def export(name: str) -> str:
    """Export in one format, and return its line of the table."""
    from benchmarks.evaluation_data import found  # noqa: PLC0415  settings come first
    from benchmarks.studio import client_of  # noqa: PLC0415

    filled = found()
    client: Any = client_of("paula")
    address = f"/api/datasets/{filled.dataset.pk}/experiments/{filled.here.pk}/export?format="
    parts = iter(client.get(f"{address}{name}").streaming_content)
    before, started = _memory(), process_time()
    size = len(next(parts))
    first = process_time() - started
    size += sum(map(len, parts))
    took = process_time() - started
    return f"| {name} | {took:.1f} | {size / 1e6:.0f} | {first * 1000:.0f} | {_memory() - before:.0f} |\n"


def _memory() -> float:
    # Not that of `getrusage`, which begins with the maximum of the process that has started this one.
    [line] = (one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
