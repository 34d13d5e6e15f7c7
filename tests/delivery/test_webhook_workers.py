"""Webhooks with real processes: workers that are killed, several at once, a slow receiver, another key."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from capabilities.delivery.running import THREADS
from tests.support import fork_server
from tests.support.api import AGENTS, Api
from tests.support.receiver import OK, Answer, Message, Receiver, receiving
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.webhooks import deliveries, make_webhook, path, verify

pytestmark = pytest.mark.processes

ALLOWED = {"EDITOR_WEBHOOK_ALLOW": "127.0.0.1"}
LEASE = 2
"""How long the worker that is killed has leased a delivery, in seconds."""

# A worker that never records the answer of a receiver, one that waits for it for minutes, or a normal one.
WORKER = f"""
import signal, sys, time
import django
django.setup()
from capabilities.delivery import running as webhooks
from capabilities.delivery import sending
from versioning.models import due_work
from versioning.worker import jobs, running

if sys.argv[1] == "forgetful":
    due_work.LEASE_SECONDS = {LEASE}
    def record(*_):
        print("answered", flush=True)
        time.sleep(600)
    webhooks._record = record
elif sys.argv[1] == "patient":
    sending.SECONDS = 600
worker = running.Worker([job for name, job in jobs.list_jobs().items() if "webhook" in name])
signal.signal(signal.SIGTERM, lambda *_: worker.stop())
print("ready", flush=True)
sys.exit(not worker.run())
"""

ELSEWHERE = """
from capabilities.delivery import verbs
from versioning.domain.access import APPLICATION
from versioning.models import Workspace
Workspace.objects.make("elsewhere", "Elsewhere")
print(verbs.create("elsewhere", url={url!r}, event_types=["agent.*"], by=APPLICATION)[0].pk)
"""
PING = """
from capabilities.delivery import verbs
from versioning.domain.access import APPLICATION
verbs.ping({webhook!r}, by=APPLICATION)
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server without a worker."""
    with running_service(tmp_path_factory.mktemp("service"), **ALLOWED) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def eventually(holds: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def worker(service: Service, log: Path, how: str = "plain") -> Iterator[fork_server.Program]:
    """Run a worker until the end of the block, or until it is killed."""
    command, environment = ("-c", WORKER, how), service.environment
    with log.open("wb") as file:
        process = fork_server.start(*command, env=environment, stdout=file, stderr=file, is_set_up=True)
    try:
        eventually(lambda: "ready" in log.read_text())
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            raise


def all_delivered(api: Api, webhook: dict[str, Any], number: int) -> bool:
    return [one["state"] for one in deliveries(api, webhook)] == ["delivered"] * number


def test_a_worker_killed_between_the_answer_and_the_mark_loses_nothing(
    service: Service, receiver: Receiver, tmp_path: Path
) -> None:
    with connected(service) as api:
        webhook = make_webhook(api, receiver.url, "agent.created", workspace="default")
        AGENTS.make(api, "killed", workspaceId="default")
        log = tmp_path / "killed.log"
        with worker(service, log, "forgetful") as killed:
            eventually(lambda: "answered" in log.read_text())
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()
            [delivery] = deliveries(api, webhook)
            assert (delivery["state"], delivery["attempts"]) == ("pending", [])
        with worker(service, tmp_path / "other.log"):
            eventually(lambda: all_delivered(api, webhook, 1))
        first, second = receiver.messages
        assert first.id == second.id and first.body == second.body
        for message in (first, second):
            assert verify(message, webhook["secret"])["resource"]["id"] == "killed"
        assert api.delete(path(webhook)).status == 200


@pytest.mark.postgresql
def test_several_workers_send_each_event_once(service: Service, receiver: Receiver, tmp_path: Path) -> None:
    number = 20
    with connected(service) as api:
        webhook = make_webhook(api, receiver.url, "agent.created", workspace="default")
        with worker(service, tmp_path / "one.log"), worker(service, tmp_path / "two.log"):
            for one in range(number):
                AGENTS.make(api, f"agent-{one}", workspaceId="default")
            receiver.wait_for(number)
            eventually(lambda: all_delivered(api, webhook, number))
        found = Counter(message.event["resource"]["id"] for message in receiver.messages)
        assert found == Counter(f"agent-{one}" for one in range(number))
        assert api.delete(path(webhook)).status == 200


def test_a_receiver_that_does_not_answer_delays_no_other_receiver(
    service: Service, receiver: Receiver, tmp_path: Path
) -> None:
    number, answered = 6, threading.Event()

    def hang(_message: Message) -> Answer:
        answered.wait(60)
        return OK

    with receiving() as silent, connected(service) as api:
        silent.answer = hang
        slow = make_webhook(api, silent.url, "agent.created", workspace="default")
        for one in range(number):
            AGENTS.make(api, f"slow-{one}", workspaceId="default")
        assert len(deliveries(api, slow)) == number
        quick = make_webhook(api, receiver.url, "agent.created", workspace="default")
        with worker(service, tmp_path / "worker.log"):
            silent.wait_for(2)
            for one in range(5):
                AGENTS.make(api, f"quick-{one}", workspaceId="default")
            eventually(lambda: all_delivered(api, quick, 5))
            assert len(silent.messages) == 2  # as many as one webhook gets at the same time
            for webhook in (slow, quick):
                assert api.delete(path(webhook)).status == 200
            answered.set()


def test_a_workspace_with_only_slow_receivers_does_not_delay_other_workspaces(
    service: Service, receiver: Receiver, tmp_path: Path
) -> None:
    answered = threading.Event()

    def hang(_message: Message) -> Answer:
        answered.wait(600)
        return OK

    with receiving() as silent, connected(service) as api:
        silent.answer = hang
        hooks = [make_webhook(api, silent.url, "agent.created", workspace="default") for _ in range(12)]
        for one in range(3):
            AGENTS.make(api, f"held-{one}", workspaceId="default")
        assert len(deliveries(api, hooks[-1])) == 3
        quick = webhook_elsewhere(service, receiver.url)
        with worker(service, tmp_path / "worker.log", "patient"):
            silent.wait_for(THREADS // 2)
            service.manage("shell", "--no-imports", "-c", PING.format(webhook=quick))
            receiver.wait_for(1)
            assert len(silent.messages) == THREADS // 2
            for webhook in hooks:
                assert api.delete(path(webhook)).status == 200
            answered.set()


def webhook_elsewhere(service: Service, url: str) -> str:
    """Make a workspace with a webhook, and return its id."""
    return service.manage("shell", "--no-imports", "-c", ELSEWHERE.format(url=url))


def test_receivers_keep_working_across_changes_of_the_secret_key(receiver: Receiver, tmp_path: Path) -> None:
    own = {**ALLOWED, "EDITOR_WORKER": "on", "SECRET_KEY": "the first key"}
    with running_service(tmp_path, **own) as service:
        with connected(service) as api:
            webhook = make_webhook(api, receiver.url, "agent.created", workspace="default")
        changes: list[dict[str, str]] = [
            {},
            {"SECRET_KEY": "the second key", "SECRET_KEY_FALLBACKS": "an older key,the first key"},
            {"SECRET_KEY": "the second key"},
            {"SECRET_KEY": "the third key", "EDITOR_WEBHOOK_KEY": "its own"},
        ]
        service.environment["SECRET_KEY_FALLBACKS"] = ""
        for number, change in enumerate(changes):
            if change:
                service.stop()
                service.environment |= {"SECRET_KEY_FALLBACKS": "", **change}
                service.start()
            if number == 3:
                break
            with connected(service) as api:
                AGENTS.make(api, f"agent-{number}", workspaceId="default")
            message = receiver.wait_for(number + 1)[-1]
            assert verify(message, webhook["secret"])["resource"]["id"] == f"agent-{number}"
        with connected(service) as api:  # which nothing opens: neither of the keys was used before
            rotated = api.post(path(webhook, "rotate"), {"keepPreviousHours": 1})
            assert (rotated.status, rotated.code) == (503, "webhook_key_unreadable")
        assert len(receiver.messages) == 3
