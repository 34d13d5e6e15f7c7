"""Workers are processes: they share due rows, they are killed, and they end with the server."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support import fork_server
from tests.support.api import AGENTS
from tests.support.override_files import Repository, repository
from tests.support.remote import connected
from tests.support.service import (
    ROOT,
    Service,
    environment_of,
    new_database,
    running_service,
    template_database,
)

DUE = 200
LEASE = 3  # seconds; renewed every one
NOTICED_WITHIN = 5

# Works on rows, and prints each before it is done and after; `slow` ones take long the first time.
WORKER = """
import signal, sys, time
import django
django.setup()
from versioning.models import due_work, PeriodicJob
from versioning.worker import jobs, running

due_work.LEASE_SECONDS = float(sys.argv[1])
running.RENEW_SECONDS = due_work.LEASE_SECONDS / 3

def say(line):
    print(f"{line}\\n", end="", flush=True)  # at once, because there are several threads

def run(row):
    say(f"begun {row.pk}")
    if row.pk.startswith("slow") and row.attempts == 1:
        time.sleep(float(sys.argv[2]))
    row.finish()
    say(f"done {row.pk}")

worker = running.Worker([jobs.Queue(name="chores", model="versioning.PeriodicJob", run=run, threads=2)])
signal.signal(signal.SIGTERM, lambda *_: worker.stop())
say("ready")
sys.exit(not worker.run())
"""
MAKE = """
from django.db.models.functions import Now
from versioning.models import PeriodicJob
PeriodicJob.objects.bulk_create([PeriodicJob(name=name, due_at=Now()) for name in {names!r}])
"""
LEFT = """
from versioning.models import PeriodicJob
print(PeriodicJob.objects.exclude(due_at=None).count())
"""


class Process:
    """A worker process; its output goes into a file."""

    begun: ClassVar[list[fork_server.Program]] = []

    def __init__(self, environment: dict[str, str], output: Path, *arguments: object) -> None:
        self.output = output
        with output.open("wb") as file:
            self.process = fork_server.start(
                *map(str, arguments), env=environment, stdout=file, stderr=file, is_set_up=True
            )
        self.begun.append(self.process)

    @property
    def lines(self) -> list[str]:
        return self.output.read_text().splitlines()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the status; a process that does not end is ended."""
        os.kill(self.process.pid, number)
        return self.process.wait(60)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End processes that a failed test left running."""
    yield
    for process in Process.begun:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
    Process.begun.clear()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of processes with their own database."""
    with new_database(tmp_path / "live.sqlite3", template_database().url) as database_url:
        yield environment_of(database_url)


def manage(environment: dict[str, str], program: str) -> str:
    return Service(url="", environment=environment, folder=ROOT).manage(
        "shell", "--no-imports", "-c", program
    )


def eventually(holds: Callable[[], bool]) -> float:
    """Wait until something holds, and return how many seconds that took."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < 60
        time.sleep(0.02)
    return time.monotonic() - begun


def test_two_workers_do_each_of_many_rows_once(environment: dict[str, str], tmp_path: Path) -> None:
    names = [f"row {number}" for number in range(DUE)]
    workers = [Process(environment, tmp_path / f"{one}.log", "-c", WORKER, 45, 0) for one in range(2)]
    eventually(lambda: all("ready" in worker.lines for worker in workers))
    manage(environment, MAKE.format(names=names))

    def done() -> list[str]:
        return [line for worker in workers for line in worker.lines if line.startswith("done")]

    eventually(lambda: len(done()) >= DUE)
    assert [worker.end() for worker in workers] == [0, 0]
    assert Counter(done()) == Counter(f"done {name}" for name in names)
    assert all(any(line.startswith("done") for line in worker.lines) for worker in workers)


def test_rows_of_a_killed_worker_are_done_by_another_after_the_lease(
    environment: dict[str, str], tmp_path: Path
) -> None:
    manage(environment, MAKE.format(names=["slow"]))
    killed = Process(environment, tmp_path / "killed.log", "-c", WORKER, LEASE, 600)
    eventually(lambda: "begun slow" in killed.lines)
    other = Process(environment, tmp_path / "other.log", "-c", WORKER, LEASE, 600)
    eventually(lambda: "ready" in other.lines)
    time.sleep(LEASE + 1)
    assert "begun slow" not in other.lines, "who is alive renews the lease"
    killed.end(signal.SIGKILL)
    eventually(lambda: "done slow" in other.lines)
    assert other.end() == 0
    assert manage(environment, LEFT) == "0"


def test_a_stopping_worker_finishes_begun_rows_and_releases_the_rest(
    environment: dict[str, str], tmp_path: Path
) -> None:
    manage(environment, MAKE.format(names=["slow 1", "slow 2", *(f"x{number}" for number in range(50))]))
    first = Process(environment, tmp_path / "first.log", "-c", WORKER, 45, 2)
    eventually(lambda: "begun slow 1" in first.lines)
    assert first.end() == 0
    begun = {line.removeprefix("begun ") for line in first.lines if line.startswith("begun")}
    assert begun == {line.removeprefix("done ") for line in first.lines if line.startswith("done")}
    # The other worker does not wait for the end of a lease.
    other = Process(environment, tmp_path / "other.log", "-c", WORKER, 45, 0)
    eventually(lambda: sum(line.startswith("done") for line in other.lines) == 52 - len(begun))
    assert other.end() == 0


def test_the_command_works_once_or_until_it_is_stopped(environment: dict[str, str], tmp_path: Path) -> None:
    once = Process(environment, tmp_path / "once.log", "manage.py", "work", "--once")
    assert once.process.wait(60) == 0
    worker = Process(environment, tmp_path / "worker.log", "manage.py", "work")
    eventually(lambda: "the worker has begun" in worker.output.read_text())
    assert worker.end() == 0
    assert "the worker has ended" in worker.output.read_text()


# The worker of the server


def children_of(pid: int) -> set[int]:
    """Return the ids of the processes that a process has started."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def worker_of(service: Service) -> int:
    """Return the process id of the server's worker, which is in its log."""
    begun = [json.loads(line) for line in service.log.splitlines() if "the worker has begun" in line]
    return int(begun[-1]["worker"].split(":")[1])


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Only Linux shows processes as files.")
def test_the_server_starts_a_worker_restarts_it_and_ends_it(tmp_path: Path) -> None:
    with running_service(tmp_path, EDITOR_WORKER="on") as service:
        assert service.process is not None
        eventually(lambda: "the worker has begun" in service.log)
        first = worker_of(service)
        assert first in children_of(service.process.pid)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: worker_of(service) != first)
        second = worker_of(service)
        assert second in children_of(service.process.pid)
        service.stop()
        assert not is_there(second)
        service.start()
        eventually(lambda: worker_of(service) != second)
        third = worker_of(service)
        os.kill(service.process.pid, signal.SIGKILL)
        service.process.wait()
        eventually(lambda: not is_there(third))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Only Linux shows processes as files.")
def test_the_server_runs_no_worker_if_switched_off(tmp_path: Path) -> None:
    with running_service(tmp_path, EDITOR_WORKER="off") as service:
        assert service.process is not None
        assert len(children_of(service.process.pid)) == 1
        assert "worker" not in service.log


# Override files


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with nothing in it."""
    return repository(tmp_path / "project")


def test_a_change_of_a_file_is_noticed_within_five_seconds_and_once_by_all_workers(
    tmp_path: Path, repo: Repository
) -> None:
    environment = {"EDITOR_SOURCE": "code", "EDITOR_CODE_PATH": str(repo.root), "EDITOR_WORKER": "on"}
    with running_service(tmp_path, **environment) as service, connected(service) as api:
        others = [
            Process(service.environment, tmp_path / f"{one}.log", "manage.py", "work") for one in range(2)
        ]
        for log in (tmp_path / "server.log", *(other.output for other in others)):
            eventually(lambda log=log: "the worker has begun" in log.read_text())  # type: ignore[misc]

        def noticed() -> list[list[object]]:
            told = [one for one in api.get("/events").body["events"] if one["actor"]["via"] == "file"]
            return [[one["type"], one["resource"]["id"], one["detail"]] for one in told]

        # Publications by the editor itself are not noticed.
        made = api.post(AGENTS.path, {"id": "support", "instructions": "by the editor", "autoPublish": True})
        assert made.status == 201
        expected: list[list[object]] = []
        for text in ("one", "two", "three"):
            repo.put({"instructions": text}, "support")
            expected.append(["agent.published", "support", {"noticedLate": True}])
            assert eventually(lambda: len(noticed()) >= len(expected)) < NOTICED_WITHIN
        repo.path("support").unlink()
        expected.append(["agent.unpublished", "support", {"noticedLate": True}])
        assert eventually(lambda: len(noticed()) >= len(expected)) < NOTICED_WITHIN
        time.sleep(3)
        assert noticed() == expected
        assert [other.end() for other in others] == [0, 0]
