"""Programs of the examples, run as their readers run them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support import fork_server
from tests.support.ports import free_port, wait_for
from tests.support.service import ROOT, Service


def credentials(service: Service) -> dict[str, str]:
    """Return the variables by which a program finds the service."""
    return {"EDITOR_URL": service.url, "EDITOR_API_KEY": service.key}


def run(*command: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program to its end."""
    return fork_server.run(*command, env={**os.environ, **environment}, cwd=folder)


@contextmanager
def flask_application(
    environment: Mapping[str, str], log: Path, *, app: str = "examples.flask_app.app", port: int | None = None
) -> Iterator[str]:
    """Run a Flask application of the examples and yield its host and port."""
    port = port or free_port()
    command = ("-m", "flask", "--app", app, "run", "--port", str(port))
    with log.open("ab") as output:
        process = fork_server.start(*command, env={**os.environ, **environment}, stdout=output, stderr=output)
    try:
        wait_for(port, process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
