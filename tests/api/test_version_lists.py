"""The history of a resource: listed in pages, compared, and bounded where that is configured."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import make_history


def history(kind: Kind, api: Api, **query: Any) -> dict[str, Any]:
    answer = api.get(kind.url("writer", "versions"), **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def numbers(kind: Kind, api: Api, **query: Any) -> list[int]:
    return [version["versionNumber"] for version in history(kind, api, **query)["versions"]]


def make_many(kind: Kind, api: Api, count: int, resource_id: str = "writer", **more: Any) -> list[str]:
    """Make versions with the texts 1, 2, … and return their ids."""
    ids = [kind.make(api, resource_id, "1", **more)["resolvedVersionId"]]
    texts = map(str, range(2, count + 1))
    return ids + [kind.save(api, resource_id, text)["resolvedVersionId"] for text in texts]


def compare(kind: Kind, api: Api, before: str, after: str) -> Answer:
    return api.get(kind.url("writer", "versions", "compare"), **{"from": before, "to": after})


def test_versions_come_newest_first_20_a_page(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 21)
    first, second = (history(kind, alice, page=page) for page in (0, 1))
    assert [version["versionNumber"] for version in first.pop("versions")] == list(range(21, 1, -1))
    assert first == {"total": 21, "page": 0, "perPage": 20, "hasMore": True}
    assert [version["versionNumber"] for version in second.pop("versions")] == [1]
    assert second == {"total": 21, "page": 1, "perPage": 20, "hasMore": False}


def test_pages_of_versions_have_the_requested_size(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 3)
    assert [numbers(kind, alice, page=page, perPage=2) for page in range(3)] == [[3, 2], [1], []]
    none = history(kind, alice, perPage=0)
    assert (none["versions"], none["total"], none["perPage"]) == ([], 3, 0)
    assert numbers(kind, alice, perPage=1000) == [3, 2, 1]


def test_a_query_of_versions_is_refused_naming_the_parameter(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for field, value in (
        ("perPage", 1001),
        ("page", -1),
        ("orderBy[field]", "updatedAt"),
        ("orderBy[direction]", "up"),
        ("source", "file"),
        ("source", ""),
        ("status", "draft"),
        ("label", "stable"),
    ):
        answer = alice.get(kind.url("writer", "versions"), **{field: value})
        assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", [field])


@pytest.mark.database
def test_versions_have_the_requested_order(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 3)
    for field in ("versionNumber", "createdAt"):
        assert numbers(kind, alice, **{"orderBy[field]": field}) == [3, 2, 1]
        assert numbers(kind, alice, **{"orderBy[field]": field, "orderBy[direction]": "DESC"}) == [3, 2, 1]
        assert numbers(kind, alice, **{"orderBy[field]": field, "orderBy[direction]": "ASC"}) == [1, 2, 3]


def test_versions_come_from_the_database_or_from_git(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 2)
    assert numbers(kind, alice, source="database") == [2, 1]
    git = history(kind, alice, source="git")
    assert (git["versions"], git["total"], git["hasMore"]) == ([], 0, False)


def test_a_list_of_versions_covers_one_resource(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 2)
    make_many(kind, alice, 3, "other")
    assert (numbers(kind, alice), history(kind, alice)["total"]) == ([2, 1], 2)


def test_comparing_names_the_top_level_fields_that_differ(alice: Api, kind: Kind) -> None:
    schema = {"a": {"b": 1}, "same": True}
    first = kind.make(alice, description="there", requestContextSchema=schema)["resolvedVersionId"]
    changes = {"description": None, "requestContextSchema": {**schema, "a": {"b": 2}}}
    second = kind.save(alice, text="two", **changes)["resolvedVersionId"]
    answer = compare(kind, alice, first, second)
    assert answer.status == 200
    assert sorted(answer.body["diffs"], key=lambda diff: diff["field"]) == sorted(
        [
            {"field": kind.text, "previousValue": "one", "currentValue": "two"},
            {"field": "description", "previousValue": "there", "currentValue": None},
            {
                "field": "requestContextSchema",
                "previousValue": schema,
                "currentValue": {"a": {"b": 2}, "same": True},
            },
        ],
        key=lambda diff: diff["field"],
    )
    assert (answer.body["fromVersion"]["id"], answer.body["toVersion"]["id"]) == (first, second)
    assert answer.body["toVersion"] == alice.get(kind.url("writer", "versions", second)).body


def test_comparing_works_in_both_directions_and_equal_versions_do_not_differ(alice: Api, kind: Kind) -> None:
    first, second = make_many(kind, alice, 2)
    assert compare(kind, alice, second, first).body["diffs"] == [
        {"field": kind.text, "previousValue": "2", "currentValue": "1"}
    ]
    restored = alice.post(kind.url("writer", "versions", first, "restore")).body["id"]
    for other in (first, restored):
        answer = compare(kind, alice, first, other)
        assert (answer.status, answer.body["diffs"]) == (200, [])


def test_comparing_tells_values_of_different_types_apart(alice: Api, kind: Kind) -> None:
    first = kind.make(alice, requestContextSchema={"a": 1})["resolvedVersionId"]
    second = alice.patch(kind.url("writer"), {"requestContextSchema": {"a": True}}).body["resolvedVersionId"]
    [diff] = compare(kind, alice, first, second).body["diffs"]
    assert diff["previousValue"]["a"] is not True and diff["currentValue"]["a"] is True


def test_comparing_needs_both_sides(alice: Api, kind: Kind) -> None:
    first = kind.make(alice)["resolvedVersionId"]
    address = kind.url("writer", "versions", "compare")
    assert alice.get(address).fields == ["from", "to"]
    assert alice.get(address, **{"from": first}).fields == ["to"]
    assert alice.get(address, **{"from": first, "to": ""}).fields == ["to"]


def test_comparing_with_a_missing_version_is_404(alice: Api, kind: Kind) -> None:
    first = kind.make(alice)["resolvedVersionId"]
    for unknown in ("00000000-0000-4000-8000-000000000000", "x", "latest"):
        assert compare(kind, alice, first, unknown).status == 404
        assert compare(kind, alice, unknown, first).status == 404


def test_history_is_unbounded_by_default(alice: Api, kind: Kind) -> None:
    make_many(kind, alice, 30)
    call_command("prune_versions")
    assert history(kind, alice)["total"] == 30


def test_a_bounded_history_keeps_the_newest_versions(alice: Api, kind: Kind, settings: Settings) -> None:
    settings.EDITOR_KEEP_VERSIONS = 3
    make_many(kind, alice, 6)
    assert numbers(kind, alice) == [6, 5, 4]
    assert alice.get(kind.url("writer"), status="draft").body[kind.text] == "6"
    settings.EDITOR_KEEP_VERSIONS = 1
    kind.save(alice, text="7")
    assert (numbers(kind, alice), kind.versions(alice)[0]["changedFields"]) == ([7], [kind.text])


@pytest.mark.database
def test_a_bounded_history_never_loses_the_active_or_a_labelled_version(
    alice: Api, kind: Kind, settings: Settings
) -> None:
    first, second, _ = make_many(kind, alice, 3)
    kind.publish(alice, "writer", first)
    assert alice.put(kind.url("writer", "labels", "stable"), {"versionId": second}).status == 200
    settings.EDITOR_KEEP_VERSIONS = 1
    kind.save(alice, text="4")
    assert numbers(kind, alice) == [4, 2, 1]
    assert alice.get(kind.url("writer")).body[kind.text] == "1"
    assert alice.get(kind.url("writer"), label="stable").body[kind.text] == "2"


@pytest.mark.parametrize("verb", ["versions", "restore"])
def test_a_bounded_history_counts_copies_too(alice: Api, kind: Kind, settings: Settings, verb: str) -> None:
    first, *_ = make_many(kind, alice, 3)
    settings.EDITOR_KEEP_VERSIONS = 2
    rest = ("versions",) if verb == "versions" else ("versions", first, "restore")
    answer = alice.post(kind.url("writer", *rest))
    assert answer.status == 201
    assert numbers(kind, alice) == [4, 3]
    assert alice.get(kind.url("writer"), status="draft").body["latestVersionId"] == answer.body["id"]


def test_pruning_keeps_the_newest_the_active_and_the_labelled_versions(
    alice: Api, kind: Kind, settings: Settings
) -> None:
    before = make_history(kind, alice)
    for text in "abc":
        kind.save(alice, text=text)
    settings.EDITOR_KEEP_VERSIONS = 2
    call_command("prune_versions")
    assert numbers(kind, alice) == [7, 6, 3, 1]
    assert alice.get(kind.url("writer")).body["activeVersionId"] == before.published
    assert alice.get(kind.url("writer"), versionId=before.historical).status == 404


@pytest.mark.database
def test_pruning_covers_agents_and_prompt_blocks(alice: Api, settings: Settings) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        make_many(kind, alice, 4)
        make_many(kind, alice, 2, "short")
    settings.EDITOR_KEEP_VERSIONS = 2
    call_command("prune_versions")
    for kind in (AGENTS, PROMPT_BLOCKS):
        assert numbers(kind, alice) == [4, 3]
        assert len(kind.versions(alice, "short")) == 2
