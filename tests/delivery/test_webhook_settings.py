"""The members of a webhook, and how it is changed: validation, lists, events in the log."""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.delivery.models import Webhook
from tests.support.api import AGENTS, Api
from tests.support.calls import undone
from tests.support.receiver import Receiver
from tests.support.webhooks import WEBHOOKS, WebhookFactory, deliveries, make_webhook, read, work

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1/hook"
BODY = {"workspaceId": "acme", "url": URL, "eventTypes": ["agent.published", "promptBlock.*"]}


@pytest.fixture(autouse=True)
def internal_receivers(settings: Any) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]


def test_a_webhook_has_the_given_members(alice: Api) -> None:
    answer = alice.post(WEBHOOKS, {**BODY, "idPrefix": "team/", "description": "For the chat."})
    assert answer.status == 201
    made = dict(answer.body)
    assert made.pop("secret").startswith("whsec_")
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Location"] == f"/api{WEBHOOKS}/{made['id']}"
    found = alice.get(f"{WEBHOOKS}/{made['id']}")
    assert found.body == made and found.etag == answer.etag
    assert found.body.pop("createdAt").endswith("Z")
    assert found.body == {
        "id": made["id"],
        **BODY,
        "idPrefix": "team/",
        "description": "For the chat.",
        "enabled": True,
        "disabledReason": None,
        "createdBy": "alice",
        "failingSince": None,
        "lastSuccessAt": None,
    }
    assert alice.get(f"{WEBHOOKS}/{made['id']}").etag == found.etag
    again = alice.request("GET", f"{WEBHOOKS}/{made['id']}", if_none_match=found.etag)
    assert again.status == 304


INVALID: list[tuple[dict[str, Any], list[str]]] = [
    ({"eventTypes": []}, ["eventTypes"]),
    ({"eventTypes": None}, ["eventTypes"]),
    ({"eventTypes": "agent.*"}, ["eventTypes"]),
    ({"eventTypes": ["agent.published", "agent.renamed", "*"]}, ["eventTypes.1", "eventTypes.2"]),
    ({"eventTypes": ["webhook.ping"]}, ["eventTypes.0"]),
    ({"eventTypes": ["agent.*"] * 101}, ["eventTypes"]),
    ({"url": "http://127.1/"}, ["url"]),
    ({"url": "https://receiver.invalid/"}, ["url"]),
    ({"url": f"http://127.0.0.1/{'a' * 2000}"}, ["url"]),
    ({"url": "", "eventTypes": []}, ["url"]),
    ({"idPrefix": "a" * 201, "description": "a" * 501}, ["description", "idPrefix"]),
    ({"enabled": "yes"}, ["enabled"]),
    ({"secret": "whsec_mine"}, ["secret"]),
    ({"failingSince": None}, ["failingSince"]),
]


def test_invalid_members_are_named_and_change_nothing(alice: Api) -> None:
    for wrong, fields in INVALID:
        with undone():
            made = make_webhook(alice, URL)
            before = read(alice, made)
            for answer in (
                alice.post(WEBHOOKS, {**BODY, **wrong}),
                alice.patch(f"{WEBHOOKS}/{made['id']}", wrong),
            ):
                assert answer.status == 400
                assert set(fields) <= set(answer.fields)
            assert read(alice, made) == before and Webhook.objects.count() == 1


def test_each_required_member_is_named(alice: Api) -> None:
    assert alice.post(WEBHOOKS, {}).fields == ["eventTypes", "url", "workspaceId"]
    made = make_webhook(alice, URL)
    assert alice.patch(f"{WEBHOOKS}/{made['id']}", {"workspaceId": "acme"}).fields == ["workspaceId"]
    assert alice.get(WEBHOOKS, enabled="true").fields == ["enabled"]


def test_a_change_leaves_other_members_and_null_clears_a_member(alice: Api) -> None:
    made = make_webhook(alice, URL, "agent.*", idPrefix="team/", description="one")
    changed = alice.patch(f"{WEBHOOKS}/{made['id']}", {"description": "two", "eventTypes": ["member.*"]}).body
    assert (changed["description"], changed["eventTypes"]) == ("two", ["member.*"])
    assert (changed["idPrefix"], changed["url"]) == ("team/", URL)
    cleared = alice.patch(f"{WEBHOOKS}/{made['id']}", {"description": None, "idPrefix": None}).body
    assert (cleared["description"], cleared["idPrefix"]) == (None, None)


def test_the_log_has_every_change_and_no_secrets(alice: Api) -> None:
    made = make_webhook(alice, f"{URL}/token-in-the-path", "agent.*")
    path = f"{WEBHOOKS}/{made['id']}"
    alice.patch(path, {"description": "new", "enabled": False})
    alice.patch(path, {"description": "new"})  # changes nothing
    alice.patch(path, {})
    rotated = alice.post(f"{path}/rotate", {"keepPreviousHours": 1}).body["secret"]
    alice.delete(path)
    found = alice.get("/events", type="webhook.*").body["events"]
    about = {"webhookId": made["id"]}
    assert [(event["type"], event["detail"], event["actor"]["id"]) for event in found] == [
        ("webhook.created", about, "alice"),
        ("webhook.changed", {**about, "fields": ["description", "enabled"]}, "alice"),
        ("webhook.changed", {**about, "fields": ["secret"]}, "alice"),
        ("webhook.deleted", about, "alice"),
    ]
    for secret in (made["secret"], rotated, "token-in-the-path"):
        assert secret not in str(found)
    assert alice.get(path).status == 404


def test_a_workspace_has_a_hundred_webhooks_and_no_more(alice: Api) -> None:
    made = make_webhook(alice, URL)
    for workspace, number in (("acme", 98), ("elsewhere", 100)):
        Webhook.objects.bulk_create(WebhookFactory.build_batch(number, workspace_id=workspace))
    assert alice.post(WEBHOOKS, BODY).status == 201
    refused = alice.post(WEBHOOKS, BODY)
    assert (refused.status, refused.code, refused.fields) == (400, "too_many_webhooks", ["workspaceId"])
    assert alice.patch(f"{WEBHOOKS}/{made['id']}", {"description": "new"}).status == 200
    assert alice.delete(f"{WEBHOOKS}/{made['id']}").status == 200
    assert alice.post(WEBHOOKS, BODY).status == 201


def test_lists_have_pages(alice: Api, receiver: Receiver) -> None:
    made = [make_webhook(alice, receiver.url, "agent.created")["id"] for _ in range(3)]
    first = alice.get(WEBHOOKS, perPage=2).body
    assert [one["id"] for one in first["webhooks"]] == made[:0:-1]
    assert (first["total"], first["page"], first["perPage"], first["hasMore"]) == (3, 0, 2, True)
    last = alice.get(WEBHOOKS, perPage=2, page=1).body
    assert [one["id"] for one in last["webhooks"]] == made[:1] and last["hasMore"] is False
    assert alice.get(WEBHOOKS, perPage=1001).fields == ["perPage"]
    for number in range(3):
        AGENTS.make(alice, f"agent-{number}")
        work()
    path = f"{WEBHOOKS}/{made[0]}/deliveries"
    page = alice.get(path, perPage=2).body
    assert [one["event"]["resource"]["id"] for one in page["deliveries"]] == ["agent-2", "agent-1"]
    assert (page["total"], page["hasMore"]) == (3, True)
    assert len(deliveries(alice, {"id": made[0]})) == 3


def test_a_page_of_deliveries_takes_no_query_for_each(
    alice: Api, receiver: Receiver, django_assert_max_num_queries: Any
) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.created")
    for number in range(8):
        AGENTS.make(alice, f"agent-{number}")
    work()
    with django_assert_max_num_queries(16):
        assert len(deliveries(alice, webhook)) == 8
