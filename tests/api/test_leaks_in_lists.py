"""Lists, totals, filters and searches show and count only what the caller may read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.calls import make_history

EVERY_FILTER: list[dict[str, Any]] = [
    {},
    {"status": "all"},
    {"status": "draft"},
    {"status": "published"},
    {"authorId": "alice"},
    {"workspaceId": "acme"},
    {"metadata": json.dumps({"team": "one"})},
    {"tag": "red"},
    {"search": "words"},
    {"search": "writer"},
    {"hasDraft": "true"},
    {"hasDraft": "false"},
    {"perPage": 0},
    {"page": 1, "perPage": 1},
    {"orderBy[field]": "updatedAt", "orderBy[direction]": "ASC"},
]


def listed(api: Api, kind: Kind, **query: Any) -> list[str]:
    """The ids that a list shows; its total must agree."""
    body = api.get(kind.path, **{"status": "all", **query}).body
    names = sorted(item["id"] for item in body[kind.list_key])
    assert body["total"] == len(names)
    return names


def test_a_stranger_finds_nothing_by_any_filter(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice, metadata={"team": "one", "tags": ["red"]})
    kind.make(cast.alice, "unpublished", metadata={"team": "one", "tags": ["red"]})
    for query in EVERY_FILTER:
        body = cast.charlie.get(kind.path, **query).body
        assert (body[kind.list_key], body["total"], body["hasMore"]) == ([], 0, False), query


def test_a_filter_never_widens_what_a_viewer_sees(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice, metadata={"team": "one", "tags": ["red"]})
    kind.make(cast.alice, "unpublished", metadata={"team": "one", "tags": ["red"]})
    kind.make(cast.charlie, "theirs", autoPublish=True, metadata={"team": "one", "tags": ["red"]})
    for query in EVERY_FILTER:
        body = cast.vera.get(kind.path, **query).body
        assert {item["id"] for item in body[kind.list_key]} <= {"writer"}, query
        assert body["total"] <= 1, query
        assert not body["hasMore"] or query.get("perPage") == 0, query


def test_totals_and_pages_count_only_what_is_readable(cast: Cast, kind: Kind) -> None:
    for number in range(3):
        kind.make(cast.alice, f"published-{number}", autoPublish=True)
        kind.make(cast.alice, f"unpublished-{number}")
        kind.make(cast.charlie, f"theirs-{number}", autoPublish=True)
    pages = [cast.vera.get(kind.path, status="all", perPage=2, page=page).body for page in (0, 1, 2)]
    assert [page["total"] for page in pages] == [3, 3, 3]
    assert [len(page[kind.list_key]) for page in pages] == [2, 1, 0]
    assert [page["hasMore"] for page in pages] == [True, False, False]
    assert cast.edgar.get(kind.path, status="all").body["total"] == 6
    assert cast.root.get(kind.path, status="all").body["total"] == 9


def test_a_list_shows_a_viewer_what_is_published_of_the_own_workspaces(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    kind.make(cast.alice, "unpublished")
    kind.make(cast.charlie, "theirs", autoPublish=True)
    assert listed(cast.vera, kind) == ["writer"]
    assert listed(cast.edgar, kind) == ["unpublished", "writer"]
    assert listed(cast.charlie, kind) == ["theirs"]
    assert listed(cast.root, kind) == ["theirs", "unpublished", "writer"]


def test_a_list_shows_everybody_public_agents_that_are_published(cast: Cast) -> None:
    make_history(AGENTS, cast.alice, visibility="public")
    AGENTS.make(cast.alice, "unpublished", visibility="public")
    AGENTS.make(cast.alice, "private", autoPublish=True)
    assert listed(cast.charlie, AGENTS) == ["writer"]
    assert listed(cast.charlie, AGENTS, visibility="public") == ["writer"]
    assert listed(cast.charlie, AGENTS, visibility="private") == []


@pytest.mark.parametrize("words", ["draft words", "DRAFT", "historical", "labelled"])
def test_a_search_in_drafts_and_history_finds_nothing_for_a_viewer(
    cast: Cast, kind: Kind, words: str
) -> None:
    make_history(kind, cast.alice)
    assert listed(cast.vera, kind, search=words) == []


@pytest.mark.parametrize("words", ["published words", "Published", "writ"])
def test_a_search_in_what_is_published_finds_it_for_every_member(cast: Cast, kind: Kind, words: str) -> None:
    make_history(kind, cast.alice)
    assert listed(cast.vera, kind, search=words) == ["writer"]
    assert listed(cast.edgar, kind, search=words) == ["writer"]
    assert listed(cast.charlie, kind, search=words) == []


def test_a_search_in_drafts_finds_them_for_an_editor(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    assert listed(cast.edgar, kind, search="draft words") == ["writer"]
    assert listed(cast.root, kind, search="draft words") == ["writer"]
    assert listed(cast.charlie, kind, search="draft words") == []


def test_a_search_in_the_draft_of_a_public_agent_finds_nothing_for_a_stranger(cast: Cast) -> None:
    make_history(AGENTS, cast.alice, visibility="public")
    assert listed(cast.charlie, AGENTS, search="published words") == ["writer"]
    assert listed(cast.charlie, AGENTS, search="draft words") == []


@pytest.mark.parametrize("has_draft", ["true", "false"])
def test_whether_there_is_a_draft_cannot_be_asked_by_who_may_not_read_it(
    cast: Cast, kind: Kind, has_draft: str
) -> None:
    more = {"visibility": "public"} if kind is AGENTS else {}
    make_history(kind, cast.alice, **more)
    kind.make(cast.alice, "settled", autoPublish=True, **more)
    assert listed(cast.vera, kind, hasDraft=has_draft) == []
    assert listed(cast.charlie, kind, hasDraft=has_draft) == []
    expected = {"true": ["writer"], "false": ["settled"]}
    assert listed(cast.edgar, kind, hasDraft=has_draft) == expected[has_draft]


def test_a_list_of_served_agents_holds_only_what_may_be_read(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    AGENTS.make(cast.alice, "unpublished", "unpublished words")
    AGENTS.make(cast.alice, "open", "open words", visibility="public", autoPublish=True)

    def served(api: Api) -> dict[str, str]:
        stored = [agent for agent in api.get("/agents").body.values() if agent["source"] == "stored"]
        return {agent["id"]: agent["instructions"] for agent in stored}

    assert served(cast.charlie) == {"open": "open words"}
    assert served(cast.vera) == {"open": "open words", "writer": "published words"}
    assert served(cast.edgar) == {**served(cast.vera), "unpublished": "unpublished words"}
    assert cast.nobody.get("/agents").status == 401


def test_a_caller_without_a_key_gets_no_list(cast: Cast, kind: Kind) -> None:
    answer = cast.nobody.get(kind.path)
    assert (answer.status, answer.code) == (401, "unauthorized")
