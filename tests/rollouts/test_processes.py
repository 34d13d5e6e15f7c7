"""Rollouts and counting over processes: a stop is seen by all, a kill loses only what is a moment old."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.api import AGENTS
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.rollouts import arm, start, started
from tests.support.runs import agent, run
from tests.support.served import served
from tests.support.service import Service, running_service

pytestmark = pytest.mark.postgresql

CALLERS, RUNS_OF_EACH = 4, 20
LOST_AT_MOST = 5
"""The seconds of counts that a kill may take with it."""
SECONDS_TO_WAIT = 60


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server of two processes."""
    folder = tmp_path_factory.mktemp("processes")
    with running_service(folder, "--workers", "2", EDITOR_THROTTLE="100000/min") as running:
        with connected(running) as api:
            agent(api, "writer")
        yield running


def run_often(service: Service) -> int:
    """Run the agent over a separate connection, and return how often it answered."""
    with connected(service) as api:
        return sum(run(api).status == 200 for _ in range(RUNS_OF_EACH))


def counted(service: Service) -> int:
    """Return how many runs are stored."""
    with connected(service) as api:
        return sum(one["runs"] for one in api.get("/usage", kind="agent", id="writer").body["usage"])


def test_runs_of_two_processes_are_counted_exactly_and_survive_a_stop_and_a_kill(service: Service) -> None:
    before = counted(service)
    with ThreadPoolExecutor(CALLERS) as callers:
        done = before + sum(callers.map(run_often, [service] * CALLERS))
    time.sleep(LOST_AT_MOST)
    service.kill()
    service.start()
    assert counted(service) == done == before + CALLERS * RUNS_OF_EACH
    with connected(service) as api:
        assert run(api).status == 200
        waiting_until = time.monotonic() + SECONDS_TO_WAIT
        while counted(service) != done + 1 and time.monotonic() < waiting_until:
            time.sleep(0.05)
        assert counted(service) == done + 1
        assert run(api).status == 200
    service.stop()  # which writes at once
    service.start()
    assert counted(service) == done + 2


def test_a_stop_is_seen_by_the_next_read_of_every_process_under_load(service: Service) -> None:
    context, is_over = {"userId": "ada"}, threading.Event()

    def read_all_the_time() -> int:
        reads = 0
        with connected(service) as api:
            while not is_over.is_set():
                assert served(api, context=context)["instructions"] in {"one", "two"}
                reads += 1
        return reads

    def seen(times: int) -> set[str]:
        """Read over connections of their own, which both processes accept."""
        found = set()
        for _ in range(times):
            with connected(service) as api:
                found.add(served(api, context=context)["instructions"])
        return found

    with connected(service) as api, ThreadPoolExecutor(CALLERS) as readers:
        draft = AGENTS.save(api, "writer", "two")["latestVersionId"]
        reading = [readers.submit(read_all_the_time) for _ in range(CALLERS)]
        try:
            for _ in range(3):
                rollout = started(api, AGENTS, arm(draft))
                assert seen(6) == {"two"}
                assert api.post(f"/rollouts/{rollout['id']}/stop", {}).status == 200
                assert seen(6) == {"one"}
        finally:
            is_over.set()
        assert all(one.result() > 0 for one in reading)


def test_concurrent_changes_of_a_rollout_are_serialized(service: Service) -> None:
    with connected(service) as api:
        for _ in range(3):
            race(service, api)


def race(service: Service, api: RemoteApi) -> None:
    """Start three times concurrently; stop and complete concurrently; publish and start concurrently."""
    AGENTS.publish(api, "writer", AGENTS.save(api, "writer", "one")["latestVersionId"])
    draft = AGENTS.save(api, "writer", "two")["latestVersionId"]
    begun = at_once(service, [lambda api: start(api, AGENTS, arm(draft)).status] * 3)
    assert sorted(begun) == [201, 409, 409]
    [running] = api.get("/rollouts", state="running").body["rollouts"]
    here = f"/rollouts/{running['id']}"
    stopped, completed = at_once(
        service,
        [
            lambda api: api.post(f"{here}/stop", {}).status,
            lambda api: api.post(f"{here}/complete", {"arm": "new"}).status,
        ],
    )
    assert sorted([stopped, completed]) == [200, 409]
    assert api.get(here).body["state"] == ("completed" if completed == 200 else "stopped")
    assert served(api)["instructions"] == ("two" if completed == 200 else "one")
    raced = at_once(
        service,
        [
            lambda api: api.post(f"{AGENTS.url('writer')}/versions/{draft}/activate").status,
            lambda api: start(api, AGENTS, arm(draft)).status,
        ],
    )
    # It was published, and then begun; or it was begun, and then not published, unless it was live already.
    assert raced in ([200, 201], [409, 201])
    for one in api.get("/rollouts", state="running").body["rollouts"]:
        assert api.post(f"/rollouts/{one['id']}/stop", {}).status == 200
