"""Callers of an installation: they read, save and publish, and listen, and count what fails."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

PAUSE = 0.01
"""Seconds between two requests of a caller."""
TIMEOUT = 30.0
Send = Callable[..., bool]


@dataclass
class Callers:
    """The requests of all callers so far."""

    url: str
    key: str
    agents: int
    """How many there are, by the names `f0`, `f1`, …"""
    requests: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    """How the failed ones ended: a status, or an error of the connection."""
    failures: list[float] = field(default_factory=list)
    """When they ended."""
    slowest: float = 0.0
    published: int = 0
    heard: set[int] = field(default_factory=set)
    is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, began: float, outcome: str) -> None:
        """Count a request that began at a moment of the monotonic clock."""
        with self._lock:
            self.requests[what] += 1
            self.failed[what] += outcome != "ok"
            if outcome != "ok":
                self.outcomes[outcome] += 1
                self.failures.append(time.monotonic())
            self.slowest = max(self.slowest, time.monotonic() - began)

    def read(self) -> None:
        """Read agents."""

        def ask(send: Send) -> None:
            send("GET", f"/api/agents/f{random.randrange(self.agents)}")

        self._call("reads", ask)

    def write(self) -> None:
        """Save agents and publish them."""

        def ask(send: Send) -> None:
            body = {"instructions": f"Be brief. {time.time()}", "autoPublish": True}
            if send("PATCH", f"/api/stored/agents/f{random.randrange(self.agents)}", body):
                self.published += 1

        self._call("saves", ask)

    def _call(self, what: str, ask: Callable[[Send], None]) -> None:
        connection = self._connection()

        def send(method: str, path: str, body: object = None) -> bool:
            began, outcome = time.monotonic(), ""
            try:
                connection.request(method, path, json.dumps(body) if body else None, self._headers())
                answer = connection.getresponse()
                answer.read()
                outcome = "ok" if answer.status == 200 else str(answer.status)
            except (OSError, HTTPException) as error:
                outcome = type(error).__name__
                connection.close()  # the next request opens it again
            self.note(what, began, outcome)
            return outcome == "ok"

        while not self.is_over.wait(PAUSE):
            ask(send)

    def listen(self) -> None:
        """Listen to the events, and go on after the last one when the stream ends."""
        last = "now"
        while not self.is_over.is_set():
            connection = self._connection()
            headers = self._headers() | ({} if last == "now" else {"Last-Event-ID": last})
            with suppress(OSError, HTTPException):
                path = "/api/events/stream" + ("?after=now" if last == "now" else "")
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                while answer.status == 200 and (line := answer.readline()) and not self.is_over.is_set():
                    if line.startswith(b"id:"):
                        last = line[3:].strip().decode()
                        self.heard.add(int(last))
            connection.close()
            self.is_over.wait(0.2)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(urlsplit(self.url).netloc, timeout=TIMEOUT)

    def begin_phase(self) -> None:
        """Count from here."""
        with self._lock:
            for one in (self.requests, self.failed, self.outcomes, self.failures):
                one.clear()
            self.slowest = 0.0

    def phase(self) -> str:
        """Return what has happened since `begin_phase`, in a line."""
        counts = [
            f"{one} {self.requests[one]:6,} failed {self.failed[one]:3}   " for one in ("reads", "saves")
        ]
        failing = max(self.failures, default=0.0) - min(self.failures, default=0.0)
        ends = " ".join(f"{one}:{number}" for one, number in self.outcomes.items())
        return f"{''.join(counts)}for {failing:4.1f} s   slowest {self.slowest:4.1f} s   {ends}"

    def send(self, method: str, path: str, body: object) -> None:
        """Send a request that has to succeed, which is not counted."""
        connection = self._connection()
        connection.request(method, path, json.dumps(body), self._headers())
        answer = connection.getresponse()
        assert answer.status < 300, answer.read()
        connection.close()
