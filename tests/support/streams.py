"""Listening to a stream as it comes, and leaving it; servers to listen to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPResponse
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.support import fork_server
from tests.support.ports import free_port
from tests.support.remote import RemoteApi, streaming
from tests.support.runs import run_path
from tests.support.service import Service

PING = ": ping"
DONE = "data: [DONE]"
SECONDS_FOR_AN_ANSWER = 60


@dataclass
class Stream:
    """An answer that is still being given."""

    response: HTTPResponse

    @property
    def headers(self) -> Any:
        """The headers of the answer."""
        return self.response.headers

    def frames(self) -> Iterator[str]:
        """Yield the frames between blank lines, each as soon as it has arrived."""
        lines: list[str] = []
        for line in iter(self.response.readline, b""):
            assert line.endswith(b"\n"), line
            if line == b"\n":
                yield "\n".join(lines)
                lines = []
            else:
                lines.append(line.decode().removesuffix("\n"))
        assert not lines, lines

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events before `[DONE]`, without the comments between them."""
        for frame in takewhile(DONE.__ne__, self.frames()):
            if frame != PING:
                assert frame.startswith("data: {") and "\n" not in frame, frame
                yield json.loads(frame.removeprefix("data: "))


@contextmanager
def listening(api: RemoteApi, agent_id: str, **body: Any) -> Iterator[Stream]:
    """Ask an agent on a new connection and listen; leaving the block is going away."""
    request = api.prepare("POST", run_path(agent_id, "stream"), {"messages": "hello", **body})
    request[-1]["accept"] = "text/event-stream"
    with streaming(api.address, *request) as response:
        yield Stream(response)


def beside(service: Service, folder: Path, **environment: str) -> Service:
    """Return another server, not started yet, on the database of a service."""
    own = {**service.environment, **environment}
    return replace(
        service, url=f"http://127.0.0.1:{free_port()}", environment=own, folder=folder, process=None
    )


@contextmanager
def served_asynchronously(service: Service) -> Iterator[str]:
    """Serve the ASGI application along with a service, on the same database, and yield its host and port."""
    port = str(free_port())
    address = f"127.0.0.1:{port}"
    command = ["-m", "granian", "--interface", "asgi", "--log-level", "error"]
    command += ["--host", "127.0.0.1", "--port", port, "editor_project.asgi:application"]
    with (service.folder / "asgi.log").open("wb") as log:
        process = fork_server.start(*command, env=service.environment, stdout=log, stderr=log, is_set_up=True)
    try:
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(address: str, process: fork_server.Program) -> None:
    deadline = time.monotonic() + SECONDS_FOR_AN_ANSWER
    while time.monotonic() < deadline:
        assert process.poll() is None
        try:
            with urlopen(f"http://{address}/readyz", timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    raise AssertionError("the ASGI server does not answer")
