"""Helpers for webhooks: creating one, running due deliveries in this process, and reading them."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory
from standardwebhooks.webhooks import Webhook as Verifier

from capabilities.delivery.models import Delivery, Webhook
from capabilities.delivery.running import make_delivery, make_ping
from tests.support.api import Api
from tests.support.receiver import Message
from versioning.domain.access import APPLICATION
from versioning.worker.jobs import list_jobs
from versioning.worker.running import Worker

WEBHOOKS = "/webhooks"
NO_SUCH = "00000000-0000-4000-8000-000000000000"


class WebhookFactory(DjangoModelFactory[Webhook]):
    """A webhook to this machine."""

    class Meta:
        model = Webhook

    url = "http://127.0.0.1/hook"
    event_types = ["agent.*"]
    after = 0


class DeliveryFactory(DjangoModelFactory[Delivery]):
    """A ping that has been delivered."""

    class Meta:
        model = Delivery

    event_id = factory.LazyFunction(uuid.uuid4)
    body = factory.LazyAttribute(lambda made: _ping(made.webhook).body)
    state = "delivered"
    finished_at = factory.LazyFunction(timezone.now)


def _ping(webhook: Webhook) -> Delivery:
    return make_delivery(webhook, make_ping(webhook, APPLICATION))


def make_webhook(api: Api, url: str, *types: str, workspace: str = "acme", **more: Any) -> dict[str, Any]:
    """Make a webhook and return it, with its secret."""
    body = {"workspaceId": workspace, "url": url, "eventTypes": list(types or ("agent.*",)), **more}
    answer = api.post(WEBHOOKS, body)
    assert answer.status == 201, answer.body
    return dict(answer.body)


def work() -> None:
    """Do the work of a worker for webhooks, until nothing is due."""
    jobs = [list_jobs()[name] for name in ("webhook outbox", "webhook deliveries")]
    assert Worker(jobs).once()


def work_later(**time: float) -> None:
    """Do it as if so much time had passed."""
    passed = datetime.timedelta(**time)
    for row in Delivery.objects.exclude(due_at=None):
        assert row.due_at is not None
        Delivery.objects.filter(pk=row.pk).update(due_at=row.due_at - passed)
    work()


def deliveries(api: Api, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the deliveries of a webhook, oldest first."""
    answer = api.request(
        "GET", path(webhook, "deliveries"), query={"orderBy[direction]": "ASC", "perPage": 1000}
    )
    assert answer.status == 200, answer.body
    return list(answer.body["deliveries"])


def read(api: Api, webhook: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(path(webhook))
    assert answer.status == 200, answer.body
    return dict(answer.body)


def states(api: Api, webhook: dict[str, Any]) -> list[str]:
    """Return the states of the deliveries of a webhook, oldest first."""
    return [str(delivery["state"]) for delivery in deliveries(api, webhook)]


def about(delivery: dict[str, Any]) -> tuple[str, str]:
    return delivery["event"]["type"], delivery["event"]["resource"]["id"]


def path(webhook: dict[str, Any], *rest: str) -> str:
    """Return the path of a webhook, or of a route below it."""
    return "/".join([WEBHOOKS, webhook["id"], *rest])


def log_of(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("/events", workspaceId="acme", limit=1000, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["events"])


def verify(message: Message, secret: str) -> dict[str, Any]:
    """Verify a message as receivers do, with the library of Standard Webhooks, and return the event."""
    found: dict[str, Any] = Verifier(secret).verify(message.body, message.headers)
    return found


def seconds_until(moment: str) -> float:
    """Return how long it is until a time in an answer."""
    return (datetime.datetime.fromisoformat(moment) - timezone.now()).total_seconds()
