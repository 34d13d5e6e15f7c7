"""Experiments with real workers: processes that are killed over and over, and a provider that fails."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.runtime.model_server import Fails, ModelServer, Reply, Request, Says, running_model_server
from tests.support import fork_server
from tests.support.api import AGENTS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.experiments import make_experiment, results
from tests.support.remote import connected
from tests.support.scorers import make_scorer
from tests.support.service import Service, running_service

pytestmark = [pytest.mark.processes, pytest.mark.database]

OPENAI = {"provider": "openai", "name": "gpt-4o"}
CHOICES = [{"label": "good", "score": 1, "passes": True}, {"label": "bad", "score": 0, "passes": False}]
ITEMS, ATTEMPTS, KILLS = 30, 2, 4
CELLS = ITEMS * ATTEMPTS
RUBBISH = {7, 23}
"""The items to which the provider answers what no client understands."""
FAILURES: dict[tuple[str, int], Reply] = {
    ("agent", 5): Fails(429, "slowly", retry_after=1),
    ("agent", 17): Fails(500, "oops"),
    ("judge", 11): Fails(503, "away"),
}
"""What the provider answers when it is asked for the first time about some other items, and by whom."""
VERDICT = Says('{"reason": "It is.", "label": "good"}')
TOKENS = 11
"""What each question costs, of the agent or of the judge."""

# A worker whose leases end soon after it is killed.
WORKER = """
import signal, sys
import django
django.setup()
from versioning.models import due_work
from versioning.worker import jobs, running
due_work.LEASE_SECONDS = 2
running.RENEW_SECONDS = 0.5
worker = running.Worker([jobs.list_jobs()["experiments"]])
signal.signal(signal.SIGTERM, lambda *_: worker.stop())
sys.exit(not worker.run())
"""


class Moody:
    """A model that is slow, and fails the first time it is asked about some of the items."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, int]] = Counter()
        self._lock = Lock()

    def __call__(self, request: Request) -> Reply:
        """Answer as the agent or as the judge: both read which question it is."""
        time.sleep(0.03)
        text = str(request["messages"])
        number = int(text.partition("Question ")[2].partition(" ")[0])
        if number in RUBBISH:
            return Fails(200, "this is no completion")
        asked = ("judge" if "Is it kind?" in text else "agent", number)
        with self._lock:
            self.asked[asked] += 1
            if self.asked[asked] == 1 and asked in FAILURES:
                return FAILURES[asked]
        return VERDICT if asked[0] == "judge" else Says(f"Question {number} is answered")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """The provider."""
    with running_model_server() as server:
        server.model = Moody()
        yield server


@contextmanager
def workers(service: Service, log: Path) -> Iterator[Callable[[int], None]]:
    """Run two workers; yield what kills one of them and starts another in its place."""
    begun: list[fork_server.Program] = []

    def start() -> fork_server.Program:
        with log.open("ab") as file:
            return fork_server.start(
                "-c", WORKER, env=service.environment, stdout=file, stderr=file, is_set_up=True
            )

    def replace(one: int) -> None:
        os.kill(begun[one].pid, signal.SIGKILL)
        begun[one].wait(60)
        begun[one] = start()

    begun += [start(), start()]
    try:
        yield replace
    finally:
        for program in begun:
            program.terminate()
        for program in begun:
            program.wait(60)


def wait_for_queued(api: Api, experiment: str, number: int) -> None:
    """Wait until no more cells than these are left."""
    deadline = time.monotonic() + 120
    while (counts := api.get(experiment).body["counts"])["queued"] > number:
        assert time.monotonic() < deadline, counts
        time.sleep(0.1)


def test_killed_workers_lose_no_cell_and_double_none(model: ModelServer, tmp_path: Path) -> None:
    provider = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test"}
    with running_service(tmp_path, **provider) as service, connected(service) as api:
        here: dict[str, Any] = {"workspaceId": "default"}
        AGENTS.make(api, "writer", model=OPENAI, **here)
        make_scorer(api, "repeats", "contains", config={"values": ["{{input}}"]}, **here)
        judge = {"model": OPENAI, "instructions": "Is it kind?", "config": {"choices": CHOICES}}
        make_scorer(api, "kind", "llm-judge", **judge, **here)
        dataset = make_dataset(api, scorerIds=["repeats", "kind"], **here)
        for number in range(ITEMS):
            add_item(api, dataset, input=f"Question {number} ")
        target = {"targetType": "agent", "targetId": "writer", "selector": {"status": "draft"}}
        experiment = make_experiment(api, dataset, start=True, attempts=ATTEMPTS, **target)
        log = tmp_path / "workers.log"
        with workers(service, log) as replace:
            for turn in range(KILLS):
                wait_for_queued(api, experiment, CELLS - 10 * (turn + 1))
                replace(turn % 2)
            wait_for_queued(api, experiment, 0)
        assert not [line for line in log.read_text().splitlines() if "Traceback" in line], log.read_text()
        body = api.get(experiment).body
        found = results(api, experiment)
    failed = len(RUBBISH) * ATTEMPTS
    assert (body["outcome"], body["counts"]) == (
        "complete",
        {
            "cells": CELLS,
            "done": CELLS - failed,
            "errors": failed,
            "skipped": 0,
            "queued": 0,
            "notScorable": 0,
        },
    )
    asked = Counter((one["input"], one["attempt"]) for one in found)
    assert asked == Counter(
        (f"Question {number} ", attempt) for number in range(ITEMS) for attempt in range(ATTEMPTS)
    )
    for one in found:
        said = sorted((score["scorerId"], score["passed"]) for score in one["scores"])
        assert said == ([] if one["error"] else [("kind", True), ("repeats", True)])
    assert {one["n"] for one in body["summary"]} == {ITEMS - len(RUBBISH)}
    assert body["spent"]["inputTokens"] == 2 * TOKENS * (CELLS - failed)
    # A worker that is killed after a failure of the provider has not counted it.
    assert sum(one["retryCount"] for one in found) <= len(FAILURES)
