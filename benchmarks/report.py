"""The page that the benchmark writes."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from benchmarks.load import READERS, WRITERS
from benchmarks.measures import Row

PACKAGES = ("Django", "djangorestframework", "granian", "psycopg", "pydantic-ai-slim")

PARTS = {
    "writes": "What a write takes",
    "generate": "`generate`",
    "studio": "The studio",
    "client": "The Python client",
    "git_history": "The history of an override file",
}
"""The programs beside this one, and what they are about."""

ON_A_SERVICE = {"client"}
"""Those that ask a running service."""

HERE = Path(__file__).parent

PAGE = """# Performance

`make bench` measures and writes this page.

    make bench            # needs wrk and PostgreSQL, on Debian: apt-get install wrk postgresql

Ratios count, not rates: both sides of one are measured one after the other on the same machine. A bare view
is a Django `HttpResponse` served by the same server (granian, WSGI, one process) without any middleware.
The editor's requests come with an API key, and each leaves its line in the log. wrk reads over {readers}
connections and writes over {writers}, each load for {seconds} seconds after {warm_up} to warm up, and any
answer but a success ends the benchmark. SQLite runs with WAL and `synchronous=FULL`, PostgreSQL with
`fsync` and the pool.

Machine: {machine}; load when the benchmark ended: {load}.
Versions: {versions}.

| database | measure | figure | target | met |
|---|---|---|---|---|
{rows}

## Where the time goes

An answer is cached with what it depends on (`versioning/api/cached_answers.py`). A request that asks the
same again costs one prepared statement, which asks where the log is, and nothing more where it has not
moved. The first read after a change goes the ordinary way, through Django and REST framework, and so does
the first of a key in every minute, whose use is noted. `EDITOR_CACHE_BYTES` bounds what is cached.

A write goes the ordinary way too: authentication, validation, one locked transaction with its audit entry,
and on SQLite one `fsync` before the answer. Writers wait for one another from the moment they take the lock
until that `fsync` is done, in several workers as in one. 500 writes a second would need that to take less
than 2 ms; what it takes, and for what, is [below](#what-a-write-takes).

Two workers share the two cores with wrk, which one worker does not: where there are only as many cores as
workers, that row cannot say more.

On PostgreSQL that statement is a round trip on a connection of its own. PostgreSQL itself, and wrk, work on
the same cores.

Most of a worker's memory is there before the first request, about a third of it the agent library. Reads
drawn by lot of more agents than `EDITOR_CACHE_BYTES` holds mostly go the ordinary way.
{parts}"""

PART = """
## {title}

{text}

{printed}
"""


def page(rows: Iterable[Row], parts: Iterable[tuple[str, str]], seconds: int, warm_up: int) -> str:
    """Return the page; of each other program its name and what it printed."""
    processors = Path("/proc/cpuinfo").read_text().split("model name\t: ")[1].split("\n")[0]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 1024**2
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    packages = (f"{name} {version(name)}" for name in PACKAGES)
    return PAGE.format(
        readers=READERS,
        writers=WRITERS,
        seconds=seconds,
        warm_up=warm_up,
        machine=f"{os.cpu_count()} cores of {processors}, {memory} GiB, Linux {platform.release()}",
        load=", ".join(f"{one:.1f}" for one in os.getloadavg()),
        versions=", ".join([f"Python {platform.python_version()}", *packages, wrk.split(" [")[0]]),
        rows="\n".join(row.line for row in rows),
        parts="".join(_part(program, printed) for program, printed in parts),
    )


def _part(program: str, printed: str) -> str:
    """Return the part of the page about another program, which says itself what it does."""
    about = ast.get_docstring(ast.parse((HERE / f"{program}.py").read_text())) or ""
    lines = "\n".join(f"    {line}".rstrip() for line in printed.strip("\n").splitlines())
    return PART.format(title=PARTS[program], text=about, printed=lines)
