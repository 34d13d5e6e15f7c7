"""Comments in the studio, without scripts: at fields, on later versions, as threads; who may see them."""

from __future__ import annotations

import datetime
import re
from copy import copy
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.review.models import Comment
from capabilities.review.studio.threads import REPLIES, THREADS
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.comments import change, listed, say
from tests.support.override_files import Folder
from tests.support.people import key_of, person
from tests.support.reviews import reference
from tests.support.studio import Visitor, page_of
from versioning.domain.access import Role

TEXT = "Be kind.\nBe brief.\n\nNever lie."
HOSTILE = "<script>alert(1)</script> \u202etxet {{ name }} &amp; " + "x" * 500


def version_page(kind: Kind, record: dict[str, Any]) -> str:
    return page_of(kind, "version", "writer", record["latestVersionId"])


def part(answer: Any, element_id: str) -> str:
    """Return the words between the beginning of an element and the next region of comments."""
    text = answer.markup.partition(f'id="{element_id}"')[2]
    text = re.split(r'id="comments(?:-at-\w+)?" ', text)[0]
    return " ".join(re.sub(r"<[^>]*>", " ", text.partition(">")[2]).split())


def write(visitor: Visitor, kind: Kind, record: dict[str, Any], body: str, **more: str) -> Any:
    return visitor.post(page_of(kind, "comments"), version=record["latestVersionId"], body=body, **more)


def act(visitor: Visitor, kind: Kind, comment: dict[str, Any], do: str, **more: str) -> Any:
    return visitor.post(page_of(kind, "comment", "writer", comment["id"]), do=do, **more)


def comments(cast: Cast) -> list[dict[str, Any]]:
    return list(cast.alice.get("/comments").body["comments"])


def test_a_comment_is_shown_below_its_field_on_every_page_of_the_version(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, text="Old.", autoPublish=True)
    made, edgar = kind.save(cast.alice, text=TEXT), Visitor("edgar")
    back = version_page(kind, made)
    answer = write(edgar, kind, made, "How\r\nbrief?", field=kind.text, quote="Be brief.", next=back)
    [comment] = comments(cast)
    assert (answer.status, answer.location) == (302, f"{back}#comment-{comment['id']}")
    assert (comment["field"], comment["line"], comment["body"]) == (kind.text, 2, "How\nbrief?")
    for page in (back, page_of(kind, "compare")):
        found = part(edgar.get(page), f"comments-at-{kind.text}")
        assert "How brief?" in found and "Be brief." in found and "line 2" in found
        assert "Outdated" not in found
    edit = edgar.get(page_of(kind, "change"))
    assert "1 open comment" in part(edit, f"comments-at-{kind.text}")
    assert "How brief?" in part(edit, "comments")
    write(edgar, kind, made, "All in all?", next=back)
    assert "All in all?" in part(edgar.get(back), "comments")


def test_a_comment_is_shown_on_the_review_page_and_its_event_links_to_the_thread(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, text="Old.", autoPublish=True)
    made = kind.save(cast.edgar, text=TEXT)
    review = cast.edgar.post("/reviews", {"resource": reference(kind)}).body["id"]
    comment = say(cast.paula, made, kind, body="How brief?", field=kind.text, line=2)
    page = Visitor("edgar").get(page_of(kind, "review", "writer", review))
    assert "How brief?" in part(page, f"comments-at-{kind.text}")
    activity = Visitor("edgar").get(page_of(kind, "activity")).markup
    assert page_of(kind, "comment", "writer", comment["id"]) in activity


def test_a_quote_is_located_in_its_instruction_block(cast: Cast) -> None:
    blocks = [{"type": "text", "content": "Hello."}, {"type": "prompt_block", "content": TEXT}]
    made = AGENTS.make(cast.alice, text=blocks)  # type: ignore[arg-type]
    write(Visitor("edgar"), AGENTS, made, "When?", field="instructions", quote="Never   lie.")
    write(Visitor("edgar"), AGENTS, made, "Both?", field="instructions", quote="Be kind.\r\nBe brief.")
    found = [(one["field"], one["line"], one["quote"]) for one in comments(cast)]
    assert found == [
        ("instructions.1.content", 4, "Never   lie."),
        ("instructions.1.content", None, "Be kind.\nBe brief."),
    ]
    page = part(Visitor("paula").get(version_page(AGENTS, made)), "comments-at-instructions")
    assert "Instructions, block 2, line 4" in page


def test_open_comments_appear_on_later_versions_and_are_outdated_without_their_quote(
    cast: Cast, kind: Kind
) -> None:
    first = kind.make(cast.alice, text=TEXT)
    kept = say(cast.edgar, first, kind, body="kept", field=kind.text, line=1)
    gone = say(cast.edgar, first, kind, body="gone", field=kind.text, line=2)
    done = say(cast.edgar, first, kind, body="done", field=kind.text)
    change(cast.edgar, done, resolved=True)
    second = kind.save(cast.alice, text="Be  kind.\nBe verbose.")
    say(cast.paula, second, kind, body="later")
    page = Visitor("paula").get(version_page(kind, second))
    beside = part(page, f"comments-at-{kind.text}")
    assert beside.count("Outdated") == 1 and beside.index("kept") < beside.index("Outdated")
    assert beside.index("Outdated") < beside.index("Be brief.") < beside.index("1 resolved")
    assert beside.count("on version 1") == 3 and "later" in part(page, "comments")
    kind.save(cast.alice, text="Third.")
    page = Visitor("paula").get(version_page(kind, second))
    assert "done" not in page.words and "gone" in page.words
    page = Visitor("paula").get(version_page(kind, first))
    beside = part(page, f"comments-at-{kind.text}")
    assert "Outdated" not in beside and "1 resolved" in beside and "done" in beside
    assert "later" not in page.words
    assert {kept["versionNumber"], gone["versionNumber"]} == {1}


def test_comments_on_a_deleted_version_name_it_without_a_link(cast: Cast) -> None:
    AGENTS.make(cast.alice, text=TEXT, autoPublish=True)
    draft = AGENTS.save(cast.edgar, text="New.")
    say(cast.edgar, draft, field="instructions", line=1)
    assert cast.edgar.delete(AGENTS.url("writer", "versions", draft["latestVersionId"])).status == 200
    User.objects.get(username="edgar").delete()
    page = Visitor("paula").get(page_of(AGENTS, "change"))
    found = part(page, "comments")
    assert "edgar" in found and "Outdated" in found and "on version 2, which is deleted" in found
    assert f"versions/{draft['latestVersionId']}" not in page.markup


def test_comments_on_a_file_are_shown_on_it_and_on_the_next_draft(folder: Folder, db: None) -> None:
    person("ada", default=Role.ADMIN)
    ada, api = Visitor("ada"), key_of("ada")
    folder.put({"instructions": TEXT})
    file_id = api.get(AGENTS.url("answers")).body["activeVersionId"]
    page = page_of(AGENTS, "version", "answers", file_id)
    typed = {"version": file_id, "body": "How brief?", "field": "instructions", "quote": "Be brief."}
    ada.post(page_of(AGENTS, "comments", "answers"), **typed)
    assert "How brief?" in part(ada.get(page), "comments-at-instructions")
    AGENTS.save(api, "answers", "Be kind.")
    found = part(ada.get(page_of(AGENTS, "change", "answers")), "comments")
    assert "Outdated" in found and "on the override file" in found and "which is deleted" not in found
    folder.path().unlink()
    assert api.delete(AGENTS.url("answers")).status == 200
    [comment] = api.get("/comments", id="answers").body["comments"]
    thread = ada.get(page_of(AGENTS, "comment", "answers", comment["id"]))
    assert "on the override file, which is deleted" in thread.words


def test_threads_are_answered_resolved_reopened_edited_and_deleted(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice)
    comment = say(cast.paula, made, kind, body="first")
    edgar, paula, back = Visitor("edgar"), Visitor("paula"), version_page(kind, made)
    act(edgar, kind, comment, "reply", body="answer", next=back)
    assert [(one["body"], one["parent"]) for one in comments(cast)][1] == ("answer", comment["id"])
    act(edgar, kind, comment, "resolve", next=back)
    assert "Resolved by edgar" in paula.get(back).words
    act(paula, kind, comment, "reopen", next=back)
    assert listed(cast.alice, resolved="false") == ["first", "answer"]
    act(paula, kind, comment, "edit", body="changed", next=back)
    assert "edited" in part(paula.get(back), "comments") and listed(cast.alice) == ["changed", "answer"]
    assert act(edgar, kind, comment, "edit", body="mine").status == 403
    assert act(edgar, kind, comment, "delete").status == 403
    own = page_of(kind, "comment", "writer", comment["id"])
    assert act(paula, kind, comment, "delete", next=own).location == page_of(kind, "history")
    assert listed(cast.alice) == ["answer"]


def test_an_invalid_comment_is_shown_again_with_the_problem(cast: Cast) -> None:
    made = AGENTS.make(cast.alice, text=TEXT)
    for typed, said in [
        ({"body": " \n"}, "Write something first."),
        ({"body": "x" * 10_001}, "up to 10000 characters"),
        ({"body": "a\0b"}, "NUL"),
        ({"body": "Why?", "field": "name", "quote": "Be brief."}, "These words are not in “Name”"),
        ({"body": "Why?", "quote": "Be brief."}, "Choose the field"),
        ({"body": "Why?", "field": "nothing"}, "no such field"),
    ]:
        answer = write(Visitor("edgar"), AGENTS, made, **typed)
        assert answer.status == 400 and said in answer.words
        if typed.get("field") == "name":
            assert '<option value="name" selected>' in answer.markup
        assert typed["body"].strip() in answer.markup and listed(cast.alice) == []


def test_an_invalid_reply_is_shown_again(cast: Cast) -> None:
    comment = say(cast.edgar, AGENTS.make(cast.alice))
    for do in ("reply", "edit"):
        answer = act(Visitor("edgar"), AGENTS, comment, do, body="y" * 10_001)
        assert answer.status == 400 and "y" * 10_001 in answer.markup
    assert act(Visitor("edgar"), AGENTS, comment, "publish").status == 400
    assert listed(cast.alice) == ["Why?"]


def test_hostile_text_is_escaped(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, text=HOSTILE)
    say(cast.edgar, made, kind, body=HOSTILE, field=kind.text, line=1)
    long = say(cast.edgar, made, kind, body="y" * 10_000)
    for page in (version_page(kind, made), page_of(kind, "compare"), page_of(kind, "change")):
        text = Visitor("paula").get(page).markup
        assert "<script>alert" not in text and "y" * 1_001 not in text
    page = Visitor("paula").get(page_of(kind, "comment", "writer", long["id"]))
    assert "y" * 10_000 in page.markup


def test_viewers_and_non_members_neither_see_nor_change_comments(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, text=TEXT, autoPublish=True)
    if kind is AGENTS:
        cast.alice.patch(kind.url("writer"), {"visibility": "public"})
    comment = say(cast.edgar, made, kind, body="secret words", field=kind.text)
    thread = page_of(kind, "comment", "writer", comment["id"])
    for name, status in (("vera", 403), ("charlie", 403 if kind is AGENTS else 404)):
        visitor = Visitor(name)
        for page in (version_page(kind, made), page_of(kind, "compare"), page_of(kind, "change"), thread):
            answer = visitor.get(page)
            text = answer.markup
            assert "secret words" not in text and "data-comments" not in text
        assert answer.status == status
        assert write(visitor, kind, made, "Mine").status == status
        for do in ("reply", "resolve", "edit", "delete"):
            assert act(visitor, kind, comment, do, body="Mine").status == status
    assert [one["body"] for one in comments(cast)] == ["secret words"]


def test_a_thread_is_found_under_its_own_resource_only(cast: Cast) -> None:
    comment = say(cast.edgar, AGENTS.make(cast.alice))
    AGENTS.make(cast.alice, "other")
    PROMPT_BLOCKS.make(cast.alice)
    edgar = Visitor("edgar")
    for kind, resource_id in ((AGENTS, "other"), (PROMPT_BLOCKS, "writer")):
        address = page_of(kind, "comment", resource_id, comment["id"])
        assert edgar.get(address).status == 404
        assert edgar.submit(address, do="resolve").status == 404
    for unknown in (str(uuid4()), "x"):
        assert edgar.get(page_of(AGENTS, "comment", "writer", unknown)).status == 404
    assert not comments(cast)[0]["resolved"]


def test_a_form_redirects_to_no_other_host(cast: Cast) -> None:
    made = AGENTS.make(cast.alice)
    for elsewhere in ("https://example.org/studio/", "//example.org", "/api/agents"):
        answer = write(Visitor("edgar"), AGENTS, made, "Why?", next=elsewhere)
        assert answer.location.startswith(version_page(AGENTS, made))


def test_a_thousand_comments_leave_the_pages_usable(cast: Cast) -> None:
    kind = PROMPT_BLOCKS
    kind.make(cast.alice, text="Old.", autoPublish=True)
    made = kind.save(cast.alice, text=TEXT)
    pages = [version_page(kind, made), page_of(kind, "compare"), page_of(kind, "change")]
    edgar = Visitor("edgar")
    first = say(cast.edgar, made, kind, body="0")
    say(cast.edgar, made, kind, parent=first["id"])

    def read() -> tuple[list[int], list[int]]:
        counts, sizes = [], []
        for page in pages:
            with CaptureQueriesContext(connection) as captured:
                answer = edgar.get(page)
            counts.append(len(captured))
            sizes.append(len(answer.content))
        return counts, sizes

    edgar.get(pages[2])  # the first time it is noted among those opened last
    few, small = read()
    row = Comment.objects.get(pk=first["id"])
    copies = [copy(row) for _ in range(1_000)]
    for place, one in enumerate(copies):
        one.pk, one.parent = uuid4(), row if place % 2 else None
        one.body, one.field = f"number {place} " + "z" * 2_000, kind.text if place % 4 else ""
        one.created_at += datetime.timedelta(seconds=place + 1)
        one.resolved_at = one.created_at if place % 3 else None
    Comment.objects.bulk_create(copies)
    many, large = read()
    assert many == few and max(large) - max(small) < (THREADS + REPLIES) * 10_000
    page = edgar.get(pages[0]).markup
    assert (page.count('class="thread"'), page.count('class="comment"')) == (THREADS, THREADS + REPLIES)
    last = edgar.get(pages[0], comments="999999").markup
    assert "Page 26 of 26" in last and 'rel="next"' not in last and 'class="threads-resolved"' in last
    assert "number 0 " not in last
    thread = edgar.get(page_of(kind, "comment", "writer", first["id"])).markup
    assert thread.count('class="comment"') == 2 and "Earlier replies" in thread
