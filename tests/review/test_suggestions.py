"""Suggested wordings: written as comments, accepted with one click; who counts as their author."""

from __future__ import annotations

import re
from typing import Any

import pytest

from capabilities.review.comments import replace_quote, split_suggestion, with_wording
from capabilities.review.places import value_at, with_text
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.comments import change, say
from tests.support.reviews import approve, ask, read, require_approvals
from tests.support.reviews import say as decide
from tests.support.studio import Visitor, page_of

TEXT = "Be kind.\nBe  brief.\n\nNever lie. Be brief."


def suggest(visitor: Visitor, kind: Kind, record: dict[str, Any], **more: str) -> Any:
    form = {"version": record["latestVersionId"], "field": kind.text, "quote": "Never lie.", "body": ""}
    return visitor.post(page_of(kind, "comments"), **{**form, "suggestion": "Do not lie.", **more})


def accept(visitor: Visitor, kind: Kind, comment_id: str, page: str = "") -> Any:
    """Press the button as the page of the thread has it."""
    thread = page_of(kind, "comment", "writer", comment_id)
    markup = visitor.get(thread).markup
    [seen] = re.findall(r'name="seen" value="([^"]*)"', markup)
    return visitor.post(thread, do="accept", seen=seen, next=page or thread)


def comments(cast: Cast) -> list[dict[str, Any]]:
    return list(cast.alice.get("/comments").body["comments"])


def text_of(cast: Cast, kind: Kind) -> str:
    return str(cast.alice.get(f"{kind.url('writer')}?status=draft").body[kind.text])


@pytest.mark.parametrize(
    ("remark", "wording"),
    [("", "Two\nlines"), ("Why?", "With ``` and\n````\nfences"), ("A\n\nB", ""), ("", "\nlines around\n")],
)
def test_a_comment_holds_a_wording_beside_its_remark(remark: str, wording: str) -> None:
    assert split_suggestion(with_wording(remark, wording)) == (remark, wording)


@pytest.mark.parametrize(
    "body", ["None", "```suggestion\nnever closed", "```python\nsuggestion\n```", "`suggestion`"]
)
def test_other_comments_suggest_nothing(body: str) -> None:
    assert split_suggestion(body) == (body, None)


def test_only_the_quote_at_its_place_is_replaced() -> None:
    assert replace_quote(TEXT, 9, "Be brief.", "Stop.") == "Be kind.\nStop.\n\nNever lie. Be brief."
    assert (
        replace_quote(TEXT, 8, "Be brief.", "Stop.") is None and replace_quote(TEXT, 9, " ", "Stop.") is None
    )
    config = {"a.b": [{"c": "one"}, {"c.d": "two"}], "e": "three"}
    for path in ("a.b.0.c", "a.b.1.c.d", "e"):
        changed = with_text(config, path, "new")
        assert value_at(changed, path) == "new" and value_at(config, path) != "new"
        assert len(changed) == 2 and len(changed["a.b"]) == 2


def test_a_suggestion_is_accepted_with_one_click(cast: Cast, kind: Kind) -> None:
    require_approvals(1)
    kind.make(cast.alice, text="Old.")
    made = kind.save(cast.edgar, text=TEXT)
    review = ask(cast.edgar, kind)
    page = page_of(kind, "review", "writer", review["id"])
    answer = suggest(Visitor("paula"), kind, made, body="Clearer", next=page)
    [comment] = comments(cast)
    assert answer.location == f"{page}#comment-{comment['id']}"
    assert comment["body"] == "Clearer\n\n```suggestion\nDo not lie.\n```" and comment["line"] == 4
    shown = Visitor("edgar").get(page).words
    assert "Suggested wording Do not lie. Accept suggestion" in shown and "```" not in shown
    assert accept(Visitor("edgar"), kind, comment["id"], page).location == page
    assert text_of(cast, kind) == TEXT.replace("Never lie.", "Do not lie.")
    newest = kind.versions(cast.alice)[0]
    assert newest["authorId"] == "edgar" and comments(cast)[0]["resolvedBy"] == "edgar"
    assert read(cast.edgar, review)["versionId"] == newest["id"]  # the review went along
    assert "Wording suggested by paula" in Visitor("edgar").get(page_of(kind, "history")).words


@pytest.mark.database
def test_neither_the_suggester_nor_who_accepted_can_approve(cast: Cast, kind: Kind) -> None:
    require_approvals(1)
    made = kind.make(cast.edgar, text=TEXT)
    suggest(Visitor("paula"), kind, made)
    [comment] = comments(cast)
    accept(Visitor("alice"), kind, comment["id"])
    # Nothing that happens to the comment or to the version lets the suggester approve.
    assert cast.paula.delete(f"/comments/{comment['id']}").status == 200
    accepted = kind.versions(cast.alice)[0]["id"]
    kind.save(cast.edgar, text="Something else.")
    review = ask(cast.edgar, kind)
    for author in (cast.paula, cast.alice):
        answer = decide(author, review, "approve")
        assert (answer.status, answer.code) == (403, "own_change")
    assert cast.alice.delete(kind.url("writer", "versions", accepted)).status == 200
    assert decide(cast.paula, review, "approve").code == "own_change"
    # What comes after a version that was live is under review alone.
    bypass = {"bypassReview": {"reason": "Urgent"}}
    assert (
        cast.alice.post(kind.url("writer", "versions", review["versionId"], "activate"), bypass).status == 200
    )
    kind.save(cast.edgar, text="Third.")
    approve(cast.paula, ask(cast.edgar, kind))


def test_a_suggestion_that_changed_or_no_longer_fits_is_not_accepted(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.edgar, text=TEXT)
    suggest(Visitor("paula"), kind, made)
    [comment] = comments(cast)
    thread, edgar = page_of(kind, "comment", "writer", comment["id"]), Visitor("edgar")
    seen = re.findall(r'name="seen" value="([^"]*)"', edgar.get(thread).markup)[0]
    change(cast.paula, comment, body="```suggestion\nLie.\n```")
    edgar.post(thread, do="accept", seen=seen)
    assert text_of(cast, kind) == TEXT and "The suggestion has changed." in edgar.get(thread).words
    kind.save(cast.edgar, text="Be kind.")
    accept(edgar, kind, comment["id"], thread)
    assert text_of(cast, kind) == "Be kind."
    assert "no longer has these words" in edgar.get(thread).words
    assert len(kind.versions(cast.alice)) == 2


def test_after_going_back_a_suggestion_is_accepted_on_what_is_live(cast: Cast, kind: Kind) -> None:
    first = kind.make(cast.alice, text=TEXT, autoPublish=True)
    kind.save(cast.alice, text="Withdrawn.", autoPublish=True)
    back = kind.url("writer", "versions", first["latestVersionId"], "activate")
    assert cast.alice.post(back).status == 200
    suggest(Visitor("paula"), kind, first)
    [comment] = comments(cast)
    accept(Visitor("edgar"), kind, comment["id"])
    assert text_of(cast, kind) == TEXT.replace("Never lie.", "Do not lie.")


def test_a_suggestion_needs_words_and_another_wording(cast: Cast, kind: Kind) -> None:
    made, paula = kind.make(cast.edgar, text=TEXT), Visitor("paula")
    for more, problem in (
        ({"quote": ""}, "Choose the words that your wording replaces."),
        ({"suggestion": "Never  lie."}, "The suggested wording is the same as the text."),
        ({"suggestion": ""}, "Write something first."),
    ):
        answer = suggest(paula, kind, made, **more)
        assert answer.status == 400 and problem in answer.words
    assert comments(cast) == []
    # A viewer may not accept what the API suggested; one's own suggestion makes no one else an author.
    comment = say(cast.edgar, made, kind, body="```suggestion\nStop.\n```", field=kind.text, quote="Be kind.")
    assert Visitor("vera").get(page_of(kind, "comment", "writer", comment["id"])).status in {403, 404}
    accept(Visitor("edgar"), kind, comment["id"])
    assert text_of(cast, kind).startswith("Stop.\n")
    assert approve(cast.paula, ask(cast.edgar, kind))["state"] == "approved"
    assert "Wording suggested by" not in Visitor("edgar").get(page_of(kind, "history")).words


def test_a_wording_in_a_block_of_instructions_is_accepted_there(cast: Cast) -> None:
    blocks = [{"type": "text", "content": "Be kind."}, {"type": "text", "content": TEXT}]
    made = AGENTS.make(cast.edgar, text=blocks)
    suggest(Visitor("paula"), AGENTS, made)
    [comment] = comments(cast)
    assert comment["field"] == "instructions.1.content"
    page = page_of(AGENTS, "publish")
    answer = accept(Visitor("alice"), AGENTS, comment["id"], page)
    newest = AGENTS.versions(cast.alice)[0]
    assert answer.location == f"{page}?version={newest['id']}"
    found = cast.alice.get(f"{AGENTS.url('writer')}?status=draft").body["instructions"]
    assert found == [blocks[0], {**blocks[1], "content": TEXT.replace("Never lie.", "Do not lie.")}]
