"""No page of a list is longer than it may be, and the answer says how many items fit.

Pages are tried with a limit of a few kilobytes, one with the real limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.releases.conftest import item, make
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.comments import say
from tests.support.factories import AgentVersionFactory
from tests.support.reviews import ask
from tests.support.webhooks import DeliveryFactory, WebhookFactory
from versioning.api import parameters

pytestmark = pytest.mark.database  # the database computes the lengths

LIMIT = 5_000
TEXT = "ä" * 800
NUMBER = 6


def _records(api: Api, kind: Kind) -> str:
    for number in range(NUMBER):
        kind.make(api, f"writer-{number}", TEXT, autoPublish=True)
    return kind.path


def _versions(api: Api, kind: Kind) -> str:
    kind.make(api)
    for number in range(NUMBER - 1):
        kind.save(api, text=f"{number} {TEXT}")
    return kind.url("writer", "versions")


def _comments(api: Api, kind: Kind) -> str:
    made = kind.make(api)
    for _ in range(NUMBER):
        say(api, made, kind, body=TEXT)
    return "/comments"


def _reviews(api: Api, kind: Kind) -> str:
    for number in range(NUMBER):
        kind.make(api, f"writer-{number}")
        ask(api, kind, f"writer-{number}", message=TEXT)
    return "/reviews"


def _releases(api: Api, kind: Kind) -> str:
    kind.make(api)
    for _ in range(NUMBER):
        make(api, item(kind, "writer"), description=TEXT)
    return "/releases"


def _webhooks(_api: Api, _kind: Kind) -> str:
    WebhookFactory.create_batch(NUMBER, workspace_id="acme", description=TEXT)
    return "/webhooks"


def _deliveries(_api: Api, _kind: Kind) -> str:
    webhook = WebhookFactory.create(workspace_id="acme")
    for delivery in DeliveryFactory.create_batch(NUMBER, webhook=webhook):
        delivery.made.create(at=delivery.created_at, milliseconds=1, response=TEXT)
    return f"/webhooks/{webhook.pk}/deliveries"


LISTS: dict[str, Callable[[Api, Kind], str]] = {
    "records": _records,
    "versions": _versions,
    "comments": _comments,
    "reviews": _reviews,
    "releases": _releases,
    "webhooks": _webhooks,
    "deliveries": _deliveries,
}


def pages(api: Api, path: str, size: int) -> list[dict[str, Any]]:
    """Return all pages of a list that are this large."""
    found = [api.get(path, perPage=size).body]
    while found[-1]["hasMore"]:
        found.append(api.get(path, perPage=size, page=len(found)).body)
    return found


@pytest.mark.parametrize("what", LISTS)
def test_a_page_that_would_be_too_long_says_how_many_items_fit(
    cast: Cast, kind: Kind, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = LISTS[what](cast.alice, kind)
    whole = cast.alice.get(path, perPage=NUMBER)
    assert whole.status == 200
    monkeypatch.setattr(parameters, "MAX_BYTES", LIMIT)
    refused = cast.alice.get(path, perPage=NUMBER)
    assert (refused.status, refused.code, refused.fields) == (400, "page_too_large", ["perPage"])
    fits = refused.body["perPage"]
    assert 1 < fits < NUMBER
    [items] = [name for name, member in whole.body.items() if isinstance(member, list)]
    found = pages(cast.alice, path, fits)
    assert [one for page in found for one in page[items]] == whole.body[items]
    assert cast.alice.get(path, perPage=fits + 2).code == "page_too_large"
    # A single item is always read, however long it is.
    monkeypatch.setattr(parameters, "MAX_BYTES", 100)
    assert cast.alice.get(path, perPage=NUMBER).body["perPage"] == 1
    assert cast.alice.get(path, perPage=1).status == 200


def test_a_page_of_events_says_which_limit_fits(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    _records(cast.alice, PROMPT_BLOCKS)
    monkeypatch.setattr(parameters, "MAX_BYTES", 3_000)
    refused = cast.alice.get("/events")
    assert (refused.status, refused.code, refused.fields) == (400, "page_too_large", ["limit"])
    page = cast.alice.get("/events", limit=refused.body["limit"])
    assert page.status == 200
    assert len(page.body["events"]) == refused.body["limit"] > 1
    assert cast.alice.get("/events", after="now").status == 200


def test_events_of_one_position_stay_on_one_page_even_above_the_limit(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = cast.alice.get("/events", after="now").body["next"]
    ids = [f"writer-{number}" for number in range(6)]
    for one in ids:
        AGENTS.make(cast.alice, one, autoPublish=False)
    made = make(cast.alice, *(item(AGENTS, one) for one in ids))
    whole = cast.alice.get("/events", after=start).body["events"]
    assert cast.alice.post(f"/releases/{made['id']}/publish").status == 200
    monkeypatch.setattr(parameters, "MAX_BYTES", 1_500)
    found: list[dict[str, Any]] = []
    limit = 1000
    while True:
        page = cast.alice.get("/events", after=start, limit=limit)
        if page.status == 400:
            assert page.body["limit"] < limit
            limit = page.body["limit"]
            continue
        found += page.body["events"]
        if not page.body["hasMore"]:
            break
        start, limit = page.body["next"], 1000
    assert found[: len(whole)] == whole
    assert len({one["position"] for one in found[len(whole) :]}) == 1
    assert len(found) == len(whole) + len(ids) + 1


def test_only_as_many_versions_are_read_as_fit(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    for number in range(2, 18):
        AgentVersionFactory.create(number=number, more={"instructions": "x" * 2**20}, search_text="")
    path = AGENTS.url("writer", "versions")
    with CaptureQueriesContext(connection) as asked:
        refused = cast.alice.get(path, perPage=1000)
    assert refused.body["perPage"] == 15
    statements = [str(query["sql"]) for query in asked]
    reading = [one for one in statements if one.endswith(" LIMIT 15")]
    assert len(reading) == 1 and '"config_json",' in reading[0]
    assert cast.alice.get(path, perPage=15).status == 200
