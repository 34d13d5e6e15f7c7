"""The course of a delivery: attempts, failures, disabled webhooks, and its end."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from capabilities.delivery import running
from capabilities.delivery.models import Delivery, Webhook
from capabilities.delivery.running import WAITS
from tests.support.api import AGENTS, Api
from tests.support.ports import free_port
from tests.support.receiver import Receiver, receiving
from tests.support.webhooks import (
    about,
    deliveries,
    log_of,
    make_webhook,
    path,
    read,
    seconds_until,
    states,
    verify,
    work,
    work_later,
)
from versioning.models.due_work import LEASE_SECONDS
from versioning.worker.jobs import list_jobs
from versioning.worker.running import Worker


@pytest.mark.database
@pytest.mark.django_db
def test_a_delivery_is_tried_ten_times_and_then_given_up(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda _message: (500, {}, b"broken")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    work()
    for number, wait in enumerate(WAITS[1:], start=1):
        [delivery] = deliveries(alice, webhook)
        assert (delivery["state"], len(delivery["attempts"])) == ("pending", number)
        assert 0.75 * wait - 2 <= seconds_until(delivery["nextAttemptAt"]) <= 1.25 * wait
        Webhook.objects.update(failing_since=timezone.now())
        work_later(seconds=1.3 * wait)
    [delivery] = deliveries(alice, webhook)
    assert (delivery["state"], delivery["nextAttemptAt"]) == ("failed", None)
    assert [attempt["response"] for attempt in delivery["attempts"]] == ["broken"] * 10
    work_later(days=9)
    assert len(receiver.messages) == 10
    assert len({message.id for message in receiver.messages}) == 1
    assert len({message.body for message in receiver.messages}) == 1


@pytest.mark.django_db
def test_a_receiver_that_was_down_for_an_hour_gets_everything_when_it_is_up(
    alice: Api, settings: Any
) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]
    port = free_port()
    webhook = make_webhook(alice, f"http://127.0.0.1:{port}/hook", "agent.created")
    names = {f"agent-{number}" for number in range(5)}
    for name in names:
        AGENTS.make(alice, name)
    for _ in range(6):
        work_later(minutes=10)
    assert states(alice, webhook) == ["pending"] * 5
    assert "refused" in deliveries(alice, webhook)[0]["attempts"][0]["error"]
    assert read(alice, webhook)["failingSince"] is not None
    with receiving(port) as receiver:
        work_later(hours=2.5)
    assert states(alice, webhook) == ["delivered"] * 5
    assert {verify(one, webhook["secret"])["resource"]["id"] for one in receiver.messages} == names
    after = read(alice, webhook)
    assert (after["failingSince"], after["enabled"]) == (None, True)


@pytest.mark.django_db
def test_three_days_of_failure_disable_a_webhook(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda _message: (500, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice, "first")
    work()
    AGENTS.make(alice, "second")
    since = timezone.now() - datetime.timedelta(days=2, hours=23)
    Webhook.objects.update(failing_since=since)
    work()
    assert read(alice, webhook)["enabled"] is True
    Webhook.objects.update(failing_since=since - datetime.timedelta(hours=2))
    work_later(seconds=10)
    disabled = read(alice, webhook)
    assert (disabled["enabled"], disabled["disabledReason"]) == (False, "failing")
    assert states(alice, webhook) == ["cancelled"] * 2
    [event] = log_of(alice, type="webhook.disabled")
    assert event["detail"] == {"webhookId": webhook["id"], "reason": "failing"}
    assert event["actor"]["id"] is None
    tried = len(receiver.messages)
    AGENTS.make(alice, "third")
    work_later(days=9)
    assert len(receiver.messages) == tried and len(deliveries(alice, webhook)) == 2
    again = alice.patch(path(webhook), {"enabled": True}).body
    assert (again["enabled"], again["disabledReason"], again["failingSince"]) == (True, None, None)


@pytest.mark.django_db
def test_one_success_restarts_the_three_days_of_failure(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    Webhook.objects.update(failing_since=timezone.now() - datetime.timedelta(days=5))
    AGENTS.make(alice, "first")
    work()
    assert read(alice, webhook)["failingSince"] is None
    receiver.answer = lambda _message: (500, {}, b"")
    AGENTS.make(alice, "second")
    work()
    assert read(alice, webhook)["enabled"] is True


@pytest.mark.django_db
def test_a_410_disables_a_webhook_immediately(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda message: (410 if message.event["resource"]["id"] == "second" else 500, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for name in ("first", "second"):
        AGENTS.make(alice, name)
        work()
    found = read(alice, webhook)
    assert (found["enabled"], found["disabledReason"]) == (False, "gone")
    assert states(alice, webhook) == ["cancelled", "failed"]
    assert [event["detail"]["reason"] for event in log_of(alice, type="webhook.disabled")] == ["gone"]


@pytest.mark.django_db
def test_a_receivers_retry_after_is_respected(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda _message: (429, {"Retry-After": "7200"}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    work()
    [delivery] = deliveries(alice, webhook)
    assert 7190 <= seconds_until(delivery["nextAttemptAt"]) <= 7200


@pytest.mark.django_db
def test_old_deliveries_are_deleted_unless_pending(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for name in ("old", "new"):
        AGENTS.make(alice, name)
        work()
    AGENTS.make(alice, "pending")
    assert len(deliveries(alice, webhook)) == 3
    cancelled = make_webhook(alice, receiver.url)
    alice.post(path(cancelled, "ping"))
    alice.patch(path(cancelled), {"enabled": False})
    old = Delivery.objects.order_by("created_at")[0].pk
    for done in (Delivery.objects.filter(pk=old), Delivery.objects.filter(state="cancelled")):
        moment = done.get().finished_at
        assert moment is not None
        done.update(finished_at=moment - running.KEPT_FOR)
    assert Worker([list_jobs()["webhook upkeep"]]).once()
    assert [about(one)[1] for one in deliveries(alice, webhook)] == ["new", "pending"]
    assert deliveries(alice, cancelled) == []


@pytest.mark.parametrize(("seconds", "statements"), [(60, 40), (0, 400)])
@pytest.mark.django_db
def test_what_is_sent_in_succession_is_recorded_together(
    alice: Api,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: Any,
    *,
    seconds: float,
    statements: int,
) -> None:
    """A slow receiver's turn ends, and what is left is due as it was."""
    monkeypatch.setattr(running, "RECORD_AFTER", seconds)
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for number in range(10):
        AGENTS.make(alice, f"agent-{number}")
    assert states(alice, webhook) == ["pending"] * 10
    with django_assert_max_num_queries(statements):
        work()
    assert len(receiver.messages) == 10
    assert [(one["state"], len(one["attempts"])) for one in deliveries(alice, webhook)] == [
        ("delivered", 1)
    ] * 10
    assert set(Delivery.objects.values_list("attempts", "step", "leased_by")) == {(1, 1, "")}


@pytest.mark.parametrize(("left", "sent"), [(LEASE_SECONDS / 3, 1), (LEASE_SECONDS, 0)])
@pytest.mark.django_db
def test_leases_that_a_killed_worker_left_hold_up_no_other_delivery(
    alice: Api, receiver: Receiver, left: float, sent: int
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for name in ("one", "two", "three"):
        AGENTS.make(alice, name)
    *leased, _ = deliveries(alice, webhook)
    until = timezone.now() + datetime.timedelta(seconds=left)
    for thread, one in enumerate(leased):
        Delivery.objects.filter(pk=one["id"]).update(leased_by=f"killed:{thread}", leased_until=until)
    work()
    assert len(receiver.messages) == sent
