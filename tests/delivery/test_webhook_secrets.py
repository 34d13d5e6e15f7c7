"""Secrets: shown once, derived and never stored, rotated without a gap, and readable with an older key."""

from __future__ import annotations

import datetime
import logging
from typing import Any

import pytest
from django.core import serializers
from django.db.models import QuerySet
from django.utils import timezone
from standardwebhooks.webhooks import WebhookVerificationError

from capabilities.delivery.models import Delivery, RootKey, Webhook, sign
from tests.support.api import Api
from tests.support.receiver import Message, Receiver
from tests.support.webhooks import WEBHOOKS, make_webhook, path, read, seconds_until, verify, work
from versioning.api.request_log import without_secrets
from versioning.models import Event, PeriodicJob
from versioning.worker.jobs import list_jobs
from versioning.worker.running import Worker

pytestmark = pytest.mark.django_db


def ping(api: Api, webhook: dict[str, Any], receiver: Receiver) -> Message:
    """Send a ping and return the received message."""
    answer = api.post(path(webhook, "ping"))
    assert answer.status == 200, answer.body
    work()
    return receiver.messages[-1]


def rotate(api: Api, webhook: dict[str, Any], hours: int) -> dict[str, Any]:
    answer = api.post(path(webhook, "rotate"), {"keepPreviousHours": hours})
    assert answer.status == 200, answer.body
    return dict(answer.body)


def pass_hours(hours: float) -> None:
    """Let this much time pass for the secrets before the newest."""
    for webhook in Webhook.objects.all():
        webhook.previous = [
            [
                generation,
                (datetime.datetime.fromisoformat(until) - datetime.timedelta(hours=hours)).isoformat(),
            ]
            for generation, until in webhook.previous
        ]
        webhook.save()


def verifies(message: Message, secret: str) -> bool:
    try:
        verify(message, secret)
    except WebhookVerificationError:
        return False
    return True


def test_the_signature_follows_the_standard() -> None:
    secret = "whsec_plJ3nmyCDGBKInavdOK15jsl"
    body = b'{"event_type":"ping","data":{"success":true}}'
    headers = sign("msg_loFOjxBNrRLzqYUf", 1731705121, body, [secret])
    assert headers["webhook-signature"] == "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="


def test_a_secret_verifies_and_nothing_else_does(alice: Api, receiver: Receiver) -> None:
    webhook, other = make_webhook(alice, receiver.url), make_webhook(alice, receiver.url)
    message = ping(alice, webhook, receiver)
    assert verifies(message, webhook["secret"]) and not verifies(message, other["secret"])
    changed = Message(message.path, message.headers, message.body + b" ")
    assert not verifies(changed, webhook["secret"])


def test_both_secrets_sign_during_a_rotation(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    rotated = rotate(alice, webhook, 24)
    assert 24 * 3600 - 60 < seconds_until(rotated["previousUntil"]) <= 24 * 3600
    both = ping(alice, webhook, receiver)
    assert verifies(both, webhook["secret"]) and verifies(both, rotated["secret"])
    assert both.headers["webhook-signature"].count("v1,") == 2
    pass_hours(24)
    late = ping(alice, webhook, receiver)
    assert not verifies(late, webhook["secret"]) and verifies(late, rotated["secret"])


def test_a_rotation_does_not_shorten_the_time_of_earlier_secrets(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    second = rotate(alice, webhook, 24)["secret"]
    third = rotate(alice, webhook, 1)["secret"]
    message = ping(alice, webhook, receiver)
    assert all(verifies(message, secret) for secret in (webhook["secret"], second, third))
    pass_hours(2)
    message = ping(alice, webhook, receiver)
    assert [verifies(message, one) for one in (webhook["secret"], second, third)] == [True, False, True]


def test_a_rotation_without_hours_ends_all_earlier_ones(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    second = rotate(alice, webhook, 168)["secret"]
    third = rotate(alice, webhook, 0)
    assert third["previousUntil"] is None
    message = ping(alice, webhook, receiver)
    assert [verifies(message, one) for one in (webhook["secret"], second, third["secret"])] == [
        False,
        False,
        True,
    ]


def test_at_most_five_secrets_sign_after_any_number_of_rotations(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url)
    secrets = [rotate(alice, webhook, 168)["secret"] for _ in range(9)]
    message = ping(alice, webhook, receiver)
    assert message.headers["webhook-signature"].count("v1,") == 5
    assert [verifies(message, one) for one in secrets] == [False] * 4 + [True] * 5


@pytest.mark.parametrize("hours", [-1, 169, 1.5, "24", None])
def test_hours_out_of_range_are_named(alice: Api, receiver: Receiver, hours: Any) -> None:
    webhook = make_webhook(alice, receiver.url)
    for body in ({"keepPreviousHours": hours}, {}):
        answer = alice.post(path(webhook, "rotate"), body)
        assert (answer.status, answer.fields) == (400, ["keepPreviousHours"])
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])


# Where it is not


def test_a_secret_is_shown_once_and_stored_nowhere(
    alice: Api, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        webhook = make_webhook(alice, receiver.url)
        rotated = rotate(alice, webhook, 24)["secret"]
        ping(alice, webhook, receiver)
    root = RootKey.load_key()
    rows: list[QuerySet[Any]] = [
        model.objects.all()  # type: ignore[attr-defined]
        for model in (Webhook, Delivery, RootKey, Event)
    ]
    stored = "".join(serializers.serialize("json", found) for found in rows)
    everything = stored + caplog.text + str(read(alice, webhook)) + str(alice.get(WEBHOOKS).body)
    for secret in (webhook["secret"], rotated, root.hex()):
        assert secret.removeprefix("whsec_") not in everything
    assert root not in stored.encode()


def test_a_secret_in_a_log_line_is_removed(alice: Api, receiver: Receiver) -> None:
    secret = make_webhook(alice, receiver.url)["secret"]
    line = without_secrets(f'{{"a": "{secret}"}}')
    assert line == '{"a": "whsec_[secret]"}'


# The key that all of them follow from


def test_a_rotation_of_the_secret_key_changes_no_webhook_secret(
    alice: Api, receiver: Receiver, settings: Any
) -> None:
    webhook = make_webhook(alice, receiver.url)
    old, sealed = settings.SECRET_KEY, RootKey.objects.get().sealed
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [old]
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])
    assert RootKey.objects.get().sealed != sealed
    settings.SECRET_KEY_FALLBACKS = []  # once read, the key is encrypted under the new one
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])


def test_a_worker_encrypts_the_unused_key_again_after_a_rotation(
    alice: Api, receiver: Receiver, settings: Any
) -> None:
    upkeep = [list_jobs()["webhook upkeep"]]
    assert Worker(upkeep).once() and not RootKey.objects.exists()
    webhook = make_webhook(alice, receiver.url)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", [settings.SECRET_KEY]
    PeriodicJob.objects.update(due_at=timezone.now())
    assert Worker(upkeep).once()
    settings.SECRET_KEY_FALLBACKS = []
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])


def test_a_separate_webhook_key_can_be_introduced_and_replaced(
    alice: Api, receiver: Receiver, settings: Any
) -> None:
    webhook = make_webhook(alice, receiver.url)
    settings.EDITOR_WEBHOOK_KEY = "first"
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])
    settings.SECRET_KEY = "new"
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])
    settings.EDITOR_WEBHOOK_KEY = "second, first"
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])
    settings.EDITOR_WEBHOOK_KEY = "second"
    assert verifies(ping(alice, webhook, receiver), webhook["secret"])


def test_without_the_key_changes_are_refused_completely_and_the_error_names_it(
    alice: Api, receiver: Receiver, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = make_webhook(alice, receiver.url)
    pending = alice.post(path(webhook, "ping")).body
    old, settings.SECRET_KEY = settings.SECRET_KEY, "new"
    body = {"workspaceId": "acme", "url": receiver.url, "eventTypes": ["agent.*"]}
    for answer in (
        alice.post(WEBHOOKS, body),
        alice.post(path(webhook, "rotate"), {"keepPreviousHours": 1}),
    ):
        assert (answer.status, answer.code) == (503, "webhook_key_unreadable")
        assert "SECRET_KEY_FALLBACKS" in answer.body["error"]
    assert Webhook.objects.count() == 1
    assert [event["type"] for event in alice.get("/events", type="webhook.*").body["events"]] == [
        "webhook.created"
    ]
    work()
    assert receiver.messages == []
    assert "SECRET_KEY_FALLBACKS" in caplog.text
    stored = Delivery.objects.get(pk=pending["id"])
    assert stored.state == "pending" and not stored.made.exists()
    assert read(alice, webhook)["failingSince"] is None  # it is no fault of the receiver
    settings.SECRET_KEY_FALLBACKS = [old]
    Delivery.objects.update(due_at=timezone.now())
    work()
    assert verifies(receiver.messages[0], webhook["secret"])


def test_an_empty_fallback_is_not_a_key(settings: Any) -> None:
    settings.EDITOR_WEBHOOK_KEY, settings.SECRET_KEY_FALLBACKS = " , ", [""]
    assert RootKey.texts() == [settings.SECRET_KEY]
