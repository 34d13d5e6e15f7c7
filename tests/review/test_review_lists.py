"""Lists of reviews: filters, pages, and a number of statements that does not grow."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.review.models import Review, Verdict
from tests.conftest import Cast
from tests.serving.test_query_counts import insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.people import give_role
from tests.support.reviews import REVIEWS, approve, ask, listed, path, require_approvals, say
from versioning.models.versioned import MODELS

pytestmark = pytest.mark.django_db

BEGUN, SECOND = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=1)
FEW, MANY = 4, 150
# A list by state queries twice which resources the configurations refer to now, as verdicts depend on that. A
# page of more than a few queries the lengths of its texts first.
MOST = 30
"""What a page of reviews may take, authentication included."""


@pytest.mark.database
def test_a_list_is_narrowed(cast: Cast) -> None:
    agent = ask_about(cast.edgar, AGENTS, reviewers=["paula"])
    block = ask_about(cast.edgar, PROMPT_BLOCKS, reviewers=["alice", "paula"])
    own = ask_about(cast.alice, AGENTS, "mine")
    give_role("alice", "elsewhere", "editor")
    elsewhere = ask_about(cast.charlie, AGENTS, "theirs")
    for query, found in (
        ({}, [elsewhere, own, block, agent]),
        ({"kind": "promptBlock"}, [block]),
        ({"id": "writer"}, [block, agent]),
        ({"kind": "agent", "id": "writer"}, [agent]),
        ({"kind": "agent", "id": "nothing"}, []),
        ({"workspaceId": "acme"}, [own, block, agent]),
        ({"workspaceId": "elsewhere"}, [elsewhere]),
        ({"workspaceId": "nowhere"}, []),
        ({"author": "me"}, [own]),
        ({"reviewer": "me"}, [block]),
        ({"reviewer": "me", "kind": "agent"}, []),
        ({"orderBy[direction]": "ASC"}, [agent, block, own, elsewhere]),
    ):
        assert listed(cast.alice, **query) == [review["id"] for review in found], query
    assert listed(cast.paula, reviewer="me") == [block["id"], agent["id"]]
    assert listed(cast.edgar, author="me") == [block["id"], agent["id"]]


def test_a_list_is_narrowed_by_the_current_state(cast: Cast, kind: Kind) -> None:
    require_approvals(2)
    reviews = {
        name: ask_about(cast.edgar, kind, name) for name in ("open", "one", "two", "changes", "closed")
    }
    for name, apis in (("one", [cast.paula]), ("two", [cast.paula, cast.alice]), ("closed", [cast.paula])):
        for api in apis:
            approve(api, reviews[name])
    assert say(cast.alice, reviews["changes"], "requestChanges").status == 200
    cast.edgar.patch(path(reviews["closed"]), {"state": "closed"})

    def in_state(state: str) -> list[str]:
        found = listed(cast.edgar, state=state)
        page = cast.edgar.get(REVIEWS, state=state).body["reviews"]
        assert {review["state"] for review in page} <= {state}
        return [name for name, review in reviews.items() if review["id"] in found]

    assert {state: in_state(state) for state in STATES} == {
        "open": ["open", "one"],
        "approved": ["two"],
        "changesRequested": ["changes"],
        "published": [],
        "closed": ["closed"],
    }
    require_approvals(1)
    assert (in_state("open"), in_state("approved")) == (["open"], ["one", "two"])
    give_role("paula", "acme", "editor")
    assert (in_state("open"), in_state("approved")) == (["open", "one"], ["two"])


STATES = ("open", "approved", "changesRequested", "published", "closed")


@pytest.mark.database
def test_a_list_has_pages(cast: Cast) -> None:
    made = [ask_about(cast.edgar, AGENTS, f"agent-{number}")["id"] for number in range(3)]
    page = cast.edgar.get(REVIEWS, page=1, perPage=2, state="open").body
    assert [review["id"] for review in page["reviews"]] == made[:1]
    assert (page["total"], page["page"], page["perPage"], page["hasMore"]) == (3, 1, 2, False)
    assert cast.edgar.get(REVIEWS, perPage=0).body == {
        "reviews": [],
        "total": 3,
        "page": 0,
        "perPage": 0,
        "hasMore": False,
    }


def test_an_unknown_filter_is_named(alice: Api) -> None:
    for name, value in [
        ("state", "pending"),
        ("reviewer", "paula"),
        ("author", ""),
        ("kind", "workflow"),
        ("perPage", "1001"),
    ]:
        answer = alice.get(REVIEWS, **{name: value})
        assert (answer.status, answer.fields) == (400, [name])


def ask_about(api: Api, kind: Kind, resource_id: str = "writer", **more: Any) -> dict[str, Any]:
    kind.make(api, resource_id)
    return ask(api, kind, resource_id, **more)


def insert(start: int, stop: int) -> None:
    """Insert so many agents and blocks, with reviews that have a reviewer and two verdicts."""
    names = [f"r{number}" for number in range(start, stop)]
    for kind in (AGENTS, PROMPT_BLOCKS):
        insert_resources(kind, names)
    paula, alice = (User.objects.get(username=name) for name in ("paula", "alice"))
    for model in MODELS:
        rows = model._default_manager.filter(pk__in=names).select_related("latest_version")
        about = [
            {
                "kind": model.kind.slug,
                "resource_id": row.pk,
                "identity": row.uuid,
                "version_id": row.latest_id,
                "version_number": row.latest.number,
                "digest": row.latest.digest,
            }
            for row in rows
        ]
        reviews = Review.objects.bulk_create(
            Review(workspace_id="acme", author_name="edgar", created_at=BEGUN + SECOND * number, **one)
            for number, one in enumerate(about, start)
        )
        Verdict.objects.bulk_create(
            Verdict(review=review, author=person, author_name=person.username, verdict="approve", **one)
            for review, one in zip(reviews, about, strict=True)
            for person in (paula, alice)
        )
        asked: Any = Review.reviewers.through
        asked.objects.bulk_create(asked(review=review, user=paula) for review in reviews)


def statements(read: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = read()
    assert answer.status == 200, answer.body
    return len(captured)


def test_a_list_takes_the_same_statements_for_any_number_of_reviews(cast: Cast) -> None:
    reads: list[Callable[[], Any]] = [
        lambda: cast.paula.get(REVIEWS, perPage=1000),
        lambda: cast.paula.get(REVIEWS, perPage=1000, state="approved", reviewer="me"),
    ]
    insert(0, FEW)
    for read in reads:
        read()  # the first read of a process takes more queries
    few = [statements(read) for read in reads]
    insert(FEW, MANY)
    assert [statements(read) for read in reads] == few
    assert max(few) <= MOST
    answer = cast.paula.get(REVIEWS, perPage=1000)
    assert answer.body["total"] == 2 * MANY
    assert {len(review["verdicts"]) for review in answer.body["reviews"]} == {2}
