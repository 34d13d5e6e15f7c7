"""Comments on a version, a field, a line; threads; and comments after deletions."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from capabilities.review.models import Comment
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.calls import undone
from tests.support.comments import WORDS, body_of, change, listed, say
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.domain.errors import Forbidden

TEXT = "Be kind.\nBe brief.\n\nNever lie."
BLOCKS = [{"type": "text", "content": "Hello."}, {"type": "prompt_block", "content": TEXT}]
HOSTILE = "<b>&amp;</b> \u202etxet\u202c \U0001f9d1\u200d\U0001f680 {{ name }} ' \" \\"


def events_of(api: Api) -> list[tuple[str, str | None, str]]:
    found = api.get("/events", type="comment.*").body["events"]
    return [(event["type"], event["actor"]["id"], event["detail"]["commentId"]) for event in found]


def test_a_comment_is_about_a_version_of_either_kind(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice)
    answer = cast.edgar.post("/comments", body_of(made, kind))
    comment = answer.body
    assert answer.status == 201 and answer.headers["Location"] == f"/api/comments/{comment['id']}"
    about = {name: comment[name] for name in ("resource", "versionId", "versionNumber", "workspaceId")}
    assert about == {
        "resource": {"kind": WORDS[kind], "id": "writer"},
        "versionId": made["latestVersionId"],
        "versionNumber": 1,
        "workspaceId": "acme",
    }
    assert (comment["body"], comment["author"], comment["resolved"]) == ("Why?", "edgar", False)
    nothing = ("field", "line", "quote", "parent", "resolvedBy", "resolvedAt")
    assert {name: comment[name] for name in nothing} == dict.fromkeys(nothing)
    assert comment["createdAt"] == comment["updatedAt"]
    read = cast.paula.get(f"/comments/{comment['id']}")
    assert (read.body, read.etag) == (comment, answer.etag)
    [event] = cast.alice.get("/events", type="comment.added").body["events"]
    assert event["resource"] == comment["resource"] and event["detail"] == {"commentId": comment["id"]}
    assert (event["versionId"], event["versionNumber"]) == (made["latestVersionId"], 1)


def test_the_newest_is_last_and_lists_are_narrowed_and_paged(cast: Cast) -> None:
    first = AGENTS.make(cast.alice)
    second = AGENTS.save(cast.alice)
    block = PROMPT_BLOCKS.make(cast.alice)
    a, b = say(cast.edgar, first, body="a"), say(cast.paula, second, body="b")
    say(cast.edgar, block, PROMPT_BLOCKS, body="c")
    say(cast.alice, first, body="d", parent=a["id"])
    assert change(cast.paula, a, resolved=True).status == 200
    assert listed(cast.edgar) == ["a", "b", "c", "d"]
    assert listed(cast.edgar, kind="agent", id="writer") == ["a", "b", "d"]
    assert listed(cast.edgar, kind="promptBlock") == ["c"]
    assert listed(cast.edgar, versionId=b["versionId"]) == ["b"]
    assert listed(cast.edgar, resolved="true") == ["a", "d"]
    assert listed(cast.edgar, resolved="false") == ["b", "c"]
    assert listed(cast.edgar, id="other") == listed(cast.edgar, versionId="x") == []
    newest = cast.edgar.get("/comments", **{"orderBy[direction]": "DESC", "perPage": 1}).body
    assert ([one["body"] for one in newest["comments"]], newest["hasMore"]) == (["d"], True)
    for query in ({"kind": "tool"}, {"resolved": "no"}, {"author": "me"}, {"perPage": 1001}):
        assert cast.edgar.get("/comments", **query).fields == list(query)


def test_a_comment_stores_its_place_in_the_version(alice: Api) -> None:
    for place, quote in [
        ({"field": "name"}, None),
        ({"field": "instructions"}, None),
        ({"field": "instructions.1.content"}, None),
        ({"field": "instructions.1.content", "line": 2}, "Be brief."),
        ({"field": "instructions.1.content", "line": 3}, None),
        ({"field": "instructions.1.content", "line": 4, "quote": "lie"}, "lie"),
        ({"field": "tools.files.read.description"}, None),
        ({"quote": "anything"}, "anything"),
    ]:
        with undone():
            made = AGENTS.make(alice, text=BLOCKS, tools={"files.read": {"description": "Reads."}})  # type: ignore[arg-type]
            comment = say(alice, made, **place)
            expected = {"field": None, "line": None, **place, "quote": quote}
            assert {name: comment[name] for name in expected} == expected


def test_an_invalid_comment_is_refused_by_field_and_not_stored(alice: Api) -> None:
    for more, field in [
        ({"field": "prompt"}, "field"),
        ({"field": "description"}, "field"),
        ({"field": "instructions.2.content"}, "field"),
        ({"field": "instructions.-1.content"}, "field"),
        ({"field": "instructions.01.content"}, "field"),
        ({"field": "instructions.1.content.x"}, "field"),
        ({"field": "instructions."}, "field"),
        ({"field": "x" * 501}, "field"),
        ({"line": 1}, "line"),
        ({"field": "name", "line": 0}, "line"),
        ({"field": "instructions.1.content", "line": 5}, "line"),
        ({"field": "instructions", "line": 1}, "line"),
        ({"field": "name", "line": True}, "line"),
        ({"quote": "x" * 1_001}, "quote"),
        ({"body": ""}, "body"),
        ({"body": " \n"}, "body"),
        ({"body": "x" * 10_001}, "body"),
        ({"body": "a\0b"}, "body"),
        ({"body": None}, "body"),
        ({"author": "paula"}, "author"),
        ({"parent": "x"}, "parent"),
        ({"parent": str(uuid4())}, "parent"),
        ({"resource": {"kind": "tool", "id": "writer"}}, "resource.kind"),
        ({"resource": {"kind": "agent"}}, "resource.id"),
        ({"versionId": ""}, "versionId"),
    ]:
        with undone():
            made = AGENTS.make(alice, text=BLOCKS)  # type: ignore[arg-type]
            answer = alice.post("/comments", body_of(made, **more))
            assert answer.status == 400
            assert answer.fields in (
                [field],
                ["body"],
            )  # text that JSON cannot hold is a problem of the body as a whole
            assert listed(alice) == [] and events_of(alice) == []


def test_the_text_of_a_comment_is_returned_unchanged(alice: Api) -> None:
    made = AGENTS.make(alice)
    for text in (HOSTILE, "x" * 10_000, "\U0001f680" * 10_000, "a\r\nb\n\n  c  "):
        comment = say(alice, made, body=text, quote=text[:1000])
        assert (comment["body"], comment["quote"]) == (text, text[:1000])
        assert alice.get(f"/comments/{comment['id']}").body == comment


def test_a_long_line_is_quoted_by_its_beginning_even_if_stored_in_full(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, text="\U0001f680" * 1500 + "the end")
    comment = say(cast.edgar, made, kind, field=kind.text, line=1)
    assert comment["quote"] == "\U0001f680" * 1000
    Comment.objects.update(quote="\U0001f680" * 1500)  # as an earlier release stored it
    assert cast.edgar.get(f"/comments/{comment['id']}").body["quote"] == comment["quote"]
    [listed_one] = cast.edgar.get("/comments").body["comments"]
    assert listed_one["quote"] == comment["quote"]


def test_a_comment_on_a_version_of_another_resource_is_a_404(cast: Cast) -> None:
    made = AGENTS.make(cast.alice)
    other = AGENTS.make(cast.alice, "other")
    for wrong in (other["latestVersionId"], str(uuid4()), "latest"):
        assert cast.alice.post("/comments", body_of(made, versionId=wrong)).status == 404
    missing = body_of(made, resource={"kind": "promptBlock", "id": "writer"})
    assert cast.alice.post("/comments", missing).status == 404
    assert listed(cast.alice) == []


# Threads


def test_a_thread_is_flat_and_resolved_as_a_whole_with_the_right_to_save(cast: Cast) -> None:
    made = AGENTS.make(cast.alice)
    first = say(cast.paula, made, body="first")
    reply = say(cast.edgar, made, body="reply", parent=first["id"])
    of_reply = say(cast.paula, made, body="of the reply", parent=reply["id"])
    assert (reply["parent"], of_reply["parent"]) == (first["id"], first["id"])
    resolved = change(cast.edgar, of_reply, resolved=True).body
    assert (resolved["resolved"], resolved["resolvedBy"]) == (True, "edgar")
    assert change(cast.alice, first, resolved=True).body["resolvedBy"] == "edgar"  # it was already
    late = say(cast.paula, made, body="late", parent=first["id"])
    assert (late["resolved"], late["resolvedBy"]) == (True, "edgar")
    assert len(listed(cast.alice, resolved="true")) == 4
    reopened = change(cast.paula, reply, resolved=False).body
    assert (reopened["resolved"], reopened["resolvedBy"], reopened["resolvedAt"]) == (False, None, None)
    assert len(listed(cast.alice, resolved="false")) == 4


def test_every_change_of_a_comment_leaves_an_entry_without_its_text(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice)
    first = say(cast.paula, made, kind, body="secret")
    reply = say(cast.edgar, made, kind, body="secret", parent=first["id"])
    for _twice in range(2):  # a request without effect leaves no entry
        change(cast.edgar, reply, body="more secret")
        change(cast.edgar, reply, resolved=True)
    change(cast.edgar, first, resolved=False)
    cast.paula.delete(f"/comments/{first['id']}")
    assert change(cast.paula, reply, body="Mine.").status == 403
    assert events_of(cast.alice)[2:] == [
        ("comment.changed", "edgar", reply["id"]),
        ("comment.resolved", "edgar", first["id"]),
        ("comment.reopened", "edgar", first["id"]),
        ("comment.deleted", "paula", first["id"]),
    ]
    found = cast.edgar.get("/events", type="comment.*").body["events"]
    assert "secret" not in str(found)
    assert {event["versionId"] for event in found} == {made["latestVersionId"]}
    assert cast.vera.get("/events", type="comment.*").body["events"] == []


def test_a_reply_belongs_to_the_same_resource(cast: Cast) -> None:
    made, other = AGENTS.make(cast.alice), AGENTS.make(cast.alice, "other")
    block = PROMPT_BLOCKS.make(cast.alice)
    first = say(cast.alice, made)
    for elsewhere, kind in ((other, AGENTS), (block, PROMPT_BLOCKS)):
        answer = cast.alice.post("/comments", body_of(elsewhere, kind, parent=first["id"]))
        assert answer.fields == ["parent"]


def test_only_the_author_changes_and_deletes_a_comment(cast: Cast) -> None:
    made = AGENTS.make(cast.alice)
    comment = say(cast.edgar, made)
    for other in (cast.alice, cast.paula, cast.root):
        assert change(other, comment, body="No.", resolved=True).status == 403
        assert other.delete(f"/comments/{comment['id']}").status == 403
    assert cast.edgar.get(f"/comments/{comment['id']}").body == comment
    for wrong in ({"body": "x" * 10_001}, {"body": None}, {"resolved": None}, {"line": 1}, {"author": "x"}):
        assert change(cast.edgar, comment, **wrong).fields == list(wrong)
    changed = change(cast.edgar, comment, body="Why not?").body
    assert (changed["body"], changed["createdAt"]) == ("Why not?", comment["createdAt"])
    assert changed["updatedAt"] >= comment["updatedAt"]
    assert change(cast.edgar, comment).body == changed  # no change was requested
    assert cast.edgar.delete(f"/comments/{comment['id']}").body["success"] is True
    assert cast.edgar.delete(f"/comments/{comment['id']}").status == 404
    assert listed(cast.alice) == []


def test_replies_remain_after_the_first_comment_is_deleted(cast: Cast) -> None:
    made = AGENTS.make(cast.alice, text=TEXT)
    first = say(cast.edgar, made, field="instructions", line=2)
    replies = [
        say(api, made, body=text, parent=first["id"])
        for api, text in ((cast.paula, "r1"), (cast.alice, "r2"))
    ]
    change(cast.paula, first, resolved=True)
    assert cast.edgar.delete(f"/comments/{first['id']}").status == 200
    left = cast.alice.get("/comments").body["comments"]
    assert [(one["body"], one["parent"], one["resolvedBy"]) for one in left] == [
        ("r1", None, "paula"),
        ("r2", replies[0]["id"], "paula"),
    ]
    assert (left[0]["field"], left[0]["line"], left[0]["quote"]) == ("instructions", 2, "Be brief.")
    assert cast.alice.delete(f"/comments/{replies[1]['id']}").status == 200
    assert listed(cast.alice) == ["r1"]


# Comments after deletions


def test_comments_of_a_deleted_account_remain_and_cannot_be_edited(cast: Cast) -> None:
    comment = say(cast.edgar, AGENTS.make(cast.alice))
    User.objects.get(username="edgar").delete()
    assert cast.alice.get(f"/comments/{comment['id']}").body == comment
    assert change(cast.alice, comment, body="Mine?").status == 403
    with pytest.raises(Forbidden):
        get_editor().comments.change(comment["id"], body="Mine?", by=APPLICATION)
    assert change(cast.alice, comment, resolved=True).status == 200


def test_comments_on_a_deleted_version_remain_with_its_number(cast: Cast) -> None:
    made = AGENTS.make(cast.alice, text=TEXT, autoPublish=True)
    draft = AGENTS.save(cast.edgar, text="New.")
    comment = say(cast.edgar, draft, field="instructions", line=1)
    version = AGENTS.url("writer", "versions", draft["latestVersionId"])
    assert cast.edgar.delete(version).status == 200
    assert cast.paula.get(f"/comments/{comment['id']}").body == comment
    assert (comment["versionNumber"], comment["quote"]) == (2, "New.")
    reply = say(cast.paula, draft, parent=comment["id"])
    assert (reply["versionId"], reply["versionNumber"]) == (draft["latestVersionId"], 2)
    assert change(cast.paula, comment, resolved=True).status == 200
    assert cast.paula.post("/comments", body_of(draft)).status == 404
    assert cast.paula.post("/comments", body_of(draft, parent=comment["id"], field="name")).status == 404
    assert len(listed(cast.alice, id="writer")) == 2 and made["latestVersionId"] != draft["latestVersionId"]


def test_deleting_a_resource_deletes_its_comments(cast: Cast, kind: Kind) -> None:
    comment = say(cast.edgar, kind.make(cast.alice), kind)
    [other] = {AGENTS, PROMPT_BLOCKS} - {kind}
    kept = say(cast.edgar, other.make(cast.alice), other, body="kept")
    assert cast.alice.delete(kind.url("writer")).status == 200
    kind.make(cast.alice)
    assert listed(cast.alice) == ["kept"]
    assert cast.alice.get(f"/comments/{comment['id']}").status == 404
    assert change(cast.alice, kept, resolved=True).status == 200


# Python


def test_python_has_the_same_verbs_and_comments_of_the_application_have_no_author(cast: Cast) -> None:
    made = AGENTS.make(cast.alice)
    comments, edgar = get_editor().comments, User.objects.get(username="edgar")
    own = comments.add("agent", "writer", made["latestVersionId"], body="From a program.")
    theirs = comments.add(
        "agent", "writer", made["latestVersionId"], body="Mine.", parent=str(own.pk), by=edgar
    )
    assert (own.author_name, theirs.author_name) == ("", "edgar")
    assert [one.body for one in comments.list("agent", "writer", by=edgar)] == ["From a program.", "Mine."]
    assert comments.change(str(own.pk), body="Changed.").body == "Changed."
    with pytest.raises(Forbidden):
        comments.change(str(theirs.pk), body="Changed.")
    with pytest.raises(Forbidden):
        comments.delete(str(own.pk), by=edgar)
    comments.change(str(own.pk), resolved=True)
    comments.delete(str(own.pk))
    [left] = cast.edgar.get("/comments").body["comments"]
    assert (left["body"], left["resolved"], left["resolvedBy"]) == ("Mine.", True, None)
