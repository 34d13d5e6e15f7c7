"""Schedules with real workers, which are processes: shared, killed, away, and raced by people."""

from __future__ import annotations

import datetime
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.schedules.conftest import ahead
from tests.support import fork_server
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.reviews import reference
from tests.support.service import Service, running_service

pytestmark = pytest.mark.processes

MANY = 10
PUNCTUAL = 30
"""Seconds within which something happens after its minute, on a machine that has much else to do."""
KINDS = (AGENTS, PROMPT_BLOCKS)

# Time passes by changing rows: the schedules come due in this many seconds.
COME = """
import datetime
from django.utils import timezone
from capabilities.schedules.models import Schedule
moment = timezone.now() + datetime.timedelta(seconds={seconds})
Schedule.objects.waiting().filter(pk__in={ids!r}).update(run_at=moment, due_at=moment)
"""
# The turn of a worker, at a moment that both processes wait for.
RUN_AT = """
import sys, time
import django
django.setup()
from capabilities.schedules import running
time.sleep(max(0, float(sys.argv[1]) - time.time()))
runner = running.Runner()
for _ in range(3):
    runner.run_versions()
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server without a worker."""
    with running_service(tmp_path_factory.mktemp("schedules")) as running:
        yield running


@pytest.fixture
def begun() -> Iterator[list[fork_server.Program]]:
    """The processes that a test starts, which end with it."""
    programs: list[fork_server.Program] = []
    yield programs
    for one in programs:
        if one.poll() is None:
            os.kill(one.pid, signal.SIGKILL)
            one.wait(60)


def shell(service: Service, program: str, **values: Any) -> str:
    return service.manage("shell", "--no-imports", "-c", program.format(**values))


def until_over(api: RemoteApi, ids: list[str]) -> list[dict[str, Any]]:
    """Wait until none of them is waiting to run, and return them."""
    deadline = time.monotonic() + 60
    while True:
        page = api.get("/schedules", perPage=1000).body["schedules"]
        rows = [row for row in page if row["id"] in ids]
        if all(row["state"] != "scheduled" for row in rows):
            return rows
        assert time.monotonic() < deadline, rows
        time.sleep(0.1)


def outcome(rows: list[dict[str, Any]]) -> tuple[set[str], float]:
    """Return the states of schedules, and the delay of the slowest in seconds."""
    moments = [
        [datetime.datetime.fromisoformat(row[name]) for name in ("runAt", "executedAt")] for row in rows
    ]
    return {row["state"] for row in rows}, max((done - due).total_seconds() for due, done in moments)


def worker(service: Service, log: Path) -> fork_server.Program:
    """Start a worker, and wait until it works."""
    with log.open("wb") as file:
        program = fork_server.start(
            "manage.py", "work", env=service.environment, stdout=file, stderr=file, is_set_up=True
        )
    deadline = time.monotonic() + 60
    while "the worker has begun" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return program


def schedule(api: RemoteApi, kind: Kind, resource_id: str, **more: Any) -> dict[str, Any]:
    """Make a resource with a draft over a live version, and schedule the draft for tomorrow."""
    kind.make(api, resource_id, autoPublish=True)
    draft = kind.save(api, resource_id)["latestVersionId"]
    body = {"resource": reference(kind, resource_id), "versionId": draft, "runAt": ahead(), **more}
    answer = api.post("/schedules", body)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def published(api: RemoteApi, ids: list[str]) -> Counter[str]:
    """Return how often each of the schedules published a version."""
    events = api.get("/events", type="agent.published,promptBlock.published", limit=1000).body["events"]
    counted = Counter(event["detail"].get("scheduleId") for event in events)
    return Counter({one: counted[one] for one in ids if counted[one]})


@pytest.mark.database
def test_two_workers_run_each_schedule_once_and_punctually(
    service: Service, begun: list[fork_server.Program], tmp_path: Path
) -> None:
    with connected(service) as api:
        ids = [schedule(api, KINDS[one % 2], f"both-{one}")["id"] for one in range(MANY)]
        begun += [worker(service, tmp_path / f"{one}.log") for one in range(2)]
        shell(service, COME, seconds=1, ids=ids)
        states, delay = outcome(until_over(api, ids))
        assert states == {"done"} and delay < PUNCTUAL
        assert published(api, ids) == Counter(ids)


@pytest.mark.postgresql
def test_another_worker_continues_after_a_killed_one_within_seconds(
    service: Service, begun: list[fork_server.Program], tmp_path: Path
) -> None:
    with connected(service) as api:
        ids = [schedule(api, KINDS[one % 2], f"killed-{one}")["id"] for one in range(MANY)]
        begun.append(worker(service, tmp_path / "killed.log"))
        shell(service, COME, seconds=0, ids=ids)
        deadline = time.monotonic() + 60
        while not published(api, ids):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(begun[0].pid, signal.SIGKILL)
        begun[0].wait(60)
        at = time.monotonic()
        begun.append(worker(service, tmp_path / "other.log"))
        ready = time.monotonic() - at
        states, delay = outcome(until_over(api, ids))
        assert states == {"done"} and delay < PUNCTUAL + ready
        assert published(api, ids) == Counter(ids)


Act = Callable[[RemoteApi, Kind, dict[str, Any]], Answer]


def _cancel(api: RemoteApi, kind: Kind, made: dict[str, Any]) -> Answer:
    return api.delete(f"/schedules/{made['id']}")


def _postpone(api: RemoteApi, kind: Kind, made: dict[str, Any]) -> Answer:
    return api.patch(f"/schedules/{made['id']}", {"runAt": ahead(48)})


def _delete(api: RemoteApi, kind: Kind, made: dict[str, Any]) -> Answer:
    return api.delete(kind.url(made["resource"]["id"]))


@pytest.mark.postgresql
@pytest.mark.parametrize("act", [_cancel, _postpone, _delete])
def test_a_concurrent_change_takes_effect_either_before_or_after_the_run(
    service: Service, begun: list[fork_server.Program], act: Act
) -> None:
    """A person cancels, postpones or deletes while two processes run the due schedules."""
    turns = 8
    with connected(service) as api:
        made = [schedule(api, KINDS[one % 2], f"{act.__name__}-{one}") for one in range(turns)]
    ids = [one["id"] for one in made]
    moment = time.time() + 2
    begun += [
        fork_server.start("-c", RUN_AT, str(moment), env=service.environment, is_set_up=True)
        for _ in range(2)
    ]
    shell(service, COME, seconds=moment - time.time() - 0.5, ids=ids)

    def job(api: RemoteApi, one: int) -> Answer:
        time.sleep(max(0.0, moment - time.time()))
        return act(api, KINDS[one % 2], made[one])

    answers = at_once(service, [partial(job, one=one) for one in range(turns)])
    assert [program.wait(60) for program in begun] == [0, 0]
    with connected(service) as api:
        moved = published(api, ids)
        for one, answer in enumerate(answers):
            state = api.get(f"/schedules/{ids[one]}").body
            where = moved[ids[one]]
            if act is _delete:
                assert answer.status == 200
                assert (state["state"], state["code"], where) in {("done", None, 1), ("failed", "gone", 0)}
            elif answer.status == 200:
                left = "cancelled" if act is _cancel else "scheduled"
                assert (state["state"], where) == (left, 0)
                assert state["executedAt"] is None or act is _cancel
            else:
                assert (answer.status, answer.code) == (409, "schedule_ended")
                assert (state["state"], where) == ("done", 1)


def test_a_restarted_worker_runs_late_schedules_and_misses_those_too_late(
    service: Service, begun: list[fork_server.Program], tmp_path: Path
) -> None:
    with connected(service) as api:
        made = [schedule(api, kind, f"away-{which}") for kind in KINDS for which in ("hour", "week")]
        for first, hours in ((0, 1), (1, 7 * 24)):
            shell(service, COME, seconds=-3600 * hours, ids=[one["id"] for one in made[first::2]])
        begun.append(worker(service, tmp_path / "back.log"))
        until_over(api, [one["id"] for one in made])
        states = [api.get(f"/schedules/{one['id']}").body["state"] for one in made]
        live = [
            api.get(kind.url(f"away-{which}")).body["activeVersionId"]
            for kind in KINDS
            for which in ("hour", "week")
        ]
    assert states == ["done", "missed"] * 2
    assert [one == made[number]["versionId"] for number, one in enumerate(live)] == [True, False] * 2


@pytest.mark.postgresql
def test_cancelling_a_pair_while_its_resource_is_deleted_gets_an_answer(service: Service) -> None:
    """Both requests end the two schedules: one succeeds, and the other finds them ended."""
    turns = 6
    with connected(service) as api:
        made = []
        for one in range(turns):
            kind = KINDS[one % 2]
            live = kind.make(api, f"pair-{one}", autoPublish=True)["latestVersionId"]
            draft = kind.save(api, f"pair-{one}")["latestVersionId"]
            body = {"resource": reference(kind, f"pair-{one}"), "versionId": draft, "runAt": ahead()}
            answer = api.post("/schedules", {**body, "until": ahead(48), "then": {"versionId": live}})
            assert answer.status == 201, answer.body
            made.append(answer.body)
    jobs = [
        partial(act, kind=KINDS[one % 2], made=made[one])
        for one in range(turns)
        for act in (_cancel, _delete)
    ]
    answers = at_once(service, jobs)
    with connected(service) as api:
        for one, pair in enumerate(made):
            cancelled, deleted = answers[2 * one], answers[2 * one + 1]
            assert (cancelled.status, deleted.status) in {(200, 200), (409, 200)}, (
                cancelled.body,
                deleted.body,
            )
            states = {api.get(f"/schedules/{key}").body["state"] for key in (pair["id"], pair["pairedWith"])}
            assert states == ({"cancelled"} if cancelled.status == 200 else {"failed"})
