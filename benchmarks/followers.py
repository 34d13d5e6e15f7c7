"""What a publish costs when 1, 4 and 16 processes follow the log.

    python -m benchmarks.followers [PUBLISHES]

Each process is a `serve` of its own on one PostgreSQL. One of them publishes; then each is asked for the
agent, and has to answer with what was published. Transactions are those that PostgreSQL counts, so they do
not depend on what else the machine does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.serving import Bench
from tests.support.postgres import throwaway_postgres
from tests.support.remote import RemoteApi

COUNTS = (1, 4, 16)
_TRANSACTIONS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


def transactions(url: str) -> int:
    """Return how many transactions the database has committed."""
    time.sleep(1.5)  # it counts what a connection did once a second
    with psycopg.connect(url, autocommit=True) as server:
        [found] = server.execute(_TRANSACTIONS).fetchone() or [0]
    return int(found)


def measured(url: str, apis: Sequence[RemoteApi], publishes: int) -> str:
    """Publish, and read everywhere; return a line."""
    publishing: list[float] = []
    reading: list[float] = []
    before = 0
    for turn in range(publishes + 5):
        if turn == 5:  # warm
            publishing, reading, before = [], [], transactions(url)
        began = time.perf_counter()
        text = f"turn {turn} {len(apis)}"
        saved = apis[0].patch("/stored/agents/p0", {"instructions": text, "autoPublish": True})
        published = time.perf_counter()
        assert saved.status == 200, saved
        for api in apis:
            assert api.get("/agents/p0").body["instructions"] == text
        publishing.append((published - began) * 1000)
        reading.append((time.perf_counter() - published) * 1000 / len(apis))
    count = (transactions(url) - before) / publishes
    return (
        f"{len(apis):3} followers   publish {median(publishing):6.1f} ms   "
        f"next read of each {median(reading):6.1f} ms   transactions {count:6.1f}"
    )


def main(publishes: int) -> None:
    """Measure and print."""
    with throwaway_postgres(fsync="on") as url, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(name="followers", folder=Path(folder), database_url=url)
        bench.fill("p", 50, 2)
        urls: list[str] = []
        for count in COUNTS:
            while len(urls) < count:
                service = stack.enter_context(bench.serving(EDITOR_WORKER="off"))
                urls.append(service.url.removeprefix("http://"))
            apis = [RemoteApi(key=bench.key, address=one) for one in urls]
            print(measured(url, apis, publishes), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
