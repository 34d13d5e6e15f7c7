"""Which events of the log become deliveries of which webhooks, each exactly once."""

from __future__ import annotations

import datetime
import uuid

import pytest
from django.db import models, transaction
from django.utils import timezone

from capabilities.delivery import running
from capabilities.delivery.models import Delivery, OutboxCursor
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.receiver import Receiver
from tests.support.webhooks import (
    about,
    deliveries,
    log_of,
    make_webhook,
    path,
    read,
    verify,
    work,
)
from versioning.domain.access import APPLICATION
from versioning.domain.events import Reach, Target
from versioning.models import Event, events
from versioning.models.log import LogPosition


@pytest.mark.django_db
def test_an_event_is_sent_as_in_the_log_with_a_signature(alice: Api, receiver: Receiver) -> None:
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
def test_a_webhook_gets_exactly_the_events_that_admins_of_its_workspace_see(
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
    PROMPT_BLOCKS.save(cast.alice, "tone", autoPublish=True)  # only the event of the block is delivered
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
def test_events_of_agents_that_show_a_block_go_to_workspaces_without_the_blocks_event(
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


@pytest.mark.django_db
def test_events_are_selected_by_types_patterns_and_a_prefix(alice: Api, receiver: Receiver) -> None:
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
def test_a_webhook_gets_events_from_after_it_was_created_or_enabled(alice: Api, receiver: Receiver) -> None:
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
def test_a_change_of_the_types_applies_to_later_events(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    AGENTS.make(alice, "first")
    alice.patch(path(webhook), {"eventTypes": ["promptBlock.*"]})
    AGENTS.make(alice, "second")
    assert [about(one)[1] for one in deliveries(alice, webhook)] == ["first"]


@pytest.mark.django_db
def test_rolled_back_events_are_not_delivered(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    with transaction.atomic():
        with events.transaction():
            events.record("agent.published", by=APPLICATION, workspace_id="acme")
        running.fill()
        assert len(Delivery.objects.all()) == 1
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()
    assert alice.post(AGENTS.path, AGENTS.body(id="")).status == 400
    assert deliveries(alice, webhook) == []


@pytest.mark.django_db
def test_without_an_enabled_webhook_nothing_is_read_or_written(alice: Api, receiver: Receiver) -> None:
    AGENTS.make(alice)
    running.fill()
    assert not OutboxCursor.objects.exists() and running.unread_after() is None
    webhook = make_webhook(alice, receiver.url)
    AGENTS.make(alice, "second")
    running.fill()
    read_to = OutboxCursor.objects.get().position
    assert read_to == events.position()
    alice.patch(path(webhook), {"enabled": False})
    AGENTS.make(alice, "third")
    running.fill()
    assert running.unread_after() is None and OutboxCursor.objects.get().position == read_to


@pytest.mark.django_db
@pytest.mark.parametrize("has_read", [True, False])
def test_after_only_the_log_was_restored_webhooks_continue_from_its_end(
    alice: Api, receiver: Receiver, has_read: bool
) -> None:
    end = events.position()
    AGENTS.make(alice, "not-in-the-copy")
    webhook = make_webhook(alice, receiver.url, "agent.created")
    if has_read:
        AGENTS.make(alice, "another")
        running.fill()
    models.QuerySet.delete(Event.objects.filter(position__gt=end))
    LogPosition.objects.update(position=end)
    running.fill()
    AGENTS.make(alice, "after-it")
    assert about(deliveries(alice, webhook)[-1])[1] == "after-it"


@pytest.mark.django_db
def test_many_entries_are_read_in_batches_and_delivered_once(
    alice: Api, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ENTRIES_AT_ONCE", 2)
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for number in range(7):
        AGENTS.make(alice, f"agent-{number}")
    for _ in range(2):
        assert [about(one)[1] for one in deliveries(alice, webhook)] == [f"agent-{n}" for n in range(7)]


@pytest.mark.django_db
def test_unread_entries_of_the_log_are_not_pruned(alice: Api, receiver: Receiver) -> None:
    AGENTS.make(alice, "old")
    webhook = make_webhook(alice, receiver.url)
    made_at = events.position()
    AGENTS.make(alice)
    later = timezone.now() + datetime.timedelta(days=1)
    events.prune(later)
    assert events.extent().oldest == made_at - 1  # the webhook begins after the earlier entries
    assert len(deliveries(alice, webhook)) == 1
    events.prune(later)
    assert events.extent().oldest == events.position()
    assert deliveries(alice, webhook)[0]["event"]["resource"]["id"] == "writer"
