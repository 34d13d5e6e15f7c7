"""The page that the benchmark writes."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from benchmarks.load import READERS, WRITERS
from benchmarks.measures import Row

PACKAGES = ("Django", "djangorestframework", "granian", "psycopg", "pydantic-ai-slim")

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

An answer is kept under what it was made of (`versioning/api/keeping.py`). A request that asks the same
again costs one prepared statement, which reads the key, its rights and the pointers of this moment, and a
comparison. The first read after a change goes the ordinary way, through Django's queries and REST
framework, and so does the first of a key in every minute, whose use is noted. `EDITOR_KEPT_BYTES` bounds
what is kept.

A write is the ordinary way too: authentication, validation, one locked transaction with its audit entry,
and on SQLite one `fsync` before the answer, which writers wait for in turn. Profiled in process, a write
takes 7 to 12 statements and 4 to 10 ms of the processor, most of it spent on building Django's queries anew
for every request; locking and reading the record with its versions is a seventh of it, and the look for
cycles of an agent with sub-agents more than a quarter. 500 writes a second of one process would need 2 ms.

What is kept and what a worker may grow to pull in opposite directions. Most of a worker's memory is there
before the first request, about a third of it the agent library. Reads drawn by lot of more agents than
`EDITOR_KEPT_BYTES` holds mostly go the ordinary way: where memory allows, let it hold the agents that are
read.

## `generate`

What a framework adds to a run of pydantic-ai alone: the same echo model, instructions and tool, without an
editor and without HTTP (`python benchmarks/generate.py`; medians of 300 runs each, drawn in an order by
lot).

{generate}
"""


def page(rows: Iterable[Row], generate: str, seconds: int, warm_up: int) -> str:
    """Return the page."""
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
        generate="\n".join(f"    {line}" for line in generate.splitlines()),
    )
