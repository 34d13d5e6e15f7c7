"""Load on a server by `wrk`, and what it says."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

READERS, WRITERS = 16, 4


@dataclass(frozen=True)
class Load:
    """What is asked for, over and over: a path, or a path made by some Lua."""

    path: str = "/"
    script: str = ""
    connections: int = READERS
    key: str = ""
    """The API key, if it is to be another one."""

    def rate(self, url: str, key: str, seconds: int) -> float:
        """Return the requests a second that were answered; raises `RuntimeError` for any failure."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "load.lua"
            script.write_text(self.script)
            options = ["-s", str(script)] if self.script else []
            command = [
                "wrk",
                "-t1",
                f"-c{self.connections}",
                f"-d{seconds}s",
                *options,
                "-H",
                f"Authorization: Bearer {self.key or key}",
                url + self.path,
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}")
        found = re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)
        if found is None:
            raise RuntimeError(done.stdout)
        return float(found[1])


def any_of(path: str, count: int) -> Load:
    """Return a load of reads of random agents; `{}` in the path is the number."""
    before, after = path.split("{}")
    return Load(
        script=f'request = function() return wrk.format("GET", "{before}" .. '
        f'math.random(0, {count - 1}) .. "{after}") end'
    )


def in_turn(path: str, count: int) -> Load:
    """Return a load of reads of one agent after the other; `{}` in the path is the number."""
    before, after = path.split("{}")
    return Load(
        script=f'local n = 0\nrequest = function() n = n + 1; return wrk.format("GET", "{before}" .. '
        f'(n % {count}) .. "{after}") end'
    )


def writes(method: str, path: str, body: str) -> Load:
    """Return a load of writes by four writers; `{}` in the path and `%d` in the body are a running number."""
    before, _, after = path.partition("{}")
    target = f'"{before}" .. (n % 100) .. "{after}"' if "{}" in path else f'"{path}"'
    script = (
        "local n = os.time() * 100000\n"
        'wrk.headers["Content-Type"] = "application/json"\n'
        f'request = function() n = n + 1; return wrk.format("{method}", {target}, nil, '
        f"string.format('{body}', n)) end"
    )
    return Load(script=script, connections=WRITERS)
