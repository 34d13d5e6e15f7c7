"""Measure, print the figures, and write them into docs/reference/benchmarks.md.

    python -m benchmarks [SECONDS]      # of each load, 5 when absent

The real server on SQLite and on PostgreSQL comes first, followed by the parts that separate programs measure.
Every ratio compares two loads that ran in succession on the same machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import measures, report
from benchmarks.serving import WARM_UP, Bench
from benchmarks.streams import streams
from tests.support.postgres import throwaway_postgres

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/benchmarks.md"


@contextmanager
def database(name: str, folder: Path) -> Iterator[str]:
    """Create an empty database and return its URL."""
    if name == "SQLite":
        yield f"sqlite:///{folder / 'bench.sqlite3'}"
        return
    # As in an installation: commits survive a power failure.
    with throwaway_postgres(fsync="on", full_page_writes="on") as url:
        yield url


def main(seconds: int) -> None:
    """Measure what `make bench` measures."""
    found: list[measures.Row] = []
    for name in ("SQLite", "PostgreSQL"):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(database(name, folder))
            bench = Bench(name=name, folder=folder, database_url=url, seconds=seconds)
            for measure in (*measures.ALL, streams):
                for row in measure(bench):
                    found.append(row)
                    print(row.line, flush=True)
    figures = {"conditions": report.conditions(seconds, WARM_UP), "table": report.table(found)}
    figures |= {program: report.printed(part(program)) for program in report.PARTS}
    PAGE.write_text(report.page(PAGE.read_text(), figures))


def part(program: str) -> str:
    """Run one of the other programs and return its output."""
    sys.stderr.write(f"  … benchmarks.{program}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(name=program, folder=folder, database_url=f"sqlite:///{folder / 'bench.sqlite3'}")
        environment = bench.environment()
        if program in report.ON_A_SERVICE:
            bench.manage("demo", "--address", "http://127.0.0.1")
            service = stack.enter_context(bench.serving())
            environment |= {"EDITOR_URL": service.url, "EDITOR_API_KEY": bench.key}
        command = [sys.executable, "-m", f"benchmarks.{program}"]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    print(done.stdout, flush=True)
    return done.stdout


if __name__ == "__main__":
    os.environ.setdefault("SECRET_KEY", "bench")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
