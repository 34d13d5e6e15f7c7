"""The webhooks of a workspace in the studio: for its admins alone, and a secret is shown once."""

from __future__ import annotations

import datetime
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from delivery.models import Delivery, Webhook
from delivery.webhooks.models import DisabledReason
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.people import give_role
from tests.support.receiver import Receiver
from tests.support.studio import Visitor, words_of, workspace_page
from tests.support.webhooks import NO_SUCH, DeliveryFactory, WebhookFactory, verify, work
from versioning.models import Event, Membership, Workspace

pytestmark = pytest.mark.usefixtures("cast")

LIST = workspace_page("webhooks")
NEW = workspace_page("webhooks/add")
HOME = "/studio/"


@pytest.fixture
def alice() -> Visitor:
    return Visitor("alice")


def page(webhook: Webhook, name: str = "", workspace_id: str = "acme") -> str:
    return workspace_page(f"webhooks/{webhook.pk}/{name}".rstrip("/"), workspace_id)


def make(workspace_id: str = "acme", **columns: Any) -> Webhook:
    made: Webhook = WebhookFactory(workspace=Workspace.objects.get(pk=workspace_id), **columns)
    return made


def made_by(name: str, **columns: Any) -> Webhook:
    user = User.objects.get(username=name)
    return make(created_by=name, created_by_id=str(user.pk), **columns)


def secret_on(answer: Any) -> str | None:
    found = re.search(r'id="once" value="([^"]+)"', answer.content.decode())
    return html.unescape(found[1]) if found else None


TYPED = {"description": "Chat", "id_prefix": "support/", "event_types": ["agent.published", "promptBlock.*"]}


# Who may come in

PAGES = ["", "change", "delete", "rotate", "live"]
FORMS: dict[str, dict[str, Any]] = {
    "change": {"url": "http://127.0.0.1/mine", "event_types": ["key.*"]},
    "delete": {},
    "rotate": {"hours": "0"},
    "ping": {},
    "enable": {"enabled": "false"},
    "take-over": {},
}


@pytest.mark.parametrize(
    ("who", "status"), [("alice", 200), ("root", 200), ("paula", 403), ("vera", 403), ("charlie", 404)]
)
def test_only_admins_of_the_workspace_open_its_webhooks(who: str, status: int) -> None:
    webhook, visitor = make(), Visitor(who)
    addresses = [LIST, NEW, f"{LIST}live/", *(page(webhook, name) for name in PAGES)]
    assert {visitor.get(address).status_code for address in addresses} == {status}


@pytest.mark.parametrize("name", [*FORMS, "replay", "add"])
@pytest.mark.parametrize(("who", "status"), [("paula", 403), ("edgar", 403), ("charlie", 404)])
def test_nobody_else_sends_their_forms(receiver: Receiver, name: str, who: str, status: int) -> None:
    webhook = make(url=receiver.url)
    delivery = DeliveryFactory(webhook=webhook)
    address = {"replay": page(webhook, f"deliveries/{delivery.pk}/replay"), "add": NEW}.get(
        name, page(webhook, name)
    )
    before = state()
    assert Visitor(who).post(address, **FORMS.get(name, {"url": receiver.url, **TYPED})).status_code == status
    assert state() == before


def state() -> tuple[Any, ...]:
    return (*Webhook.objects.values_list(), *Delivery.objects.values_list(), Event.objects.count())


@pytest.mark.parametrize("name", sorted({*FORMS, *PAGES, "replay"}))
def test_a_webhook_of_another_workspace_is_not_found_below_ones_own(alice: Visitor, name: str) -> None:
    """Not even by somebody who administers both."""
    give_role("alice", "elsewhere", "admin")
    theirs = make("elsewhere")
    delivery = DeliveryFactory(webhook=theirs)
    address = page(theirs, f"deliveries/{delivery.pk}/replay" if name == "replay" else name)
    before = state()
    if name in PAGES:
        assert alice.get(address).status_code == 404
    if name in FORMS or name == "replay":
        assert alice.post(address, **FORMS.get(name, {})).status_code == 404
    assert state() == before
    assert str(theirs.pk) not in alice.get(LIST).content.decode()


@pytest.mark.parametrize("webhook_id", [NO_SUCH, "x", "a\0b", "-"])
def test_a_webhook_that_does_not_exist_is_not_found(alice: Visitor, webhook_id: str) -> None:
    assert alice.get(workspace_page(f"webhooks/{webhook_id}")).status_code == 404


def test_a_delivery_of_another_webhook_is_not_sent_again(alice: Visitor) -> None:
    webhook, other = make(), make()
    delivery = DeliveryFactory(webhook=other)
    for delivery_id in (delivery.pk, NO_SUCH, "x"):
        assert alice.post(page(webhook, f"deliveries/{delivery_id}/replay")).status_code == 404


# Making and changing


def test_a_webhook_is_made_and_its_secret_shown_once(alice: Visitor, cast: Cast, receiver: Receiver) -> None:
    answer = alice.post(NEW, url=receiver.url, **TYPED)
    webhook = Webhook.objects.get()
    assert answer.redirect_chain == [(page(webhook), 302)]
    secret = secret_on(answer)
    assert secret is not None and "no-store" in answer["Cache-Control"]
    for again in (answer.request["PATH_INFO"], page(webhook), LIST):
        assert secret not in alice.get(again).content.decode()
    assert (webhook.workspace_id, webhook.url, webhook.created_by) == ("acme", receiver.url, "alice")
    assert webhook.event_types == TYPED["event_types"] and webhook.id_prefix == "support/"
    AGENTS.make(cast.alice, "support/desk", autoPublish=True)
    work()
    assert verify(receiver.messages[0], secret)["type"] == "agent.published"


def test_no_secret_lies_in_the_session(alice: Visitor, receiver: Receiver) -> None:
    answer = alice.client.post(NEW, {"url": receiver.url, **TYPED})
    held = str(dict(alice.client.session.items()))
    secret = secret_on(alice.client.get(answer["Location"]))
    assert secret is not None and secret not in held and secret.removeprefix("whsec_") not in held


def test_a_page_in_the_background_does_not_take_the_secret_away(alice: Visitor, receiver: Receiver) -> None:
    address = alice.client.post(NEW, {"url": receiver.url, **TYPED})["Location"]
    assert secret_on(alice.client.get(address, headers={"X-Live": "1"})) is None
    assert secret_on(alice.get(address)) is not None


def test_a_secret_is_shown_to_whom_it_was_made_for_alone(alice: Visitor, receiver: Receiver) -> None:
    address = alice.client.post(NEW, {"url": receiver.url, **TYPED})["Location"]
    assert secret_on(Visitor("root").get(address)) is None
    give_role("paula", "acme", "admin")
    assert secret_on(Visitor("paula").get(address)) is None
    assert secret_on(alice.get(address)) is not None


@pytest.mark.parametrize(
    ("typed", "field", "says"),
    [
        ({"url": ""}, "url", "required"),
        ({"url": "http://127.0.0.2/"}, "url", ""),
        ({"url": "ftp://example.com/"}, "url", ""),
        ({"url": "http://user:pass@127.0.0.1/"}, "url", ""),
        ({"event_types": []}, "event_types", "Choose at least one"),
        ({"event_types": ["agent.eaten"]}, "event_types", "not one of the available"),
        ({"description": "x" * 501}, "description", "at most 500"),
        ({"id_prefix": "\0"}, "id_prefix", "Null characters"),
    ],
)
def test_what_is_wrong_stays_in_the_form(
    alice: Visitor, receiver: Receiver, typed: dict[str, Any], field: str, says: str
) -> None:
    answer = alice.post(NEW, **{"url": receiver.url, **TYPED, **typed})
    assert (answer.status_code, set(answer.context["form"].errors)) == (400, {field})
    assert says in str(answer.context["form"].errors)
    assert not Webhook.objects.exists()
    if field != "event_types":
        assert 'value="promptBlock.*" checked' in answer.content.decode()


def test_types_are_offered_in_words_and_a_pattern_stands_for_its_types(
    alice: Visitor, receiver: Receiver
) -> None:
    shown = words_of(alice.get(NEW))
    for words in (
        "Agents",
        "Draft saved",
        "Label set, moved or released",
        "API keys",
        "Members",
        "Everything",
    ):
        assert words in shown
    alice.post(NEW, url=receiver.url, event_types=["agent.published", "agent.*", "key.revoked"])
    assert sorted(Webhook.objects.get().event_types) == ["agent.*", "key.revoked"]
    assert "Anything about agents; API key: revoked" in words_of(alice.get(LIST))


def test_a_webhook_is_changed(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url, description="Before", event_types=["agent.*"])
    shown = alice.get(page(webhook, "change"))
    assert 'value="agent.*" checked' in shown.content.decode() and "Before" in shown.content.decode()
    alice.post(page(webhook, "change"), url=receiver.url, description="After", event_types=["key.created"])
    webhook.refresh_from_db()
    assert (webhook.description, webhook.event_types) == ("After", ["key.created"])
    assert "webhook.changed" in Event.objects.values_list("type", flat=True)


def test_other_fields_can_be_changed_while_the_host_does_not_resolve(alice: Visitor) -> None:
    webhook = make(url="http://10.0.0.1/", event_types=["agent.*"])
    alice.post(page(webhook, "change"), url=webhook.url, description="Known", event_types=["agent.*"])
    webhook.refresh_from_db()
    assert webhook.description == "Known"


def test_a_type_that_nobody_declares_any_more_can_be_given_up(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url, event_types=["agent.*", "pilot.ended"])
    assert 'value="pilot.ended" checked' in alice.get(page(webhook, "change")).content.decode()
    kept = alice.post(page(webhook, "change"), url=receiver.url, event_types=["agent.*", "pilot.ended"])
    assert kept.status_code == 400 and "is no type of event" in words_of(kept)
    alice.post(page(webhook, "change"), url=receiver.url, event_types=["agent.*"])
    webhook.refresh_from_db()
    assert webhook.event_types == ["agent.*"]


def test_a_webhook_is_deleted_after_asking(alice: Visitor) -> None:
    webhook = make(description="Chat")
    assert "Delete Chat?" in words_of(alice.get(page(webhook, "delete")))
    assert Webhook.objects.exists()
    assert "“Chat” is deleted" in words_of(alice.post(page(webhook, "delete")))
    assert not Webhook.objects.exists()


# Secrets


def test_a_new_secret_is_shown_once_and_the_old_one_signs_for_a_while(
    alice: Visitor, receiver: Receiver
) -> None:
    first = secret_on(alice.post(NEW, url=receiver.url, **TYPED))
    webhook = Webhook.objects.get()
    answer = alice.post(page(webhook, "rotate"), hours="2")
    second = secret_on(answer)
    assert first and second and first != second and "The one before signs too until" in words_of(answer)
    assert secret_on(alice.get(page(webhook))) is None
    alice.post(page(webhook, "ping"))
    work()
    [message] = receiver.messages
    assert verify(message, first) == verify(message, second)


@pytest.mark.parametrize("hours", ["", "-1", "169", "x"])
def test_a_wrong_number_of_hours_changes_no_secret(alice: Visitor, hours: str) -> None:
    webhook = make()
    answer = alice.post(page(webhook, "rotate"), hours=hours)
    assert (answer.status_code, set(answer.context["form"].errors)) == (400, {"hours"})
    webhook.refresh_from_db()
    assert webhook.generation == 1


def test_without_the_key_nothing_is_made_and_the_page_says_why(
    alice: Visitor, receiver: Receiver, settings: Any
) -> None:
    settings.EDITOR_WEBHOOK_KEY = "a key"
    alice.post(NEW, url=receiver.url, **TYPED)
    settings.EDITOR_WEBHOOK_KEY = "another key, of which nobody was told"
    answer = alice.post(NEW, url=receiver.url, **TYPED)
    assert (answer.status_code, Webhook.objects.count()) == (503, 1)
    assert "SECRET_KEY_FALLBACKS" in words_of(answer)


# Deliveries


def test_a_test_message_shows_what_came_of_it(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    assert "is on its way" in words_of(alice.post(page(webhook, "ping")))
    assert "Test message Pending" in words_of(alice.get(page(webhook)))
    receiver.answer = lambda _message: (418, {}, b"<b>a teapot</b>")
    work()
    shown = words_of(alice.get(page(webhook)))
    assert "1 attempt" in shown and "418" in shown and "<b>a teapot</b>" in shown
    assert "<b>a teapot" not in alice.get(page(webhook)).content.decode()
    assert "Failing" in words_of(alice.get(LIST))


def test_a_delivery_is_sent_again_under_the_same_id(alice: Visitor, cast: Cast, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    AGENTS.make(cast.alice)
    work()
    delivery = Delivery.objects.get()
    assert "Agent: created, writer" in words_of(alice.get(page(webhook)))
    assert "once more" in words_of(alice.post(page(webhook, f"deliveries/{delivery.pk}/replay")))
    work()
    assert len({message.id for message in receiver.messages}) == 1 < len(receiver.messages)
    assert "2 attempts" in words_of(alice.get(page(webhook)))


def test_a_disabled_webhook_says_why_and_is_enabled_again(alice: Visitor) -> None:
    webhook = make()
    delivery = DeliveryFactory(webhook=webhook)
    Webhook.objects.filter(pk=webhook.pk).update(enabled=False, disabled_reason=DisabledReason.FAILING)
    assert "Three days went by without one success" in words_of(alice.get(page(webhook)))
    for action in ("ping", f"deliveries/{delivery.pk}/replay"):
        assert "is disabled. Enable it first" in words_of(alice.post(page(webhook, action)))
    alice.post(page(webhook, "enable"), enabled="true")
    webhook.refresh_from_db()
    assert webhook.enabled and not webhook.disabled_reason
    assert "An admin has disabled it" in words_of(alice.post(page(webhook, "enable"), enabled="false"))


def test_deliveries_come_in_pages_and_the_newest_page_is_live(alice: Visitor) -> None:
    webhook = make()
    for _ in range(25):
        DeliveryFactory(webhook=webhook)
    first, second = (alice.get(page(webhook), page=number).content.decode() for number in ("1", "2"))
    assert (first.count('class="delivery"'), second.count('class="delivery"')) == (20, 5)
    assert 'id="live"' in first and 'id="live"' not in second


def test_an_open_page_asks_whether_something_has_changed(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    for address, change in (
        (page(webhook), lambda: alice.post(page(webhook, "ping"))),
        (page(webhook), work),
        (LIST, lambda: Webhook.objects.filter(pk=webhook.pk).update(failing_since=timezone.now())),
    ):
        ask = html.unescape(re.findall(r'data-ask="([^"]+)"', alice.get(address).content.decode())[0])
        assert alice.get(ask).json()["changed"] is False
        change()
        found = alice.get(ask).json()
        assert found["changed"] is True
        assert alice.get(re.sub("after=.*", f"after={found['next']}", ask)).json()["changed"] is False


# Notices


def told(name: str, address: str = HOME) -> str:
    answer = Visitor(name).get(address)
    assert answer.status_code == 200
    found = re.search(r'(?s)<div id="notices"[^>]*>(.*?)</div>', answer.content.decode())
    return " ".join(re.sub("<[^>]*>", " ", html.unescape(found[1])).split()) if found else ""


def test_admins_are_told_of_what_the_service_has_disabled(cast: Cast) -> None:
    webhook = made_by("alice", description="Chat")
    Webhook.objects.filter(pk=webhook.pk).update(enabled=False, disabled_reason=DisabledReason.GONE)
    words = "The webhook “Chat” of Acme is disabled. The receiver answered 410"
    for address in (HOME, workspace_page("members"), workspace_page("activity")):
        assert words in told("alice", address)
    assert words in told("root")
    assert told("paula") == told("vera", workspace_page("activity")) == told("charlie") == ""
    Webhook.objects.filter(pk=webhook.pk).update(disabled_reason="")
    assert told("alice") == ""  # an admin has disabled it, and knows


@pytest.mark.parametrize("left", ["removed", "switched off", "deleted"])
def test_admins_are_told_that_whoever_made_a_webhook_has_left(alice: Visitor, left: str) -> None:
    give_role("paula", "acme", "admin")
    webhook = made_by("paula", description="Chat")
    assert told("alice") == ""
    if left == "removed":
        Membership.objects.filter(user__username="paula").delete()
    elif left == "switched off":
        User.objects.filter(username="paula").update(is_active=False)
    else:
        User.objects.get(username="paula").delete()
    assert "“Chat” of Acme was made by paula, who is no member any more." in told("alice")
    assert "paula is no member" in words_of(alice.get(page(webhook)))
    alice.post(page(webhook, "take-over"))
    assert told("alice") == ""
    webhook.refresh_from_db()
    assert (webhook.created_by, webhook.enabled) == ("alice", True)


def test_the_log_tells_of_webhooks_to_admins(alice: Visitor, receiver: Receiver) -> None:
    alice.post(NEW, url=receiver.url, **TYPED)
    webhook = Webhook.objects.get()
    alice.post(page(webhook, "rotate"), hours="0")
    alice.post(page(webhook, "delete"))
    shown = {name: words_of(Visitor(name).get(workspace_page("activity"))) for name in ("alice", "paula")}
    for sentence in ("alice made a webhook", "alice changed a webhook: secret", "alice deleted a webhook"):
        assert sentence in shown["alice"] and sentence not in shown["paula"]


def test_a_disabled_webhook_is_not_an_old_one(alice: Visitor) -> None:
    make(failing_since=timezone.now() - datetime.timedelta(hours=5))
    assert "Failing" in words_of(alice.get(LIST)) and "5 hours ago" in words_of(alice.get(LIST))
