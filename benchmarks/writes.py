"""The cost of a write: its statements, and its processor time.

    python -m benchmarks.writes [REPETITIONS]

Requests are made in this process, on a separate SQLite file, with a key and without a network. The first
table is measured without the profiler; the shares of the second one are the profiler's, and some lie within
others.
"""

from __future__ import annotations

import cProfile
import logging
import os
import pstats
import sys
from collections.abc import Callable, Mapping
from tempfile import TemporaryDirectory
from typing import Any, cast

from benchmarks.in_process import InProcess
from benchmarks.timing import milliseconds

REPETITIONS = 300
WARM_UP = 30

SHARES: Mapping[str, tuple[str, str]] = {
    "the view, and all that it calls": ("rest_framework/views.py", "dispatch"),
    "authentication": ("api/authentication.py", "authenticate"),
    "the use case: rights, the locked row, validation, inserts": ("editor/saving.py", "edit"),
    "Django building SELECT statements": ("sql/compiler.py", "as_sql"),
    "Django preparing queries": ("sql/query.py", "build_filter"),
    "SQLite running statements": ("~", "SQLiteCursorWrapper.execute"),
    "SQLite committing, with its fsync": ("~", "'commit' of 'sqlite3.Connection'"),
}
"""What to find in the profile: a file and a function."""


def statements_of(work: Callable[[], object]) -> int:
    """Return the number of statements of the work, excluding the start and the end of transactions."""
    from django.db import connection  # noqa: PLC0415  settings come first

    sent: list[str] = []

    def note(execute: Callable[..., object], sql: str, *more: object) -> object:
        sent.append(sql)
        return execute(sql, *more)

    with connection.execute_wrapper(note):
        work()
    return len(sent)


def main(repetitions: int) -> None:
    """Measure and print."""
    api = InProcess.ready()
    works: dict[str, Callable[[], object]] = {
        "create": api.create,
        "save a draft": lambda: api.save("s"),
        "save and publish": lambda: api.save("s", autoPublish=True),
    }
    api.create(id="s")
    print(f"{'':18}{'statements':>11}{'clock, ms':>11}{'processor, ms':>15}")
    for name, work in works.items():
        milliseconds(work, WARM_UP)
        statements = statements_of(work)
        clock, processor = milliseconds(work, repetitions)
        print(f"{name:18}{statements:11}{clock:11.2f}{processor:15.2f}")
    shares(works["save a draft"], repetitions)


def shares(work: Callable[[], object], repetitions: int) -> None:
    """Print the shares of the work."""
    profile = cProfile.Profile()
    profile.runcall(milliseconds, work, repetitions)
    found = cast("dict[tuple[str, int, str], tuple[Any, ...]]", pstats.Stats(profile).stats)  # type: ignore[attr-defined]
    whole = max(numbers[3] for numbers in found.values())
    print("\nOf the time of saving a draft:\n")
    for title, (file, function) in SHARES.items():
        took = sum(
            numbers[3]
            for (path, _, name), numbers in found.items()
            if path.endswith(file) and function in name
        )
        print(f"{took / whole:6.0%}  {title}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        os.environ |= {"DATABASE_URL": f"sqlite:///{folder}/writes.sqlite3"}
        os.environ.setdefault("SECRET_KEY", "bench")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
        import django

        django.setup()
        logging.disable(logging.INFO)
        main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
