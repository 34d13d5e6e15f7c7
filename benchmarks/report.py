"""The figures on the page with the results."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks.load import READERS, WRITERS
from benchmarks.measures import Row

PACKAGES = ("Django", "djangorestframework", "granian", "psycopg", "pydantic-ai-slim")

PARTS = ("writes", "generate", "studio", "exports", "client", "git_history")
"""The other programs that `make bench` runs; the page names those that take longer, too."""

ON_A_SERVICE = {"client"}
"""The programs that need a running service."""

CONDITIONS = """\
wrk reads over {readers} connections and writes over {writers}. Each load takes {seconds}
seconds, after {warm_up} to warm up.
Machine: {machine}; load when the benchmark ended: {load}.
Versions: {versions}."""


def page(text: str, figures: Mapping[str, str]) -> str:
    """Return the page with these figures, by name, each between `<!-- NAME -->` and `<!-- end -->`.

    Raises `KeyError` for a name that the page does not have.
    """
    for name, figure in figures.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if not mark:
            raise KeyError(name)
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{mark}\n{figure}\n\n{end}{after}"
    return text


def conditions(seconds: int, warm_up: int) -> str:
    """Return how it was measured, and on what."""
    processors = Path("/proc/cpuinfo").read_text().split("model name\t: ")[1].split("\n")[0]
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 1024**2
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    packages = (f"{name} {version(name)}" for name in PACKAGES)
    return CONDITIONS.format(
        readers=READERS,
        writers=WRITERS,
        seconds=seconds,
        warm_up=warm_up,
        machine=f"{os.cpu_count()} cores of {processors}, {memory} GiB, Linux {platform.release()}",
        load=", ".join(f"{one:.1f}" for one in os.getloadavg()),
        versions=", ".join([f"Python {platform.python_version()}", *packages, wrk.split(" [")[0]]),
    )


def table(rows: Iterable[Row]) -> str:
    """Return the table of what was measured at the server."""
    head = "| database | measure | figure | target | met |\n|---|---|---|---|---|"
    return "\n".join([head, *(row.line for row in rows)])


def printed(output: str) -> str:
    """Return the output of another program, as the page shows it."""
    return "\n".join(f"    {line}".rstrip() for line in output.strip("\n").splitlines())
