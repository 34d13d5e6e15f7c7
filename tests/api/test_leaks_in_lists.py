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
    body = api.get(kind.path, **{"status": "all", **query}).body
    names = sorted(item["id"] for item in body[kind.list_key])
    assert body["total"] == len(names)
    return names


def test_no_filter_widens_what_a_caller_sees(cast: Cast, kind: Kind) -> None:
    more = {"metadata": {"team": "one", "tags": ["red"]}}
    make_history(kind, cast.alice, **more)
    kind.make(cast.alice, "unpublished", **more)
    for query in EVERY_FILTER:
        body = cast.charlie.get(kind.path, **query).body
        assert (body[kind.list_key], body["total"], body["hasMore"]) == ([], 0, False), query
    kind.make(cast.charlie, "theirs", autoPublish=True, **more)
    for query in EVERY_FILTER:
        body = cast.vera.get(kind.path, **query).body
        assert {item["id"] for item in body[kind.list_key]} <= {"writer"}, query
        assert body["total"] <= 1, query
        assert not body["hasMore"] or query.get("perPage") == 0, query


def test_published_public_agents_are_listed_for_every_caller(cast: Cast) -> None:
    make_history(AGENTS, cast.alice, visibility="public")
    AGENTS.make(cast.alice, "unpublished", visibility="public")
    AGENTS.make(cast.alice, "private", autoPublish=True)
    assert listed(cast.charlie, AGENTS) == ["writer"]
    assert listed(cast.charlie, AGENTS, visibility="public") == ["writer"]
    assert listed(cast.charlie, AGENTS, visibility="private") == []


def test_a_search_finds_only_words_that_the_caller_may_read(cast: Cast, kind: Kind) -> None:
    more = {"visibility": "public"} if kind is AGENTS else {}
    make_history(kind, cast.alice, **more)
    kind.save(cast.alice, text="draft words", name="Codename")
    strangers = ["charlie"] if kind is AGENTS else []
    finders = {
        words: [
            name
            for name in ("vera", "edgar", "root", "charlie")
            if listed(getattr(cast, name), kind, search=words)
        ]
        for words in ("Published", "writ", "DRAFT", "codename", "historical", "labelled")
    }
    published, drafted = ["vera", "edgar", "root", *strangers], ["edgar", "root"]
    assert list(finders.values()) == [published, published, drafted, drafted, [], []]


@pytest.mark.parametrize("has_draft", ["true", "false"])
def test_has_draft_matches_nothing_for_callers_who_may_not_read_drafts(
    cast: Cast, kind: Kind, has_draft: str
) -> None:
    more = {"visibility": "public"} if kind is AGENTS else {}
    make_history(kind, cast.alice, **more)
    kind.make(cast.alice, "settled", autoPublish=True, **more)
    assert listed(cast.vera, kind, hasDraft=has_draft) == []
    assert listed(cast.charlie, kind, hasDraft=has_draft) == []
    expected = {"true": ["writer"], "false": ["settled"]}
    assert listed(cast.edgar, kind, hasDraft=has_draft) == expected[has_draft]
