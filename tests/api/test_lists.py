"""Lists of agents and prompt blocks: pages, order, and totals of what the caller may read."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from versioning.models import Agent, PromptBlock
from versioning.models.guarded import unguard


def listed(api: Api, kind: Kind, **query: Any) -> list[str]:
    """Return the ids of a list of everything, in any status."""
    answer = api.get(kind.path, **{"status": "all", **query})
    assert answer.status == 200, answer.body
    return [item["id"] for item in answer.body[kind.list_key]]


def place(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    return {name: answer.body[name] for name in ("total", "page", "perPage", "hasMore")}


def made_at_the_same_moment(kind: Kind) -> None:
    model = Agent if kind is AGENTS else PromptBlock
    now = timezone.now()
    unguard(model.objects.all()).update(created_at=now, updated_at=now)


def test_a_list_of_nothing_is_empty(alice: Api, kind: Kind) -> None:
    answer = alice.get(kind.path)
    assert answer.body == {kind.list_key: [], "total": 0, "page": 0, "perPage": 100, "hasMore": False}


def test_a_list_holds_the_records_with_their_published_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, text="served", autoPublish=True, metadata={"a": 1})
    kind.save(alice, text="draft")
    [item] = alice.get(kind.path).body[kind.list_key]
    assert item == alice.get(kind.url("writer")).body
    assert (item[kind.text], item["status"], item["hasDraft"]) == ("served", "published", True)


def test_a_list_shows_the_latest_version_where_nothing_is_published(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    kind.save(alice, text="newer")
    [item] = alice.get(kind.path, status="all").body[kind.list_key]
    assert item == alice.get(kind.url("writer")).body and item[kind.text] == "newer"


def test_a_page_holds_100_by_default(alice: Api, kind: Kind) -> None:
    for number in range(101):
        kind.make(alice, f"w{number}")
    first, second = (alice.get(kind.path, status="all", page=page) for page in (0, 1))
    assert len(first.body[kind.list_key]) == 100
    assert place(first) == {"total": 101, "page": 0, "perPage": 100, "hasMore": True}
    assert [item["id"] for item in second.body[kind.list_key]] == ["w0"]
    assert place(second) == {"total": 101, "page": 1, "perPage": 100, "hasMore": False}


@pytest.mark.database
def test_pages_follow_each_other_and_say_whether_there_are_more(alice: Api, kind: Kind) -> None:
    for name in "abcde":
        kind.make(alice, name)
    answers = [alice.get(kind.path, status="all", page=page, perPage=2) for page in range(4)]
    found = [[item["id"] for item in answer.body[kind.list_key]] for answer in answers]
    assert found == [["e", "d"], ["c", "b"], ["a"], []]
    assert [place(answer) for answer in answers] == [
        {"total": 5, "page": page, "perPage": 2, "hasMore": page < 2} for page in range(4)
    ]
    assert alice.delete(kind.url("a")).status == 200
    full = alice.get(kind.path, status="all", page=1, perPage=2)
    assert place(full) == {"total": 4, "page": 1, "perPage": 2, "hasMore": False}


def test_a_page_of_size_0_holds_only_the_total(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = alice.get(kind.path, status="all", perPage=0)
    assert (answer.status, answer.body[kind.list_key], answer.body["total"]) == (200, [], 1)
    assert (answer.body["perPage"], answer.body["page"]) == (0, 0)


def test_a_page_holds_up_to_1000(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    assert place(alice.get(kind.path, status="all", perPage=1000))["perPage"] == 1000


@pytest.mark.database
def test_a_page_far_beyond_the_end_is_empty(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = alice.get(kind.path, status="all", page=999_999_999, perPage=1000)
    assert answer.body[kind.list_key] == [] and place(answer)["hasMore"] is False


@pytest.mark.database
def test_the_newest_come_first_and_equals_by_id(alice: Api, kind: Kind) -> None:
    for name in ("b", "c", "a"):
        kind.make(alice, name)
    assert listed(alice, kind) == ["a", "c", "b"]
    made_at_the_same_moment(kind)
    assert listed(alice, kind) == ["a", "b", "c"]
    assert [listed(alice, kind, page=page, perPage=1) for page in range(3)] == [["a"], ["b"], ["c"]]


@pytest.mark.database
def test_a_list_has_the_requested_order(alice: Api, kind: Kind) -> None:
    for name in ("b", "c", "a"):
        kind.make(alice, name)
    kind.save(alice, "b")
    for field, direction, expected in (
        ("createdAt", "ASC", ["b", "c", "a"]),
        ("createdAt", "DESC", ["a", "c", "b"]),
        ("updatedAt", "ASC", ["c", "a", "b"]),
        ("updatedAt", "DESC", ["b", "a", "c"]),
    ):
        assert listed(alice, kind, **{"orderBy[field]": field, "orderBy[direction]": direction}) == expected
    assert listed(alice, kind, **{"orderBy[field]": "updatedAt"}) == ["b", "a", "c"]
    assert listed(alice, kind, **{"orderBy[direction]": "ASC"}) == ["b", "c", "a"]


def test_every_problem_of_a_query_is_named(alice: Api, kind: Kind) -> None:
    answer = alice.get(kind.path, nonsense="1", status="archived", other="2")
    assert (answer.status, answer.fields) == (400, ["nonsense", "other", "status"])


def test_totals_and_pages_hold_only_readable_resources(cast: Cast, kind: Kind) -> None:
    for number in range(3):
        kind.make(cast.alice, f"published-{number}", autoPublish=True)
        kind.make(cast.alice, f"draft-{number}")
        kind.make(cast.charlie, f"foreign-{number}", autoPublish=True)
    totals = {
        name: getattr(cast, name).get(kind.path, status="all", perPage=2).body["total"]
        for name in ("alice", "paula", "edgar", "vera", "charlie", "root")
    }
    assert totals == {"alice": 6, "paula": 6, "edgar": 6, "vera": 3, "charlie": 3, "root": 9}
    pages = [cast.vera.get(kind.path, status="all", page=page, perPage=2).body for page in (0, 1)]
    assert [[item["id"] for item in page[kind.list_key]] for page in pages] == [
        ["published-2", "published-1"],
        ["published-0"],
    ]
    assert [page["hasMore"] for page in pages] == [True, False]
