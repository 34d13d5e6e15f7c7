"""Filters of lists: each alone, their values, and what they reveal to which caller."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.unchanged import is_refusal


def found(api: Api, kind: Kind, **query: Any) -> list[str]:
    """Return the sorted ids of everything that matches, in any status."""
    answer = api.get(kind.path, **{"status": "all", **query})
    assert answer.status == 200, answer.body
    ids = sorted(item["id"] for item in answer.body[kind.list_key])
    assert answer.body["total"] == len(ids)
    return ids


def refused(api: Api, kind: Kind, **query: Any) -> list[str]:
    answer = api.get(kind.path, **query)
    assert (answer.status, answer.code) == (400, "validation_failed"), answer.body
    return answer.fields


def make_one_of_each_status(api: Api, kind: Kind) -> None:
    kind.make(api, "draft")
    kind.make(api, "published", autoPublish=True)
    kind.make(api, "both", autoPublish=True)
    kind.save(api, "both")


@pytest.mark.both_kinds
def test_the_status_is_that_of_the_record_and_only_agents_have_a_default(alice: Api, kind: Kind) -> None:
    make_one_of_each_status(alice, kind)
    assert found(alice, kind, status="published") == ["both", "published"]
    assert found(alice, kind, status="draft") == ["draft"]
    assert found(alice, kind, status="all") == ["both", "draft", "published"]
    default = sorted(item["id"] for item in alice.get(kind.path).body[kind.list_key])
    assert default == (["both", "published"] if kind is AGENTS else ["both", "draft", "published"])
    assert alice.post(kind.url("both", "unpublish")).status == 200
    assert found(alice, kind, status="published") == ["published"]
    assert found(alice, kind, status="draft") == ["both", "draft"]


def test_the_author_filter_matches_the_creator(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "of-edgar")
    kind.make(cast.alice, "of-alice")
    kind.save(cast.edgar, "of-alice")
    assert found(cast.alice, kind, authorId="edgar") == ["of-edgar"]
    assert found(cast.alice, kind, authorId="alice") == ["of-alice"]
    assert found(cast.alice, kind, authorId="nobody") == found(cast.alice, kind, authorId="ALICE") == []


def test_the_workspace_filter_narrows_a_list_and_grants_nothing(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "here", autoPublish=True)
    kind.make(cast.charlie, "there", autoPublish=True)
    assert found(cast.root, kind, workspaceId="acme") == ["here"]
    assert found(cast.root, kind, workspaceId="elsewhere") == ["there"]
    assert found(cast.alice, kind, workspaceId="elsewhere") == []
    assert found(cast.alice, kind, workspaceId="nowhere") == []


def test_only_agents_are_private_or_public(cast: Cast) -> None:
    assert refused(cast.alice, PROMPT_BLOCKS, visibility="public") == ["visibility"]
    AGENTS.make(cast.alice, "hidden", autoPublish=True)
    AGENTS.make(cast.alice, "open", visibility="public", autoPublish=True)
    assert found(cast.alice, AGENTS, visibility="public") == ["open"]
    assert found(cast.alice, AGENTS, visibility="private") == ["hidden"]
    assert found(cast.charlie, AGENTS, visibility="private") == []
    assert refused(cast.alice, AGENTS, visibility="secret") == ["visibility"]


METADATA: dict[str, Any] = {
    "text": "1",
    "integer": 1,
    "fraction": 1.5,
    "true": True,
    "false": False,
    "zero": 0,
    "empty": "",
    "list": [1, "a", {"b": True}],
    "object": {"b": [1, 2], "a": {"c": "ü"}},
    "unicode": "ü'\"\\%_\u2028🦊",
}


NOT_IN_METADATA: list[Any] = ["true", "false", 2, 1.25, "01", [], {}, [1], {"a": {"c": "ü"}}, "Ü", "1 "]


@pytest.mark.database
def test_metadata_is_equal_in_type_and_value(alice: Api, kind: Kind) -> None:
    for name, value in METADATA.items():
        kind.make(alice, name, metadata={"key": value})
        kind.make(alice, f"{name}/elsewhere", metadata={"other": value})
    matches = {
        name: found(alice, kind, metadata=json.dumps({"key": value})) for name, value in METADATA.items()
    }
    assert matches == {name: [name] for name in METADATA}
    others = [found(alice, kind, metadata=json.dumps({"key": value})) for value in NOT_IN_METADATA]
    assert others == [[]] * len(NOT_IN_METADATA)


@pytest.mark.database
def test_every_key_of_the_metadata_must_be_equal(alice: Api, kind: Kind) -> None:
    kind.make(alice, "both", metadata={"team": {"a": 1, "b": {"c": 2, "d": 3}}, "tier": 1, "more": True})
    kind.make(alice, "half", metadata={"team": {"a": 1, "b": {"c": 2, "d": 3}}, "tier": 2})
    team = '"team": {"b": {"d": 3, "c": 2}, "a": 1}'  # in another order
    assert found(alice, kind, metadata=f'{{{team}, "tier": 1}}') == ["both"]
    assert found(alice, kind, metadata=f"{{{team}}}") == ["both", "half"]
    assert found(alice, kind, metadata="{}") == ["both", "half"]
    assert found(alice, kind, metadata='{"_Team9": "one"}') == []


@pytest.mark.database
def test_a_metadata_key_is_no_operator(alice: Api, kind: Kind) -> None:
    kind.make(alice, "named", metadata={"a__gt": 0, "id": "x"})
    kind.make(alice, "larger", metadata={"a": 1})
    assert (
        found(alice, kind, metadata='{"a__gt": 0}') == found(alice, kind, metadata='{"id": "x"}') == ["named"]
    )


@pytest.mark.database
def test_metadata_of_very_many_keys_is_answered_or_refused(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    query = json.dumps({f"k{number}": 1 for number in range(2_000)})
    answer = alice.get(kind.path, status="all", metadata=query)
    refused = is_refusal(answer, 400, "validation_failed") and answer.fields == ["metadata"]
    assert refused or (answer.status, answer.body["total"]) == (200, 0)


@pytest.mark.database
def test_a_search_covers_id_name_description_and_text_ignoring_case(alice: Api, kind: Kind) -> None:
    kind.make(alice, "other", name="Other", description="Nothing", text="else")
    kind.make(alice, "in-id/été", name="The name", description="Describes it", text="unmistakable words")
    kind.make(alice, "in-name", name="ÉTÉ")
    kind.make(alice, "in-text", text="L'Été")
    for text in ("IN-ID", "the name", "describes", "unmistakable", "takable w"):
        assert found(alice, kind, search=text) == ["in-id/été"], text
    for text in ("ÉTÉ", "été", "Été"):
        assert found(alice, kind, search=text) == ["in-id/été", "in-name", "in-text"], text


def test_a_search_finds_the_pieces_of_instructions(alice: Api) -> None:
    pieces = [{"type": "text", "content": "first piece"}, {"type": "prompt_block", "content": "second"}]
    AGENTS.make(alice, instructions=pieces)
    assert found(alice, AGENTS, search="first piece") == found(alice, AGENTS, search="second") == ["writer"]
    assert found(alice, AGENTS, search="prompt_block") == found(alice, AGENTS, search="content") == []


@pytest.mark.database
def test_a_search_takes_every_character_literally(alice: Api, kind: Kind) -> None:
    kind.make(alice, "plain", text="100 axb ab e i")
    odd = ["100%", "a_b", "a*b", "\\", "'", '"', "🦊", "é", "İ"]
    for number, text in enumerate(odd):
        kind.make(alice, f"odd-{number}", text=f"<{text}>")
    for number, text in enumerate(odd):
        assert found(alice, kind, search=text) == [f"odd-{number}"], text


def test_a_search_has_two_hundred_characters_at_most(alice: Api, kind: Kind) -> None:
    kind.make(alice, "writer", "x" * 300)
    assert found(alice, kind, search="") == found(alice, kind, search="x" * 200) == ["writer"]
    answer = alice.get(kind.path, status="all", search="x" * 201)
    assert (answer.status, answer.fields) == (400, ["search"])
    assert "200 characters" in answer.body["error"]


@pytest.mark.database
def test_a_search_uses_no_like_patterns(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    with CaptureQueriesContext(connection) as queries:
        found(alice, kind, search="one")
    statements = " ".join(query["sql"] or "" for query in queries)
    assert "search_text" in statements
    assert " LIKE " not in statements.upper()


def test_has_draft_means_newer_than_the_published_version_or_never_published(alice: Api, kind: Kind) -> None:
    make_one_of_each_status(alice, kind)
    assert found(alice, kind, hasDraft="true") == ["both", "draft"]
    assert found(alice, kind, hasDraft="false") == ["published"]


@pytest.mark.database
def test_filters_narrow_each_other(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "wanted", metadata={"a": 1}, autoPublish=True)
    kind.make(cast.alice, "draft", metadata={"a": 1})
    kind.make(cast.alice, "other", metadata={"a": 2}, autoPublish=True)
    kind.make(cast.paula, "of-paula", metadata={"a": 1}, autoPublish=True)
    query = {"status": "published", "authorId": "alice", "metadata": '{"a": 1}', "hasDraft": "false"}
    assert found(cast.alice, kind, **query, workspaceId="acme", search="one") == ["wanted"]
    assert found(cast.alice, kind, **query, workspaceId="acme", search="two") == []
