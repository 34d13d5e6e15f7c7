"""Pings and replays, and changes during a delivery."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from capabilities.delivery import sending
from capabilities.delivery.models import Delivery, DeliveryAttempt
from capabilities.delivery.running import WAITS
from tests.support.api import AGENTS, Api
from tests.support.receiver import Receiver
from tests.support.webhooks import (
    deliveries,
    log_of,
    make_webhook,
    path,
    read,
    seconds_until,
    states,
    verify,
    work,
)


@pytest.mark.django_db
def test_a_ping_is_an_event_without_a_position_and_a_delivery(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created", idPrefix="x")
    answer = alice.post(path(webhook, "ping"))
    assert answer.status == 200 and answer.body["state"] == "pending"
    work()
    [message], [delivery] = receiver.messages, deliveries(alice, webhook)
    event = verify(message, webhook["secret"])
    assert (event["type"], event["position"], event["workspaceId"]) == ("webhook.ping", None, "acme")
    assert event["actor"] == {"id": "alice", "via": "api", "keyPrefix": alice.key[:11]}
    assert event["detail"] == {"webhookId": webhook["id"]} and event["resource"] is None
    assert (delivery["id"], delivery["state"], delivery["event"]) == (answer.body["id"], "delivered", event)
    assert log_of(alice, type="webhook.*")[-1]["type"] == "webhook.created"  # a ping is not in the log


@pytest.mark.django_db
@pytest.mark.parametrize("status", [200, 500])
def test_a_replay_is_one_more_attempt_of_the_same_delivery(
    alice: Api, receiver: Receiver, status: int
) -> None:
    receiver.answer = lambda _message: (status, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    work()
    [delivery] = deliveries(alice, webhook)
    Delivery.objects.update(state="delivered" if status == 200 else "failed", due_at=None, step=len(WAITS))
    for number in (2, 3):
        replayed = alice.post(path(webhook, "deliveries", delivery["id"], "replay"))
        assert replayed.status == 200 and replayed.body["state"] == "pending"
        assert len(replayed.body["attempts"]) == number - 1
        work()
        [after] = deliveries(alice, webhook)
        assert after["id"] == delivery["id"] and len(after["attempts"]) == number
        assert (after["state"], after["nextAttemptAt"]) == ("delivered" if status == 200 else "failed", None)
    assert {message.id for message in receiver.messages} == {receiver.messages[0].id}
    assert verify(receiver.messages[-1], webhook["secret"]) == delivery["event"]


@pytest.mark.django_db
def test_a_replay_of_a_pending_delivery_is_an_additional_attempt(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda _message: (500, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    work()
    [delivery] = deliveries(alice, webhook)
    alice.post(path(webhook, "deliveries", delivery["id"], "replay"))
    work()
    [after] = deliveries(alice, webhook)
    assert len(after["attempts"]) == 2
    assert 1 <= seconds_until(after["nextAttemptAt"]) <= 6  # as after the first attempt


@pytest.mark.django_db
def test_a_replay_requested_during_an_attempt_is_a_separate_attempt(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    asked: list[int] = []
    real = sending.send

    def send(*message: Any) -> DeliveryAttempt:
        if not asked:
            delivery = Delivery.objects.get()
            asked.append(alice.post(path(webhook, "deliveries", str(delivery.pk), "replay")).status)
        return real(*message)

    monkeypatch.setattr(sending, "send", send)
    work()
    assert asked == [200] and len(receiver.messages) == 2
    [delivery] = deliveries(alice, webhook)
    assert delivery["state"] == "delivered" and len(delivery["attempts"]) == 2


@pytest.mark.django_db
def test_nothing_is_sent_to_a_disabled_webhook(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    delivery = alice.post(path(webhook, "ping")).body
    alice.patch(path(webhook), {"enabled": False})
    work()
    for answer in (
        alice.post(path(webhook, "ping")),
        alice.post(path(webhook, "deliveries", delivery["id"], "replay")),
    ):
        assert (answer.status, answer.code, answer.fields) == (400, "webhook_disabled", ["enabled"])
    assert states(alice, webhook) == ["cancelled"] and receiver.messages == []
    alice.patch(path(webhook), {"enabled": True})
    assert alice.post(path(webhook, "deliveries", delivery["id"], "replay")).status == 200
    work()
    assert states(alice, webhook) == ["delivered"]


@pytest.mark.django_db
@pytest.mark.parametrize(("status", "state"), [(200, "delivered"), (500, "cancelled")])
def test_a_delivery_in_progress_is_not_retried_after_the_webhook_was_disabled(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, status: int, state: str
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    real = sending.send

    def send(*message: Any) -> DeliveryAttempt:
        assert alice.patch(path(webhook), {"enabled": False}).status == 200
        return real(*message)

    monkeypatch.setattr(sending, "send", send)
    receiver.answer = lambda _message: (status, {}, b"")
    work()
    assert states(alice, webhook) == [state]
    assert len(deliveries(alice, webhook)[0]["attempts"]) == 1


@pytest.mark.django_db
def test_a_worker_that_lost_its_lease_records_nothing(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.answer = lambda _message: (410, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    real = sending.send

    def send(*message: Any) -> DeliveryAttempt:
        later = timezone.now() + datetime.timedelta(minutes=1)
        Delivery.objects.update(leased_by="another", leased_until=later)
        return real(*message)

    monkeypatch.setattr(sending, "send", send)
    work()
    [delivery] = deliveries(alice, webhook)
    assert (delivery["state"], delivery["attempts"]) == ("pending", [])
    found = read(alice, webhook)
    assert found["enabled"] is True and found["failingSince"] is None


@pytest.mark.django_db
def test_a_webhook_deleted_during_an_attempt_leaves_nothing(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    real = sending.send

    def send(*message: Any) -> DeliveryAttempt:
        assert alice.delete(path(webhook)).status == 200
        return real(*message)

    monkeypatch.setattr(sending, "send", send)
    work()
    assert not Delivery.objects.exists() and not DeliveryAttempt.objects.exists()
