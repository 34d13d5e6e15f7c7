"""What webhooks are sent, and what becomes of it: one message for each event, in the words of the log."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from delivery.models import Delivery, DeliveryAttempt, OutboxCursor, Webhook
from delivery.webhooks import attempts, outbox, own_jobs
from delivery.webhooks.models import Outcome
from delivery.webhooks.retries import WAITS
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.receiver import OK, Receiver
from tests.support.webhooks import (
    WEBHOOKS,
    deliveries,
    make_webhook,
    read,
    seconds_until,
    verify,
    work,
    work_later,
)
from versioning.domain.access import APPLICATION
from versioning.domain.events import Reach, Target
from versioning.models import events
from versioning.worker.jobs import registered
from versioning.worker.running import Worker


def log_of(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("/events", workspaceId="acme", limit=1000, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["events"])


def states(api: Api, webhook: dict[str, Any]) -> list[str]:
    return [str(delivery["state"]) for delivery in deliveries(api, webhook)]


def path(webhook: dict[str, Any], *rest: str) -> str:
    return "/".join([WEBHOOKS, webhook["id"], *rest])


# Which events


@pytest.mark.django_db
def test_an_event_is_sent_as_the_log_has_it_with_a_signature(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.published")
    AGENTS.make(alice, autoPublish=True)
    work()
    [message] = receiver.messages
    [event] = log_of(alice, type="agent.published")
    assert verify(message, webhook["secret"]) == event
    assert message.headers["content-type"] == "application/json"
    [delivery] = deliveries(alice, webhook)
    [attempt] = delivery["attempts"]
    assert delivery["state"] == "delivered" and delivery["nextAttemptAt"] is None
    assert delivery["event"] == event
    assert (attempt["statusCode"], attempt["error"], attempt["response"]) == (200, None, "thanks")
    assert read(alice, webhook)["lastSuccessAt"] == attempt["at"]


@pytest.mark.django_db
def test_a_webhook_gets_what_admins_see_of_its_workspace_and_nothing_else(
    cast: Cast, receiver: Receiver
) -> None:
    everything = ["agent.*", "promptBlock.*", "member.*", "webhook.*", "workspace.*"]
    ours = make_webhook(cast.alice, receiver.url, *everything)
    theirs = make_webhook(cast.charlie, receiver.url, *everything, workspace="elsewhere")
    beginning = events.position()
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    make_history(AGENTS, cast.alice)
    shown = [{"type": "prompt_block_ref", "id": "tone"}]
    cast.alice.post(AGENTS.path, AGENTS.body(id="shows", instructions=shown, visibility="public"))
    PROMPT_BLOCKS.save(cast.alice, "tone", autoPublish=True)  # is told of the block alone
    AGENTS.make(cast.charlie, "other", visibility="public", autoPublish=True)  # alice may read it
    give_role("vera", "acme", "editor")
    give_role("charlie", "acme", "viewer")
    cast.alice.patch(path(ours), {"description": "ours"})
    for webhook, api, workspace in ((ours, cast.alice, "acme"), (theirs, cast.charlie, "elsewhere")):
        seen = api.get("/events", workspaceId=workspace, after=beginning, limit=1000).body["events"]
        sent = [delivery["event"] for delivery in deliveries(api, webhook)]
        assert sorted(sent, key=lambda event: int(event["position"])) == seen
        assert {event["workspaceId"] for event in sent} == {workspace}


@pytest.mark.django_db
def test_agents_that_show_a_block_are_told_to_the_workspaces_that_do_not_hear_of_the_block(
    cast: Cast, receiver: Receiver
) -> None:
    types = ["agent.*", "promptBlock.*"]
    ours = make_webhook(cast.alice, receiver.url, *types)
    theirs = make_webhook(cast.charlie, receiver.url, *types, workspace="elsewhere")

    def target(kind: str, workspace_id: str, resource_id: str) -> Target:
        identity = uuid.uuid4()
        return Target(
            kind=kind, id=resource_id, identity=identity, workspace_id=workspace_id, reach=Reach.MEMBERS
        )

    with events.transaction():
        events.record(
            "promptBlock.published",
            by=APPLICATION,
            workspace_id="acme",
            resource=target("promptBlock", "acme", "tone"),
            seen_in=[target("agent", "acme", "mine"), target("agent", "elsewhere", "foreign")],
        )
    assert [about(one) for one in deliveries(cast.alice, ours)] == [("promptBlock.published", "tone")]
    assert [about(one) for one in deliveries(cast.charlie, theirs)] == [("agent.updated", "foreign")]


def about(delivery: dict[str, Any]) -> tuple[str, str]:
    return delivery["event"]["type"], delivery["event"]["resource"]["id"]


@pytest.mark.django_db
def test_types_patterns_and_a_prefix_choose(alice: Api, receiver: Receiver) -> None:
    chosen = {
        "one type": make_webhook(alice, receiver.url, "agent.created"),
        "a pattern": make_webhook(alice, receiver.url, "promptBlock.*", "agent.published"),
        "a prefix": make_webhook(alice, receiver.url, "agent.*", "member.*", idPrefix="team/"),
    }
    AGENTS.make(alice, "team/lead")
    AGENTS.make(alice, "other", autoPublish=True)
    PROMPT_BLOCKS.make(alice, "team/tone")
    give_role("vera", "acme", "editor")  # about no resource
    assert {
        name: sorted(about(one) for one in deliveries(alice, webhook)) for name, webhook in chosen.items()
    } == {
        "one type": [("agent.created", "other"), ("agent.created", "team/lead")],
        "a pattern": [("agent.published", "other"), ("promptBlock.created", "team/tone")],
        "a prefix": [("agent.created", "team/lead")],
    }


@pytest.mark.django_db
def test_a_webhook_gets_what_happens_after_it_was_made_or_enabled(alice: Api, receiver: Receiver) -> None:
    AGENTS.make(alice, "before")
    webhook = make_webhook(alice, receiver.url, "agent.created", "webhook.*")
    AGENTS.make(alice, "first")
    alice.patch(path(webhook), {"eventTypes": ["agent.created", "webhook.deleted"]})
    AGENTS.make(alice, "second")
    alice.patch(path(webhook), {"enabled": False})
    AGENTS.make(alice, "third")
    alice.patch(path(webhook), {"enabled": True})
    AGENTS.make(alice, "fourth")
    found = deliveries(alice, webhook)
    assert [(about(one)[1], one["state"]) for one in found] == [
        ("first", "cancelled"),
        ("second", "cancelled"),
        ("fourth", "pending"),
    ]


@pytest.mark.django_db
def test_a_change_of_the_types_is_for_what_happens_afterwards(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice, "first")
    alice.patch(path(webhook), {"eventTypes": ["promptBlock.*"]})
    AGENTS.make(alice, "second")
    assert [about(one)[1] for one in deliveries(alice, webhook)] == ["first"]


@pytest.mark.django_db
def test_what_is_rolled_back_is_not_delivered(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    with transaction.atomic():
        with events.transaction():
            events.record("agent.published", by=APPLICATION, workspace_id="acme")
        outbox.fill()
        assert len(Delivery.objects.all()) == 1
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()
    assert alice.post(AGENTS.path, AGENTS.body(id="")).status == 400
    assert deliveries(alice, webhook) == []


# The outbox


@pytest.mark.django_db
def test_without_an_enabled_webhook_nothing_is_read_or_written(alice: Api, receiver: Receiver) -> None:
    AGENTS.make(alice)
    outbox.fill()
    assert not OutboxCursor.objects.exists() and outbox.unread_after() is None
    webhook = make_webhook(alice, receiver.url)
    AGENTS.make(alice, "second")
    outbox.fill()
    read_to = OutboxCursor.objects.get().position
    assert read_to == events.position()
    alice.patch(path(webhook), {"enabled": False})
    AGENTS.make(alice, "third")
    outbox.fill()
    assert outbox.unread_after() is None and OutboxCursor.objects.get().position == read_to


@pytest.mark.django_db
def test_many_entries_are_read_in_parts_and_each_once(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "AT_ONCE", 2)
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for number in range(7):
        AGENTS.make(alice, f"agent-{number}")
    for _ in range(2):
        assert [about(one)[1] for one in deliveries(alice, webhook)] == [f"agent-{n}" for n in range(7)]


@pytest.mark.django_db
def test_the_log_is_not_pruned_before_it_was_read(alice: Api, receiver: Receiver) -> None:
    AGENTS.make(alice, "old")
    webhook = make_webhook(alice, receiver.url)
    made_at = events.position()
    AGENTS.make(alice)
    later = timezone.now() + datetime.timedelta(days=1)
    events.prune(later)
    assert events.extent().oldest == made_at - 1  # the webhook begins after what was there before
    assert len(deliveries(alice, webhook)) == 1
    events.prune(later)
    assert events.extent().oldest == events.position()
    assert deliveries(alice, webhook)[0]["event"]["resource"]["id"] == "writer"


# Attempts


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
    alice: Api, receiver: Receiver
) -> None:
    receiver.answer = lambda _message: (503, {}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for number in range(5):
        AGENTS.make(alice, f"agent-{number}")
    for _ in range(6):
        work_later(minutes=10)
    assert states(alice, webhook) == ["pending"] * 5
    assert read(alice, webhook)["failingSince"] is not None
    receiver.answer, tried = lambda _message: OK, len(receiver.messages)
    work_later(hours=2.5)
    assert states(alice, webhook) == ["delivered"] * 5
    found = {message.event["resource"]["id"] for message in receiver.messages[tried:]}
    assert found == {f"agent-{number}" for number in range(5)}
    after = read(alice, webhook)
    assert (after["failingSince"], after["enabled"]) == (None, True)


@pytest.mark.django_db
def test_three_days_of_failure_disable(alice: Api, receiver: Receiver) -> None:
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
def test_one_success_within_three_days_begins_them_anew(alice: Api, receiver: Receiver) -> None:
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
def test_gone_disables_at_once(alice: Api, receiver: Receiver) -> None:
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
def test_a_receiver_that_asks_for_time_gets_it(alice: Api, receiver: Receiver) -> None:
    receiver.answer = lambda _message: (429, {"Retry-After": "7200"}, b"")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    work()
    [delivery] = deliveries(alice, webhook)
    assert 7190 <= seconds_until(delivery["nextAttemptAt"]) <= 7200


# By hand


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
def test_a_replay_of_what_is_pending_comes_on_top_of_its_attempts(alice: Api, receiver: Receiver) -> None:
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
def test_a_replay_asked_for_during_an_attempt_is_an_attempt_of_its_own(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    asked: list[int] = []
    real = attempts.send

    def send(*message: Any) -> Outcome:
        if not asked:
            delivery = Delivery.objects.get()
            asked.append(alice.post(path(webhook, "deliveries", str(delivery.pk), "replay")).status)
        return real(*message)

    monkeypatch.setattr(attempts, "send", send)
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
def test_what_is_being_sent_while_the_webhook_is_disabled_is_not_tried_again(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, status: int, state: str
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    real = attempts.send

    def send(*message: Any) -> Outcome:
        assert alice.patch(path(webhook), {"enabled": False}).status == 200
        return real(*message)

    monkeypatch.setattr(attempts, "send", send)
    receiver.answer = lambda _message: (status, {}, b"")
    work()
    assert states(alice, webhook) == [state]
    assert len(deliveries(alice, webhook)[0]["attempts"]) == 1


@pytest.mark.django_db
def test_what_is_deleted_while_it_is_sent_is_gone(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice)
    real = attempts.send

    def send(*message: Any) -> Outcome:
        assert alice.delete(path(webhook)).status == 200
        return real(*message)

    monkeypatch.setattr(attempts, "send", send)
    work()
    assert not Delivery.objects.exists() and not DeliveryAttempt.objects.exists()


# Housekeeping


@pytest.mark.django_db
def test_old_deliveries_go_and_pending_ones_stay(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for name in ("old", "new"):
        AGENTS.make(alice, name)
        work()
    AGENTS.make(alice, "pending")
    assert len(deliveries(alice, webhook)) == 3
    old = Delivery.objects.order_by("created_at")[0].pk
    Delivery.objects.filter(pk=old).update(finished_at=timezone.now() - own_jobs.KEPT_FOR)
    assert Worker([registered()["webhook upkeep"]]).once()
    assert [about(one)[1] for one in deliveries(alice, webhook)] == ["new", "pending"]
