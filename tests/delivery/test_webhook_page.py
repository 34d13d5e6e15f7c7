"""The page of a webhook: results of its deliveries, and notices to admins."""

from __future__ import annotations

import datetime
import html
import re

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from capabilities.delivery.models import Delivery, DisabledReason, Webhook
from studio import additions
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.interruptions import read_while
from tests.support.people import give_role
from tests.support.receiver import Receiver
from tests.support.studio import Visitor, poll_address, workspace_page
from tests.support.webhook_pages import LIST, NEW, TYPED, made_by, make, page
from tests.support.webhooks import DeliveryFactory, work
from versioning.models import Membership, caller_for

pytestmark = pytest.mark.usefixtures("cast")

HOME = "/studio/"


@pytest.fixture
def alice() -> Visitor:
    return Visitor("alice")


def test_the_page_shows_the_result_of_a_test_message(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    assert "is on its way" in alice.submit(page(webhook, "ping")).words
    assert "Test message Pending" in alice.get(page(webhook)).words
    receiver.answer = lambda _message: (418, {}, b"<b>a teapot</b>")
    work()
    shown = alice.get(page(webhook)).words
    assert "1 attempt" in shown and "418" in shown and "<b>a teapot</b>" in shown
    assert "<b>a teapot" not in alice.get(page(webhook)).markup
    assert "Failing" in alice.get(LIST).words


def test_a_delivery_is_sent_again_under_the_same_id(alice: Visitor, cast: Cast, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    AGENTS.make(cast.alice)
    work()
    delivery = Delivery.objects.get()
    assert "Agent: created, writer" in alice.get(page(webhook)).words
    assert "Message queued again" in alice.submit(page(webhook, f"deliveries/{delivery.pk}/replay")).words
    work()
    assert len({message.id for message in receiver.messages}) == 1 < len(receiver.messages)
    assert "2 attempts" in alice.get(page(webhook)).words


def test_a_disabled_webhook_shows_the_reason_and_can_be_enabled_again(alice: Visitor) -> None:
    webhook = make()
    delivery = DeliveryFactory(webhook=webhook)
    Webhook.objects.filter(pk=webhook.pk).update(enabled=False, disabled_reason=DisabledReason.FAILING)
    assert "No delivery succeeded for three days" in alice.get(page(webhook)).words
    for action in ("ping", f"deliveries/{delivery.pk}/replay"):
        assert "is disabled. Enable it first" in alice.submit(page(webhook, action)).words
    alice.post(page(webhook, "enable"), enabled="true")
    webhook.refresh_from_db()
    assert webhook.enabled and not webhook.disabled_reason
    assert "An admin disabled it" in alice.submit(page(webhook, "enable"), enabled="false").words


def test_deliveries_come_in_pages_and_the_newest_page_is_live(alice: Visitor) -> None:
    webhook = make()
    for _ in range(25):
        DeliveryFactory(webhook=webhook)
    first, second = (alice.get(page(webhook), page=number).markup for number in ("1", "2"))
    assert (first.count('class="delivery"'), second.count('class="delivery"')) == (20, 5)
    assert 'id="live"' in first and 'id="live"' not in second


def test_an_open_page_polls_for_changes(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    for address, change in (
        (page(webhook), lambda: alice.submit(page(webhook, "ping"))),
        (page(webhook), work),
        (LIST, lambda: Webhook.objects.filter(pk=webhook.pk).update(failing_since=timezone.now())),
    ):
        ask = poll_address(alice.get(address).markup)
        assert alice.get(ask).json()["changed"] is False
        change()
        found = alice.get(ask).json()
        assert found["changed"] is True
        assert alice.get(re.sub("after=.*", f"after={found['next']}", ask)).json()["changed"] is False


def test_an_open_page_misses_no_change_made_while_it_was_rendered(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)

    def rename(number: int) -> None:
        Webhook.objects.filter(pk=webhook.pk).update(description=f"Hook {number}")

    for number, shown in read_while(alice, page(webhook), Webhook, rename):
        assert f"Hook {number}" in shown or alice.get(poll_address(shown)).json()["changed"] is True


# Notices


def notices_of(name: str, address: str = HOME) -> str:
    answer = Visitor(name).get(address)
    assert answer.status == 200
    found = re.search(r'(?s)<div id="notices"[^>]*>(.*?)</div>', answer.markup)
    return " ".join(re.sub("<[^>]*>", " ", html.unescape(found[1])).split()) if found else ""


def number_of_notices(name: str) -> int:
    """Return how many notices a person's home page has, without opening it."""
    caller = caller_for(User.objects.get(username=name))
    return len(additions.collect(lambda extension: extension.notices(caller, None)))


def test_admins_are_notified_of_webhooks_that_the_service_disabled(cast: Cast) -> None:
    webhook = made_by("alice", description="Chat")
    Webhook.objects.filter(pk=webhook.pk).update(enabled=False, disabled_reason=DisabledReason.GONE)
    words = "The webhook “Chat” of Acme is disabled. The receiver answered 410"
    for address in (HOME, workspace_page("members"), workspace_page("activity")):
        assert words in notices_of("alice", address)
    assert notices_of("vera", workspace_page("activity")) == ""
    told = {name: number_of_notices(name) for name in ("root", "paula", "vera", "charlie")}
    assert told == {"root": 1, "paula": 0, "vera": 0, "charlie": 0}
    Webhook.objects.filter(pk=webhook.pk).update(disabled_reason="")
    assert number_of_notices("alice") == 0  # an admin has disabled it, and knows


@pytest.mark.parametrize("left", ["removed", "switched off", "deleted"])
def test_admins_are_notified_when_the_creator_of_a_webhook_has_left(alice: Visitor, left: str) -> None:
    give_role("paula", "acme", "admin")
    webhook = made_by("paula", description="Chat")
    assert number_of_notices("alice") == 0
    if left == "removed":
        Membership.objects.filter(user__username="paula").delete()
    elif left == "switched off":
        User.objects.filter(username="paula").update(is_active=False)
    else:
        User.objects.get(username="paula").delete()
    assert "“Chat” of Acme was created by paula , who is no longer a member." in notices_of("alice")
    assert "paula is no longer a member" in alice.get(page(webhook)).words
    alice.post(page(webhook, "take-over"))
    assert number_of_notices("alice") == 0
    webhook.refresh_from_db()
    assert (webhook.created_by, webhook.enabled) == ("alice", True)


def test_the_activity_page_shows_webhook_events_to_admins(alice: Visitor, receiver: Receiver) -> None:
    alice.post(NEW, url=receiver.url, **TYPED)
    webhook = Webhook.objects.get()
    alice.post(page(webhook, "rotate"), hours="0")
    alice.post(page(webhook, "delete"))
    shown = {name: Visitor(name).get(workspace_page("activity")).words for name in ("alice", "paula")}
    for sentence in ("You created a webhook", "You changed a webhook: secret", "You deleted a webhook"):
        assert sentence in shown["alice"] and sentence not in shown["paula"]


def test_a_failing_webhook_shows_since_when_it_fails(alice: Visitor) -> None:
    make(failing_since=timezone.now() - datetime.timedelta(hours=5))
    assert "Failing" in alice.get(LIST).words and "5 hours ago" in alice.get(LIST).words
