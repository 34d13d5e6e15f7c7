"""Rights on webhooks: only admins of their workspace, and other callers learn nothing of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.delivery import verbs
from capabilities.delivery.models import Delivery, Webhook
from capabilities.delivery.verbs import Condition, read_health
from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.people import give_role, person
from tests.support.receiver import Receiver
from tests.support.webhooks import WEBHOOKS, deliveries, make_webhook, path, read, verify, work
from versioning.domain.access import APPLICATION
from versioning.models import Membership, Workspace

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1/hook"


@pytest.fixture(autouse=True)
def internal_receivers(settings: Any) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]


MAKE = {"workspaceId": "acme", "url": URL, "eventTypes": ["agent.*"]}


def test_lists_show_webhooks_to_their_admins_only(cast: Cast) -> None:
    mine = make_webhook(cast.alice, URL)
    theirs = make_webhook(cast.charlie, URL, workspace="elsewhere")
    nowhere = cast.alice.post(WEBHOOKS, {**MAKE, "workspaceId": "nowhere"})
    assert nowhere.body == cast.charlie.post(WEBHOOKS, MAKE).body
    listed = {
        name: [one["id"] for one in getattr(cast, name).get(WEBHOOKS).body["webhooks"]]
        for name in ("alice", "paula", "vera", "charlie", "root")
    }
    assert listed == {
        "alice": [mine["id"]],
        "paula": [],
        "vera": [],
        "charlie": [theirs["id"]],
        "root": [theirs["id"], mine["id"]],
    }
    assert cast.vera.get(WEBHOOKS, workspaceId="acme").status == 403
    unknown = cast.charlie.get(WEBHOOKS, workspaceId="nowhere").body
    assert unknown == cast.charlie.get(WEBHOOKS, workspaceId="acme").body
    assert (unknown["webhooks"], unknown["total"]) == ([], 0)
    assert cast.root.get(WEBHOOKS, workspaceId="acme").body["total"] == 1


def replay(api: Api, webhook_id: str, delivery_id: str) -> Answer:
    return api.post(f"{WEBHOOKS}/{webhook_id}/deliveries/{delivery_id}/replay")


def test_a_delivery_belongs_to_its_webhook(cast: Cast) -> None:
    mine, other = make_webhook(cast.alice, URL), make_webhook(cast.alice, URL)
    theirs = make_webhook(cast.charlie, URL, workspace="elsewhere")
    delivery = cast.alice.post(f"{WEBHOOKS}/{mine['id']}/ping").body["id"]
    for api, webhook in ((cast.alice, other), (cast.charlie, theirs)):
        assert replay(api, webhook["id"], delivery).status == 404
        assert deliveries(api, webhook) == []
    for spelling in (delivery.upper(), delivery.replace("-", ""), f"{{{delivery}}}", "1", "%00"):
        assert replay(cast.alice, mine["id"], spelling).status == 404
    for spelling in (mine["id"].upper(), mine["id"].replace("-", ""), "1", "\N{SNOWMAN}"):
        assert cast.alice.get(f"{WEBHOOKS}/{spelling}").status == 404


# A webhook after its creator or its workspace is gone


def test_a_webhook_remains_after_its_creator_left_and_admins_can_see_that(
    cast: Cast, receiver: Receiver
) -> None:
    give_role("paula", "acme", "admin")
    webhook = make_webhook(cast.paula, receiver.url, "agent.created")
    assert webhook["createdBy"] == "paula"

    def creator_left() -> bool:
        [stored] = Webhook.objects.all()
        return read_health([stored])[stored.pk].creator_left

    assert not creator_left()
    User.objects.filter(username="paula").update(is_superuser=True)
    membership = Membership.objects.get(user__username="paula")
    Membership.objects.end(membership)
    assert not creator_left()  # a superuser is at home everywhere
    User.objects.filter(username="paula").update(is_superuser=False)
    assert creator_left()
    User.objects.filter(username="paula").delete()
    person("paula", acme="admin")  # another person of that name
    assert creator_left()
    AGENTS.make(cast.alice)
    work()
    assert verify(receiver.messages[0], webhook["secret"])["type"] == "agent.created"
    assert read(cast.alice, webhook)["createdBy"] == "paula"


def test_webhooks_created_by_the_application_have_no_creator_to_leave(cast: Cast) -> None:
    webhook, _ = verbs.create("acme", url=URL, event_types=["agent.*"], by=APPLICATION)
    assert read(cast.alice, {"id": str(webhook.pk)})["createdBy"] is None
    assert not read_health([webhook])[webhook.pk].creator_left


def test_deleting_a_workspace_deletes_its_webhooks(cast: Cast, receiver: Receiver) -> None:
    webhook = make_webhook(cast.charlie, receiver.url, workspace="elsewhere")
    kept = make_webhook(cast.alice, receiver.url)
    cast.charlie.post(path(webhook, "ping"))
    Workspace.objects.get(pk="elsewhere").delete()
    assert [str(one.pk) for one in Webhook.objects.all()] == [kept["id"]]
    assert not Delivery.objects.exists()
    log = cast.root.get("/events", type="webhook.deleted").body["events"]
    assert [event["detail"]["webhookId"] for event in log] == [webhook["id"]]
    work()
    assert receiver.messages == []


def test_health_reports_the_state_of_each_webhook(cast: Cast, receiver: Receiver) -> None:
    made = {name: make_webhook(cast.alice, receiver.url, "agent.created") for name in ("a", "b")}

    def health(name: str) -> tuple[Condition, int, int]:
        stored = list(Webhook.objects.all())
        found = read_health(stored)
        [one] = [found[webhook.pk] for webhook in stored if str(webhook.pk) == made[name]["id"]]
        assert (one.disabled_after is not None) == (one.condition is Condition.FAILING)
        return one.condition, one.pending, one.failed

    assert health("a") == (Condition.UNTRIED, 0, 0)
    cast.alice.post(f"{WEBHOOKS}/{made['a']['id']}/ping")
    assert health("a") == (Condition.UNTRIED, 1, 0)
    work()
    assert health("a") == (Condition.WORKING, 0, 0)
    receiver.answer = lambda _message: (500, {}, b"")
    cast.alice.post(f"{WEBHOOKS}/{made['a']['id']}/ping")
    work()
    assert health("a") == (Condition.FAILING, 1, 0)
    Delivery.objects.filter(state="pending").update(state="failed", due_at=None)
    assert health("a") == (Condition.FAILING, 0, 1)
    cast.alice.patch(f"{WEBHOOKS}/{made['a']['id']}", {"enabled": False})
    assert health("a") == (Condition.DISABLED, 0, 1)
    assert health("b") == (Condition.UNTRIED, 0, 0)
