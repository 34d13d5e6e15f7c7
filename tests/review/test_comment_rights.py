"""Who may read and write comments; which life of an id they belong to; a thousand of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.review.models import Comment
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.comments import body_of, change, listed, say
from tests.support.override_files import Folder, define
from tests.support.people import give_role, key_of, person
from versioning.domain.access import Role


def statuses(api: Api, comment: dict[str, Any], new: dict[str, Any]) -> set[int]:
    """Return the statuses of all requests about a comment, including writing a new one."""
    path = f"/comments/{comment['id']}"
    answers = [
        api.get(path),
        api.patch(path, {"resolved": True}),
        api.patch(path, {"body": "Mine."}),
        api.delete(path),
        api.post("/comments", new),
        api.post("/comments", {**new, "parent": comment["id"]}),
        api.post("/comments", {**new, "versionId": str(uuid4())}),
    ]
    return {answer.status for answer in answers}


def test_callers_without_the_right_to_read_drafts_see_no_comments(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice)
    comment, new = say(cast.edgar, made, kind), body_of(made, kind)
    limited = [
        key_of("edgar", role="viewer"),
        key_of("alice", workspace="acme", role="viewer"),
        key_of("charlie", workspace="elsewhere"),
    ]
    person("nora")

    def tried() -> list[set[int]]:
        strangers = (cast.vera, cast.charlie, key_of("nora"), *limited)
        assert [listed(api, id="writer") for api in strangers] == [[]] * len(strangers)
        return [statuses(api, comment, new) for api in strangers]

    assert tried() == [{404}] * 6  # nothing is published, so there is nothing they may read
    kind.publish(cast.alice, "writer", made["latestVersionId"])
    assert tried() == [{403}, {404}, {404}, {403}, {403}, {404}]
    if kind is AGENTS:
        cast.alice.patch(kind.url("writer"), {"visibility": "public"})
        assert tried() == [{403}] * 6
    assert statuses(cast.nobody, comment, new) == {401}
    assert cast.edgar.get(f"/comments/{comment['id']}").body == comment
    assert cast.nobody.get("/comments").status == 401
    unknown = {**new, "resource": {**new["resource"], "id": "unknown"}}
    assert cast.alice.post("/comments", unknown).body == cast.charlie.post("/comments", unknown).body


def test_editors_publishers_admins_and_their_keys_may_write(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice)
    limited = key_of("paula", workspace="acme", role="editor")
    writers = [cast.alice, cast.paula, cast.edgar, cast.root, limited]
    said = [say(api, made, kind) for api in writers]
    assert [one["author"] for one in said] == ["alice", "paula", "edgar", "root", "paula"]
    assert change(cast.paula, said[-1], body="By the owner of the key.").status == 200
    assert change(limited, said[1], body="By the owner's key.").status == 200


def test_the_right_to_change_an_own_comment_ends_with_the_role(cast: Cast) -> None:
    made = AGENTS.make(cast.alice, autoPublish=True)
    comment = say(cast.edgar, made)
    give_role("edgar", "acme", "viewer")
    assert statuses(cast.edgar, comment, body_of(made)) == {403}
    assert cast.alice.get(f"/comments/{comment['id']}").body == comment


def test_lists_show_every_workspace_of_the_caller_and_no_other(cast: Cast) -> None:
    say(cast.alice, AGENTS.make(cast.alice, "ours"), body="acme")
    say(cast.charlie, AGENTS.make(cast.charlie, "theirs"), body="elsewhere")
    person("both", acme=Role.EDITOR, elsewhere=Role.EDITOR)
    assert (listed(cast.edgar), listed(cast.charlie)) == (["acme"], ["elsewhere"])
    assert listed(key_of("both")) == listed(cast.root) == ["acme", "elsewhere"]
    assert listed(key_of("both", workspace="acme")) == ["acme"]
    # A comment of another workspace is answered like a missing one, also as a parent.
    ours = cast.edgar.get("/stored/agents/ours", status="draft").body
    [theirs] = cast.charlie.get("/comments").body["comments"]
    answers = [
        cast.edgar.post("/comments", body_of(ours, parent=parent)).body
        for parent in (theirs["id"], str(uuid4()))
    ]
    assert answers[0] == answers[1] and answers[0]["issues"][0]["field"] == "parent"


# Agents that code defines


@pytest.fixture
def developer(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


@pytest.mark.parametrize("source", ["database", "code"])
def test_comments_on_overrides_remain_after_the_override_is_deleted(
    developer: Api, cast: Cast, settings: Any, tmp_path: Path, source: str
) -> None:
    define(settings, tmp_path, source=source)
    made = developer.post(AGENTS.path, {"id": "answers", "instructions": "one\ntwo"}).body
    comment = say(developer, made, field="instructions", line=2)
    assert comment["quote"] == "two"
    AGENTS.publish(developer, "answers", made["latestVersionId"])
    assert statuses(cast.edgar, comment, body_of(made)) == {403}  # every caller may read the agent
    reply = say(developer, made, parent=comment["id"])
    assert developer.delete(AGENTS.url("answers")).status == 200
    assert [one["id"] for one in developer.get("/comments", id="answers").body["comments"]] == [
        comment["id"],
        reply["id"],
    ]
    assert change(developer, comment, resolved=True).body["resolvedBy"] == "ada"
    assert developer.post("/comments", body_of(made)).status == 404  # its version is gone
    assert developer.post("/comments", body_of(made, parent=comment["id"])).status == 201
    again = developer.post(AGENTS.path, {"id": "answers", "instructions": "three"}).body
    say(developer, again, body="again")
    assert len(listed(developer, id="answers")) == 4


def test_a_file_that_no_row_describes_is_commented_on(developer: Api, folder: Folder) -> None:
    folder.put({"instructions": "by hand"})
    found = developer.get(AGENTS.url("answers")).body
    about = {"resource": {"kind": "agent", "id": "answers"}, "versionId": found["activeVersionId"]}
    answer = developer.post("/comments", {**about, "body": "Why?", "field": "instructions", "line": 1})
    assert (answer.status, answer.body["quote"]) == (201, "by hand")
    folder.put({"instructions": "by another hand"})
    assert developer.post("/comments", {**about, "body": "Why?"}).status == 404
    assert developer.get(f"/comments/{answer.body['id']}").body == answer.body


def test_comments_on_an_agent_that_the_code_no_longer_defines_are_hidden(
    developer: Api, settings: Any, tmp_path: Path
) -> None:
    define(settings, tmp_path, source="database")
    comment = say(developer, developer.post(AGENTS.path, {"id": "answers", "instructions": "one"}).body)
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    assert listed(developer) == ["Why?"]
    assert developer.delete(AGENTS.url("answers")).status == 200
    settings.EDITOR_FRAMEWORK = ""
    assert listed(developer) == []
    assert developer.get(f"/comments/{comment['id']}").status == 404


def test_an_agent_with_a_reused_id_has_no_comments_of_the_earlier_one(cast: Cast) -> None:
    comment = say(cast.edgar, AGENTS.make(cast.alice))
    assert cast.alice.delete(AGENTS.url("writer")).status == 200
    made = AGENTS.make(cast.charlie)
    assert listed(cast.charlie) == listed(cast.alice) == []
    assert statuses(cast.charlie, comment, body_of(made, parent=comment["id"])) >= {404}
    assert cast.charlie.post("/comments", body_of(made, parent=comment["id"])).fields == ["parent"]


def test_a_thousand_comments_take_as_many_queries_as_five(cast: Cast) -> None:
    made = PROMPT_BLOCKS.make(cast.alice)
    for _ in range(5):  # for fewer, the lengths are not queried first
        say(cast.alice, made, PROMPT_BLOCKS)
    about = {"kind": "promptBlock", "id": "writer", "versionId": made["latestVersionId"], "perPage": 1000}

    def read() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as captured:
            found = cast.alice.get("/comments", **about).body
        assert len(found["comments"]) == found["total"]
        return found["total"], len(captured)

    some, queries = read()
    row = Comment.objects.all()[0]
    copies = [Comment.objects.all()[0] for _ in range(995)]
    for place, copy in enumerate(copies):
        copy.pk, copy.parent = uuid4(), row if place % 2 else None
    Comment.objects.bulk_create(copies)
    assert (some, read()) == (5, (1000, queries))
