"""The worker in one process: leases, periodic jobs, failures, and its reports on itself."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.db.models import QuerySet
from django.utils import timezone

from versioning.domain.access import APPLICATION
from versioning.models import Event, PeriodicJob, SignInAttempts, ThrottleWindow, WorkerHeartbeat, events
from versioning.models.due_work import LEASE_SECONDS, LeaseLost, Silence, Turns
from versioning.models.throttle import FORGOTTEN_AFTER
from versioning.worker import housekeeping, jobs, running
from versioning.worker.jobs import Job, Periodic, Queue
from versioning.worker.running import Worker

ROWS = "versioning.PeriodicJob"
"""Rows of any kind of work will do; these are there already."""


def due(*names: str, seconds_ago: float = 1) -> None:
    at = timezone.now() - datetime.timedelta(seconds=seconds_ago)
    PeriodicJob.objects.bulk_create([PeriodicJob(name=name, due_at=at) for name in names])


def long_ago() -> datetime.datetime:
    return timezone.now() - datetime.timedelta(seconds=9)


def leased(by: str, limit: int = 10) -> list[str]:
    return [row.pk for row in PeriodicJob.objects.lease(limit, by=by)]


def let_leases_end() -> None:
    """Advance the clock by the duration of a lease."""
    held = PeriodicJob.objects.exclude(leased_until=None)
    held.update(leased_until=timezone.now() - datetime.timedelta(seconds=1))


def do_once(*given: Job) -> bool:
    return Worker(given).once()


# Leases


@pytest.mark.database
@pytest.mark.django_db
def test_a_row_is_leased_when_it_is_due_and_by_one_worker_at_a_time() -> None:
    due("first", seconds_ago=9)
    due("second", seconds_ago=5)
    due("later", seconds_ago=-60)
    PeriodicJob.objects.create(name="never")
    assert leased("a", 1) == ["first"]
    assert leased("b") == ["second"]
    assert leased("c") == []


@pytest.mark.django_db
def test_an_expired_lease_is_available_within_a_minute() -> None:
    due("one")
    [lost] = PeriodicJob.objects.lease(1, by="killed")
    until = PeriodicJob.objects.get().leased_until
    assert until is not None
    assert 0 < (until - timezone.now()).total_seconds() <= LEASE_SECONDS <= 60
    let_leases_end()
    [row] = PeriodicJob.objects.lease(1, by="other")
    with pytest.raises(LeaseLost):
        lost.finish()
    row.finish()
    assert leased("third") == []


@pytest.mark.django_db
def test_a_worker_cannot_finish_a_row_under_an_expired_earlier_lease() -> None:
    due("one")
    [first] = PeriodicJob.objects.lease(1, by="a")
    let_leases_end()
    PeriodicJob.objects.lease(1, by="a")
    with pytest.raises(LeaseLost):
        first.finish()


@pytest.mark.django_db
def test_a_lease_is_renewed_only_by_its_own_worker() -> None:
    due("mine", "lost")
    rows = PeriodicJob.objects.lease(10, by="a")
    PeriodicJob.objects.filter(pk="lost").update(leased_by="b")
    let_leases_end()
    PeriodicJob.objects.renew(rows)
    assert leased("c") == ["lost"]


@pytest.mark.django_db
def test_a_released_row_is_due_again() -> None:
    due("one")
    [row] = PeriodicJob.objects.lease(1, by="a")
    row.release()
    [again] = PeriodicJob.objects.lease(1, by="b")
    assert again.attempts == 1


# Turns


def taken(turns: Turns, *due: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Let owners take places in turn while there are any, and return who took them."""
    found = []
    while order := turns.in_order(due):
        turns.begin(order[0])
        found.append(order[0])
    return found


@pytest.mark.parametrize(
    ("due", "held"),
    [
        ("a", {"a": 8}),
        ("ab", {"a": 6, "b": 5}),
        ("abc", {"a": 4, "b": 4, "c": 4}),
        ("abcdefghijklmno", dict.fromkeys("abcdefghijklmno", 1)),
    ],
)
def test_owners_with_due_work_leave_a_place_for_later_owners(due: str, held: dict[str, int]) -> None:
    turns = Turns(16)
    assert Counter(name for (name,) in taken(turns, *[(one,) for one in due])) == held
    assert taken(turns, ("z",))[:1] == [("z",)]


def test_workspaces_take_turns_and_within_them_their_owners() -> None:
    turns = Turns(16)
    busy = [("a", "slow"), ("a", "quick"), ("b", "one")]
    assert taken(turns, *busy)[:6] == [
        ("a", "slow"), ("b", "one"), ("a", "quick"), ("b", "one"), ("a", "slow"), ("b", "one"),
    ]  # fmt: skip


def test_the_owner_with_the_longest_ago_turn_is_next() -> None:
    turns = Turns()
    ran = []
    for _ in range(4):
        owner = turns.in_order([("first",), ("second",), ("third",)])[0]
        turns.begin(owner)
        turns.end(owner)
        ran.append(owner[0])
    assert ran == ["first", "second", "third", "first"]


def test_rows_without_an_owner_may_take_all_places() -> None:
    assert len([turns.begin(()) for turns in [Turns(2)] * 2 if turns.in_order([()])]) == 2


# Queues


@pytest.mark.django_db
def test_a_successful_row_is_done_and_a_failed_one_is_retried_with_growing_delays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    due("good", "bad")
    ran: list[str] = []

    def run(row: PeriodicJob) -> None:
        ran.append(row.pk)
        if row.pk == "bad":
            raise ValueError("it is broken")

    queue = Queue(name="chores", model=ROWS, run=run)
    waits = []
    for _ in range(4):
        with caplog.at_level(logging.ERROR, "versioning.worker"):
            assert not do_once(queue)
        bad = PeriodicJob.objects.get(pk="bad")
        assert bad.due_at is not None and bad.leased_until is None
        waits.append(round((bad.due_at - timezone.now()).total_seconds()))
        PeriodicJob.objects.filter(pk="bad").update(due_at=long_ago())
    assert sorted(ran) == ["bad"] * 4 + ["good"]
    assert waits == [1, 2, 4, 8]
    assert PeriodicJob.objects.get(pk="good").due_at is None
    assert "the job chores has failed" in caplog.text
    assert "it is broken" in caplog.text


@pytest.mark.django_db
def test_a_row_may_determine_when_it_is_due_again() -> None:
    due("one")
    queue = Queue(name="chores", model=ROWS, run=lambda row: row.postpone(500))
    assert do_once(queue)
    row = PeriodicJob.objects.get()
    assert row.due_at is not None
    assert 490 < (row.due_at - timezone.now()).total_seconds() <= 500


@pytest.mark.django_db
def test_rows_not_begun_when_the_worker_stops_are_released() -> None:
    due("one", "two", "three")
    ran: list[str] = []

    def run(row: PeriodicJob) -> None:
        ran.append(row.pk)
        worker.stop()

    worker = Worker([Queue(name="chores", model=ROWS, run=run)])
    assert worker.once()
    assert len(ran) == 1
    assert len(leased("another")) == 2


# Periodic jobs


@pytest.mark.django_db
def test_a_periodic_job_runs_immediately_and_then_when_due() -> None:
    ran: list[int] = []
    job = Periodic(name="often", run=lambda: ran.append(1), every=600)
    assert do_once(job)
    assert do_once(job)
    assert ran == [1]
    PeriodicJob.objects.update(due_at=long_ago())
    assert do_once(job)
    assert ran == [1, 1]


@pytest.mark.django_db
def test_a_periodic_job_runs_in_one_worker_at_a_time() -> None:
    ran: list[str] = []

    def run() -> None:
        ran.append("outer")
        if len(ran) == 1:
            do_once(job)

    job = Periodic(name="alone", run=run, every=0)
    assert do_once(job)
    assert ran == ["outer"]


@pytest.mark.django_db
def test_a_periodic_job_that_fails_is_tried_again_sooner_than_usual(caplog: pytest.LogCaptureFixture) -> None:
    def run() -> None:
        raise ValueError

    job = Periodic(name="broken", run=run, every=86400)
    with caplog.at_level(logging.ERROR, "versioning.worker"):
        assert not do_once(job)
    assert "the job broken has failed" in caplog.text
    row = PeriodicJob.objects.get()
    assert row.due_at is not None
    assert (row.due_at - timezone.now()).total_seconds() <= running.LONGEST_WAIT_OF_PERIODIC


@pytest.mark.django_db
def test_a_job_of_each_worker_has_no_row() -> None:
    ran: list[int] = []
    job = Periodic(name="everywhere", run=lambda: ran.append(1), every=600, in_each_worker=True)
    assert do_once(job) and do_once(job)
    assert ran == [1, 1]
    assert not PeriodicJob.objects.exists()


# The registry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unregister the jobs of a test after it."""
    monkeypatch.setattr(jobs, "_jobs", dict(jobs.list_jobs()))


@pytest.mark.usefixtures("registry")
def test_a_job_is_registered_by_its_name_once() -> None:
    job = Periodic(name="mine", run=time.time, every=1)  # type: ignore[arg-type]
    jobs.register(job)
    jobs.register(job)
    assert Worker().jobs[-1] == job
    with pytest.raises(ValueError, match="mine"):
        jobs.register(Periodic(name="mine", run=time.time, every=2))  # type: ignore[arg-type]


# A worker that runs


@pytest.fixture
def running_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Worker]]:
    """Start fast workers in threads; they are stopped after the test."""
    monkeypatch.setattr(running, "_TICK", 0.01)
    monkeypatch.setattr(running, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(running.Worker, "_beat", lambda _self: None)
    started: list[tuple[Worker, threading.Thread]] = []

    def start(*given: Job, **how: Any) -> Worker:
        worker = Worker(given)
        thread = threading.Thread(target=worker.run, kwargs=how)
        thread.start()
        started.append((worker, thread))
        return worker

    yield start
    for worker, thread in started:
        worker.stop()
        thread.join(10)
        assert not thread.is_alive()


def eventually(holds: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def each(name: str, run: Callable[[], None]) -> Periodic:
    return Periodic(name=name, run=run, every=0.01, in_each_worker=True)


def test_a_job_that_fails_stops_no_other(
    running_worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LONGEST_PAUSE", 0.01)
    broken, fine = [], []

    def fail() -> None:
        broken.append(1)
        raise ValueError("again")

    with caplog.at_level(logging.ERROR, "versioning.worker"):
        running_worker(each("broken", fail), each("fine", lambda: fine.append(1)))
        eventually(lambda: len(broken) > 3 and len(fine) > 3)
    assert "the job broken has failed" in caplog.text


def test_a_worker_waits_for_an_unreachable_database_and_logs_one_line(
    running_worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def ask() -> None:
        asked.append(1)
        if len(asked) < 3:
            raise OperationalError("no one answers")

    with caplog.at_level(logging.INFO, "versioning.worker"):
        running_worker(each("asks", ask))
        eventually(lambda: len(asked) > 4)
    assert caplog.text.count("waits for the database: no one answers") <= 2
    assert "Traceback" not in caplog.text


def test_a_worker_ends_when_it_is_no_longer_wanted(running_worker: Callable[..., Worker]) -> None:
    wanted = [True]
    worker = running_worker(each("idle", lambda: None), is_wanted=lambda: wanted[0])
    wanted.clear()
    wanted.append(False)
    eventually(worker._stopping.is_set)


# Signs of life


@pytest.mark.django_db
def test_heartbeats_show_since_when_no_worker_runs() -> None:
    assert WorkerHeartbeat.objects.silence() == Silence(since=None)
    WorkerHeartbeat.objects.beat("one")
    WorkerHeartbeat.objects.beat("one")
    assert WorkerHeartbeat.objects.silence() is None
    ended = timezone.now() - datetime.timedelta(minutes=5)
    WorkerHeartbeat.objects.update(seen_at=ended)
    assert WorkerHeartbeat.objects.silence() == Silence(since=ended)
    WorkerHeartbeat.objects.create(worker="older", seen_at=timezone.now() - datetime.timedelta(days=30))
    WorkerHeartbeat.objects.delete_expired(datetime.timedelta(minutes=1))
    assert [row.worker for row in WorkerHeartbeat.objects.all()] == ["one"]


# Removals by the editor's own jobs


@pytest.mark.database
@pytest.mark.django_db
def test_only_expired_rows_are_removed(settings: Any) -> None:
    settings.EDITOR_THROTTLE = "10/min"
    now = timezone.now()
    this_minute = int(time.time() // 60)
    for name, at in {"old": now - FORGOTTEN_AFTER - datetime.timedelta(minutes=1), "new": now}.items():
        SignInAttempts.objects.create(subject=f"account:{name}", last_at=at)
        ThrottleWindow.objects.create(caller=name, window=this_minute - (name == "old"), requests=5)
        Session.objects.create(session_key=name, expire_date=at + datetime.timedelta(minutes=30))
    housekeeping.remove_waste()
    assert [row.subject for row in SignInAttempts.objects.all()] == ["account:new"]
    assert [row.caller for row in ThrottleWindow.objects.all()] == ["new"]
    assert [row.session_key for row in Session.objects.all()] == ["new"]
    settings.EDITOR_THROTTLE = ""
    housekeeping.remove_waste()
    assert not ThrottleWindow.objects.exists()


@pytest.mark.django_db
def test_old_entries_of_the_log_are_pruned_if_configured(settings: Any) -> None:
    for days in (40, 20, 0):
        with events.transaction():
            events.record("workspace.updated", by=APPLICATION, workspace_id="acme", days=days)
        written = timezone.now() - datetime.timedelta(days=days)
        newest = Event.objects.filter(position=events.position())
        QuerySet.update(newest, created_at=written)
    housekeeping.prune_log()
    assert len(events.entries(0)) == 3
    settings.EDITOR_KEEP_EVENTS = 30
    housekeeping.prune_log()
    assert [event.detail["days"] for event in events.entries(0)] == [20, 0]
