"""The page with the results."""

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
    "exports": "Results of experiments as files",
    "client": "The Python client",
    "git_history": "The history of an override file",
    "soak": "Reads beside saves and runs",
}
"""The other programs, with the titles of their sections."""

ON_A_SERVICE = {"client"}
"""The programs that need a running service."""

HERE = Path(__file__).parent

PAGE = """# Performance

`make bench` measures and writes this page.

    make bench            # needs wrk and PostgreSQL, on Debian: apt-get install wrk postgresql

Compare the ratios, not the rates: both sides of a ratio are measured one after the other on the same machine.
A bare view is a Django `HttpResponse` served by the same server (granian, WSGI, one process) without any
middleware. The editor's requests have an API key, and each is logged. wrk reads over {readers} connections
and writes over {writers}, each load for {seconds} seconds after a warm-up of {warm_up}, and any answer other
than a success ends the benchmark. SQLite runs with WAL and `synchronous=FULL`, PostgreSQL with
`fsync` and the pool.

Machine: {machine}; load when the benchmark ended: {load}.
Versions: {versions}.

| database | measure | figure | target | met |
|---|---|---|---|---|
{rows}

## Where the time goes

An answer is cached together with what it depends on (`versioning/api/cached_answers.py`). Asking the same
again takes one prepared statement, which asks for the position of the log, and nothing more if that has not
moved; requests that arrive together share it
([decision 19](decisions/0019-cached-reads-are-answered-together.md)). Of the 35 µs of processor that a
cached read takes, 19 are granian's and 4 the line in the log. A first read is made without Django if
the same was asked about another agent in the last minute: of its 350 µs, 100 are the query and its
objects. Otherwise it is processed by Django and REST framework, and takes 1 ms; so does the first read
of a key in every minute, because its use is recorded. `EDITOR_CACHE_BYTES` limits the cache: 16 MiB
hold about 20 000 answers of 1 KB; what is read at random among more is made again.

Of the 95 MiB with which a worker begins, it shares 40 with the process that has started it and with its
siblings; 8 are the driver for PostgreSQL, which REST framework loads in any case. It grows by the cache and
by the connections of its threads. A worker that runs agents loads the agent library in its first run: that
takes half a second and 36 MiB, which it does not share.

A write takes authentication, validation, one locked transaction with its entries in the log, and on SQLite
one `fsync` before the answer. Writers wait for each other from taking the lock until the end of the `fsync`,
whether they are in one worker or in several. 450 writes a second would need that to take at most 2.2 ms; [the
next section](#what-a-write-takes) shows how long it takes, and for what.

Two workers share the cores with wrk, more than one worker does: on a machine with only as many cores as
workers, that row cannot say more.

How soon a stream has an event is measured from the time that the event itself names, just before its commit,
until a client has it. The publishes come at any moment between two looks at the log, which are a quarter of a
second apart. All clients run in one thread, on the same cores as the services.

On PostgreSQL the statement about the log is a round trip on its own connection. PostgreSQL and wrk run on the
same cores as the service.
{parts}"""

PART = """
## {title}

{text}

{printed}
"""


def page(rows: Iterable[Row], parts: Iterable[tuple[str, str]], seconds: int, warm_up: int) -> str:
    """Return the page; `parts` are the names of other programs and their output."""
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
    """Return the section of another program, which explains itself."""
    about = ast.get_docstring(ast.parse((HERE / f"{program}.py").read_text())) or ""
    lines = "\n".join(f"    {line}".rstrip() for line in printed.strip("\n").splitlines())
    return PART.format(title=PARTS[program], text=about, printed=lines)
