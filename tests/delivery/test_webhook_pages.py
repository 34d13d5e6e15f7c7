"""The webhooks of a workspace in the studio: only for its admins, with secrets shown once."""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.delivery.models import Delivery, Webhook
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.people import give_role
from tests.support.receiver import Receiver
from tests.support.studio import Visitor, workspace_page
from tests.support.webhook_pages import LIST, NEW, TYPED, make, page, secret_on
from tests.support.webhooks import NO_SUCH, DeliveryFactory, verify, work
from versioning.models import Event

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def alice() -> Visitor:
    return Visitor("alice")


# Access

PAGES = ["", "change", "delete", "rotate", "live"]
FORMS: dict[str, dict[str, Any]] = {
    "change": {"url": "http://127.0.0.1/mine", "event_types": ["key.*"]},
    "delete": {},
    "rotate": {"hours": "0"},
    "ping": {},
    "enable": {"enabled": "false"},
    "take-over": {},
}


def test_only_admins_of_the_workspace_open_its_webhooks() -> None:
    for who, status in [("alice", 200), ("root", 200), ("paula", 403)]:
        webhook, visitor = make(), Visitor(who)
        addresses = [LIST, NEW, f"{LIST}live/", *(page(webhook, name) for name in PAGES)]
        assert {visitor.get(address).status for address in addresses} == {status}


def test_only_admins_of_the_workspace_can_send_the_forms(receiver: Receiver) -> None:
    webhook = make(url=receiver.url)
    replay = page(webhook, f"deliveries/{DeliveryFactory(webhook=webhook).pk}/replay")
    before = state()
    for who, status in (("paula", 403), ("edgar", 403)):
        visitor = Visitor(who)
        for name in (*FORMS, "replay", "add"):
            address = {"replay": replay, "add": NEW}.get(name, page(webhook, name))
            typed = FORMS.get(name, {"url": receiver.url, **TYPED})
            assert visitor.submit(address, **typed).status == status, (who, name)
    assert state() == before


def state() -> tuple[Any, ...]:
    return (*Webhook.objects.values_list(), *Delivery.objects.values_list(), Event.objects.count())


def test_a_webhook_is_not_found_under_the_url_of_another_workspace(alice: Visitor) -> None:
    """Not even by a person who administers both."""
    give_role("alice", "elsewhere", "admin")
    theirs = make("elsewhere")
    replay = page(theirs, f"deliveries/{DeliveryFactory(webhook=theirs).pk}/replay")
    before = state()
    for name in PAGES:
        assert alice.get(page(theirs, name)).status == 404, name
    for name in (*FORMS, "replay"):
        address = replay if name == "replay" else page(theirs, name)
        assert alice.submit(address, **FORMS.get(name, {})).status == 404, name
    assert state() == before
    assert str(theirs.pk) not in alice.get(LIST).markup


def test_a_webhook_that_does_not_exist_is_not_found(alice: Visitor) -> None:
    for webhook_id in [NO_SUCH, "x", "a\0b", "-"]:
        assert alice.get(workspace_page(f"webhooks/{webhook_id}")).status == 404


def test_a_delivery_of_another_webhook_is_not_sent_again(alice: Visitor) -> None:
    webhook, other = make(), make()
    delivery = DeliveryFactory(webhook=other)
    for delivery_id in (delivery.pk, NO_SUCH, "x"):
        assert alice.submit(page(webhook, f"deliveries/{delivery_id}/replay")).status == 404


# Making and changing


def test_a_webhook_is_created_and_its_secret_shown_once(
    alice: Visitor, cast: Cast, receiver: Receiver
) -> None:
    answer = alice.submit(NEW, url=receiver.url, **TYPED)
    webhook = Webhook.objects.get()
    assert answer.response.redirect_chain == [(page(webhook), 302)]
    secret = secret_on(answer)
    assert secret is not None and "no-store" in answer.headers["Cache-Control"]
    for again in (answer.response.request["PATH_INFO"], page(webhook), LIST):
        assert secret not in alice.get(again).markup
    assert (webhook.workspace_id, webhook.url, webhook.created_by) == ("acme", receiver.url, "alice")
    assert webhook.event_types == TYPED["event_types"] and webhook.id_prefix == "support/"
    AGENTS.make(cast.alice, "support/desk", autoPublish=True)
    work()
    assert verify(receiver.messages[0], secret)["type"] == "agent.published"


def test_no_secret_is_stored_in_the_session(alice: Visitor, receiver: Receiver) -> None:
    answer = alice.post(NEW, {"url": receiver.url, **TYPED})
    held = str(dict(alice.client.session.items()))
    secret = secret_on(alice.get(answer.location))
    assert secret is not None and secret not in held and secret.removeprefix("whsec_") not in held


def test_a_background_request_does_not_use_up_the_secret(alice: Visitor, receiver: Receiver) -> None:
    address = alice.post(NEW, {"url": receiver.url, **TYPED}).location
    assert secret_on(alice.get(address, headers={"X-Live": "1"})) is None
    assert secret_on(alice.get(address)) is not None


def test_a_secret_is_shown_only_to_its_creator(alice: Visitor, receiver: Receiver) -> None:
    address = alice.post(NEW, {"url": receiver.url, **TYPED}).location
    assert secret_on(Visitor("root").get(address)) is None
    give_role("paula", "acme", "admin")
    assert secret_on(Visitor("paula").get(address)) is None
    assert secret_on(alice.get(address)) is not None


def test_invalid_input_stays_in_the_form_with_an_error(alice: Visitor, receiver: Receiver) -> None:
    for typed, field, says in [
        ({"url": ""}, "url", "required"),
        ({"url": "http://127.0.0.2/"}, "url", ""),
        ({"url": "ftp://example.com/"}, "url", ""),
        ({"url": "http://user:pass@127.0.0.1/"}, "url", ""),
        ({"event_types": []}, "event_types", "Choose at least one"),
        ({"event_types": ["agent.eaten"]}, "event_types", "not one of the available"),
        ({"description": "x" * 501}, "description", "at most 500"),
        ({"id_prefix": "\0"}, "id_prefix", "Null characters"),
    ]:
        answer = alice.submit(NEW, **{"url": receiver.url, **TYPED, **typed})
        assert (answer.status, set(answer.context["form"].errors)) == (400, {field})
        assert says in str(answer.context["form"].errors)
        assert not Webhook.objects.exists()
        if field != "event_types":
            assert 'value="promptBlock.*" checked' in answer.markup


def test_event_types_are_offered_in_words_and_as_patterns(alice: Visitor, receiver: Receiver) -> None:
    shown = alice.get(NEW).words
    for words in (
        "Agents",
        "Draft saved",
        "Label set, moved or released",
        "API keys",
        "Members",
        "All events, including future ones",
    ):
        assert words in shown
    alice.post(NEW, url=receiver.url, event_types=["agent.published", "agent.*", "key.revoked"])
    assert sorted(Webhook.objects.get().event_types) == ["agent.*", "key.revoked"]
    assert "Agent: anything; API key: revoked" in alice.get(LIST).words


def test_a_webhook_is_changed(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url, description="Before", event_types=["agent.*"])
    shown = alice.get(page(webhook, "change"))
    assert 'value="agent.*" checked' in shown.markup and "Before" in shown.markup
    alice.post(page(webhook, "change"), url=receiver.url, description="After", event_types=["key.created"])
    webhook.refresh_from_db()
    assert (webhook.description, webhook.event_types) == ("After", ["key.created"])
    assert "webhook.changed" in Event.objects.values_list("type", flat=True)


def test_other_fields_can_be_changed_while_the_host_does_not_resolve(alice: Visitor) -> None:
    webhook = make(url="http://10.0.0.1/", event_types=["agent.*"])
    alice.post(page(webhook, "change"), url=webhook.url, description="Known", event_types=["agent.*"])
    webhook.refresh_from_db()
    assert webhook.description == "Known"


def test_a_type_that_is_no_longer_declared_can_be_deselected(alice: Visitor, receiver: Receiver) -> None:
    webhook = make(url=receiver.url, event_types=["agent.*", "pilot.ended"])
    assert 'value="pilot.ended" checked' in alice.get(page(webhook, "change")).markup
    kept = alice.submit(page(webhook, "change"), url=receiver.url, event_types=["agent.*", "pilot.ended"])
    assert kept.status == 400 and "is not a type of event" in kept.words
    alice.post(page(webhook, "change"), url=receiver.url, event_types=["agent.*"])
    webhook.refresh_from_db()
    assert webhook.event_types == ["agent.*"]


def test_a_webhook_is_deleted_after_confirmation(alice: Visitor) -> None:
    webhook = make(description="Chat")
    assert "Delete Chat?" in alice.get(page(webhook, "delete")).words
    assert Webhook.objects.exists()
    assert "“Chat” deleted" in alice.submit(page(webhook, "delete")).words
    assert not Webhook.objects.exists()


# Secrets


def test_a_new_secret_is_shown_once_and_the_old_one_signs_for_some_hours(
    alice: Visitor, receiver: Receiver
) -> None:
    first = secret_on(alice.submit(NEW, url=receiver.url, **TYPED))
    webhook = Webhook.objects.get()
    answer = alice.submit(page(webhook, "rotate"), hours="2")
    second = secret_on(answer)
    assert first and second and first != second and "The old one also signs until" in answer.words
    assert secret_on(alice.get(page(webhook))) is None
    alice.post(page(webhook, "ping"))
    work()
    [message] = receiver.messages
    assert verify(message, first) == verify(message, second)


def test_a_wrong_number_of_hours_changes_no_secret(alice: Visitor) -> None:
    for hours in ["", "-1", "169", "x"]:
        webhook = make()
        answer = alice.submit(page(webhook, "rotate"), hours=hours)
        assert (answer.status, set(answer.context["form"].errors)) == (400, {"hours"})
        webhook.refresh_from_db()
        assert webhook.generation == 1


def test_without_the_key_no_webhook_is_created_and_the_page_shows_the_reason(
    alice: Visitor, receiver: Receiver, settings: Any
) -> None:
    settings.EDITOR_WEBHOOK_KEY = "a key"
    alice.post(NEW, url=receiver.url, **TYPED)
    settings.EDITOR_WEBHOOK_KEY = "another key, of which no one was told"
    answer = alice.submit(NEW, url=receiver.url, **TYPED)
    assert (answer.status, Webhook.objects.count()) == (503, 1)
    assert "SECRET_KEY_FALLBACKS" in answer.words
