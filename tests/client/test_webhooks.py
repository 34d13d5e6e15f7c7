"""Webhooks by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import NotFound, ValidationFailed

pytestmark = pytest.mark.processes

# Nothing is sent: no worker runs along with the server.
RECEIVER = "https://8.8.8.8/hook"


def test_a_webhook_is_created_changed_and_deleted(client: Any) -> None:
    made = client.create_webhook("default", url=RECEIVER, event_types=["agent.*"], id_prefix="team/")
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    assert (made.event_types, made.id_prefix, made.enabled) == (("agent.*",), "team/", True)
    webhook = client.get_webhook(made.id)
    assert webhook.details().url == RECEIVER
    changed = webhook.update(event_types=["promptBlock.published"], id_prefix=None, enabled=False)
    assert (changed.event_types, changed.id_prefix, changed.enabled) == (
        ("promptBlock.published",),
        None,
        False,
    )
    assert made.id in [one.id for one in client.list_webhooks(workspace_id="default", per_page=10).webhooks]
    assert made.id in [one.id for one in client.iter_webhooks(per_page=1)]
    assert webhook.delete().success
    with pytest.raises(NotFound):
        webhook.details()


def test_a_secret_is_replaced_and_deliveries_are_seen(client: Any) -> None:
    made = client.create_webhook("default", url=RECEIVER, event_types=["agent.*"])
    webhook = client.get_webhook(made.id)
    rotated = webhook.rotate(keep_previous_hours=1)
    assert rotated.secret not in {made.secret, repr(rotated)}
    assert rotated.previous_until is not None
    sent = webhook.ping()
    assert (sent.event.type, sent.event.position, sent.state) == ("webhook.ping", None, "pending")
    assert [one.id for one in webhook.list_deliveries().deliveries] == [sent.id]
    assert [one.id for one in webhook.iter_deliveries()] == [sent.id]
    assert webhook.replay(sent.id).id == sent.id
    webhook.delete()


def test_a_problem_of_a_field_is_named(client: Any) -> None:
    for fields, wrong in (
        ({"url": "http://127.0.0.1/", "event_types": ["agent.*"]}, "url"),
        ({"url": RECEIVER, "event_types": []}, "eventTypes"),
    ):
        with pytest.raises(ValidationFailed) as refused:
            client.create_webhook("default", **fields)
        assert [issue.field for issue in refused.value.issues] == [wrong]
