"""Ports of this machine: free ones, and waiting until a process listens, or none any more."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

SECONDS = 60


def free_ports(how_many: int) -> list[int]:
    """Return unused ports on loopback, all different."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(how_many)]
    try:
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def free_port() -> int:
    """Return an unused port on loopback."""
    return free_ports(1)[0]


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the process listens; it has failed when it ends first."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=SECONDS).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError(f"no one listens on {port}:\n{log.read_text()}")


def wait_until_free(port: int) -> None:
    """Wait until no process listens on the port of this machine any more."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError(f"{port} is still taken")
