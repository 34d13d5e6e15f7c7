"""The pages about reviews: requests, verdicts, and their traces on other pages."""

from __future__ import annotations

import datetime
import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from capabilities.review.models import Comment, Look, Review, Verdict
from capabilities.review.studio.panels import count_for
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import undone
from tests.support.comments import say as comment
from tests.support.override_files import Folder
from tests.support.people import give_role
from tests.support.reviews import approve, ask, read, reference, say
from tests.support.studio import KINDS, PageResponse, Visitor, page_of, workspace_page
from versioning.conf import get_editor
from versioning.editor import notifications
from versioning.models import caller_for

REVIEWS = workspace_page("reviews")
POLICY = workspace_page("review-policy")
NAMES = ("alice", "paula", "edgar", "vera", "charlie")


@pytest.fixture
def draft(cast: Cast, kind: Kind) -> str:
    kind.make(cast.alice, autoPublish=True)
    return str(kind.save(cast.edgar, changeMessage="Say it better")["latestVersionId"])


def require(count: int, **more: Any) -> None:
    get_editor().review_policy.set("acme", required=count, **more)


def review_page(kind: Kind, review: dict[str, Any], page: str = "review", resource_id: str = "writer") -> str:
    return page_of(kind, page, resource_id, review["id"])


def test_requesting_a_review_leads_to_its_page_which_names_the_reviewers(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require(1)
    edgar = Visitor("edgar")
    form = edgar.get(page_of(kind, "review_ask"), version=draft)
    assert 'value="paula"' in form.markup and 'value="alice"' in form.markup
    assert 'value="vera"' not in form.markup and 'value="edgar"' not in form.markup
    sent = edgar.post(
        page_of(kind, "review_ask"), version=draft, message="The tone, please", reviewers="paula"
    )
    review = Review.objects.get()
    assert sent.headers["Location"] == page_of(kind, "review", "writer", str(review.pk))
    seen = edgar.get(sent.headers["Location"])
    assert seen.status == 200
    for words in (
        "The tone, please",
        "You asked",
        "paula Hasn’t reviewed yet",
        "Needs one more approval.",
    ):
        assert words in seen.text
    assert "You made one of these changes" in seen.text and 'value="approve"' not in seen.markup
    paula = Visitor("paula")
    assert "You haven’t reviewed yet" in paula.get(sent.headers["Location"]).text
    approve(cast.paula, read(cast.edgar, {"id": str(review.pk)}))
    approved = paula.get(sent.headers["Location"])
    assert "You approved" in approved.text
    buttons = re.findall(r'<button class="([^"]*)"[^>]*value="approve"', approved.markup)
    assert buttons == ["button"]
    assert "You made one of these changes" not in edgar.get(sent.headers["Location"]).text
    assert 'value="approve"' in Visitor("paula").get(sent.headers["Location"]).markup


def test_a_review_that_no_member_can_approve_says_so(cast: Cast, kind: Kind, draft: str) -> None:
    require(1)
    review = ask(cast.edgar, kind)
    paula = Visitor("paula")
    assert "can approve version" not in paula.get(review_page(kind, review)).text
    kind.save(cast.paula, text="three")
    newest = kind.save(cast.alice, text="four")["latestVersionId"]
    paula.post(review_page(kind, review, "review_change"), do="move", version=newest)
    stuck = "Needs one more approval. No other member can approve version 4. An admin can publish it"
    page = paula.get(review_page(kind, review))
    assert stuck in page.text and 'value="approve"' not in page.markup
    assert page.text.index("You made one of these changes") < page.text.index("Why it can’t be published")
    require(2, bypass="nobody")
    give_role("charlie", "acme", "publisher")
    page = paula.get(review_page(kind, review))
    assert "Only 1 other member can approve version 4. Another person with the right to" in page.text


def test_a_verdict_is_given_with_words_and_can_be_taken_back(cast: Cast, kind: Kind, draft: str) -> None:
    require(1)
    review = ask(cast.edgar, kind, reviewers=["paula"])
    paula, address = Visitor("paula"), review_page(kind, review)
    verdict = review_page(kind, review, "review_verdict")
    silent = paula.post(verdict, version=draft, verdict="requestChanges", body=" ")
    assert silent.status == 400 and "Describe the changes you want." in silent.text
    assert read(cast.edgar, review)["verdicts"] == []
    sent = paula.post(verdict, version=draft, verdict="requestChanges", body="Too long")
    assert sent.headers["Location"] == f"{address}#review-title"
    seen = paula.get(address)
    assert "Needs one more approval." in seen.text and "Too long" in seen.text
    assert seen.text.count("asked for changes") == 0 and "You requested changes" in seen.text
    kind.save(cast.edgar, text="three")
    newest = kind.versions(cast.edgar)[0]["id"]
    Visitor("edgar").post(review_page(kind, review, "review_change"), do="move", version=newest)
    assert "You requested changes to an earlier version" in paula.get(address).text
    paula.post(verdict, version=newest, verdict="approve")
    assert "Approved" in paula.get(address).text and read(cast.edgar, review)["state"] == "approved"
    paula.post(verdict, version=newest, verdict="withdraw")
    assert read(cast.edgar, review)["missing"] == 1


def test_verdicts_on_own_changes_or_without_the_right_are_not_offered_or_accepted(
    cast: Cast, kind: Kind, draft: str
) -> None:
    kind.save(cast.paula, text="three")
    review = ask(cast.edgar, kind)
    for name in ("paula", "edgar"):
        window = Visitor(name)
        assert 'value="approve"' not in window.get(review_page(kind, review)).markup
        own = review_page(kind, review, "review_verdict")
        window.post(own, version=review["versionId"], verdict="approve")
    assert read(cast.alice, review)["verdicts"] == []


def test_a_verdict_on_a_version_no_longer_under_review_is_refused(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind)
    newer = kind.save(cast.edgar, text="three")["latestVersionId"]
    edgar, paula = Visitor("edgar"), Visitor("paula")
    assert "A newer version exists" in paula.get(review_page(kind, review)).text
    edgar.post(review_page(kind, review, "review_change"), do="move", version=newer)
    assert read(cast.edgar, review)["versionId"] == newer
    paula.post(review_page(kind, review, "review_verdict"), version=draft, verdict="approve")
    seen = paula.get(review_page(kind, review))
    assert "now about another version" in seen.text and read(cast.edgar, review)["verdicts"] == []
    # A page that was opened before says so itself.
    assert "now about version 3" in paula.get(review_page(kind, review), seen=draft).text


def test_reviewers_can_be_added_later_and_a_review_can_be_closed(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind)
    change = review_page(kind, review, "review_change")
    edgar = Visitor("edgar")
    edgar.post(change, do="people", reviewers="alice")
    assert read(cast.edgar, review)["reviewers"] == ["alice"]
    assert edgar.post(change, do="something").status == 404
    edgar.post(change, do="close")
    seen = edgar.get(review_page(kind, review))
    assert "Closed" in seen.text and 'value="close"' not in seen.markup
    # A version that is live by now does not affect a finished review.
    kind.publish(cast.alice, "writer", draft)
    assert edgar.get(review_page(kind, review)).status == 200


def test_every_page_about_a_draft_links_to_the_review(cast: Cast, kind: Kind, draft: str) -> None:
    edgar = Visitor("edgar")
    asking = page_of(kind, "review_ask")
    pages = {
        "history": edgar.get(page_of(kind, "history")),
        "compare": edgar.get(page_of(kind, "compare")),
        "version": edgar.get(page_of(kind, "version", "writer", draft)),
    }
    for name, page in pages.items():
        assert any(link.startswith(asking) for link in page.links), name
    editing = page_of(kind, "change")
    assert 'name="then" value="review"' in edgar.get(editing).markup
    review = ask(cast.edgar, kind)
    kind.save(cast.edgar, text="three")
    for page in (page_of(kind, "history"), page_of(kind, "compare"), editing):
        seen = edgar.get(page)
        assert review_page(kind, review) in seen.links
        assert ("Review version 3 instead" in seen.text) is (page != editing)
        assert ("Save and update the review" in seen.text) is (page == editing)
    assert edgar.get(asking).headers["Location"] == review_page(kind, review)


def press(person: Visitor, kind: Kind, text: str, then: str) -> Any:
    """Type a text into the edit page and press one of its buttons."""
    field = "instructions.text" if kind is AGENTS else "content"
    return person.post(page_of(kind, "change"), person.form(kind) | {field: text, "then": then})


def test_saving_can_lead_to_a_review_and_moves_an_open_one(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    sent = press(Visitor("edgar"), kind, "two", "review")
    latest = kind.versions(cast.edgar)[0]["id"]
    assert sent.headers["Location"] == f"{page_of(kind, 'review_ask')}?version={latest}"
    review = ask(cast.edgar, kind)
    sent = press(Visitor("edgar"), kind, "three", "review")
    assert sent.headers["Location"] == review_page(kind, review)
    assert read(cast.edgar, review)["versionNumber"] == 3


def test_the_message_after_a_save_offers_the_next_step(cast: Cast, kind: Kind) -> None:
    for name, count, is_offered in [("paula", 0, False), ("paula", 1, True), ("edgar", 0, True)]:
        with undone():
            kind.make(cast.alice, autoPublish=True)
            require(count)
            person = Visitor(name)
            press(person, kind, "two", "edit")
            said = re.search(
                r'<div class="messages".*?</p>', person.get(page_of(kind, "change")).markup, re.DOTALL
            )
            assert said is not None and "is saved as a draft" in said[0]
            assert (page_of(kind, "review_ask") in said[0]) == is_offered


def test_drafts_in_lists_show_their_missing_approvals(cast: Cast, kind: Kind, draft: str) -> None:
    require(1)
    alice = Visitor("alice")
    waiting = alice.get("/studio/waiting/")
    assert "Needs one more approval." in waiting.text
    assert "data-hindered" in waiting.markup and "All that can be published" in waiting.text
    asked = alice.post("/studio/publish/", chosen=f"{reference(kind)['kind']}:writer:{draft}")
    assert asked.status == 409 and "Nothing can be done with these" in asked.text
    assert "Needs one more approval." in asked.text
    approve(cast.paula, ask(cast.edgar, kind))
    assert "Needs one more" not in alice.get("/studio/waiting/").text


def test_an_approval_of_an_earlier_version_is_not_shown_as_one_of_the_newest(
    cast: Cast, kind: Kind, draft: str
) -> None:
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    edgar, address = Visitor("edgar"), review_page(kind, review)
    pages = [KINDS[kind].address("changelist"), page_of(kind, "change")]

    def chips() -> list[tuple[str, str]]:
        found = rf'<a class="chip ([^"]*)" href="{address}"[^>]*>([^<]*)</a>'
        return [chip for page in pages for chip in re.findall(found, edgar.get(page).markup)]

    assert chips() == [("chip-published", "Approved")] * 2
    kind.save(cast.edgar, text="three")
    assert chips() == [("", "Version 2 approved")] * 2
    assert "Version 2 approved" in edgar.get("/studio/reviews/", show="all").text
    assert say(cast.paula, review, "requestChanges", draft).status == 200
    assert chips() == [("chip-danger", "Changes requested to version 2")] * 2


def test_the_history_shows_verdicts_and_the_activity_links_to_the_review(
    cast: Cast, kind: Kind, draft: str
) -> None:
    review = ask(cast.edgar, kind, reviewers=["paula"])
    approve(cast.paula, review)
    assert say(cast.alice, review, "requestChanges").status == 200
    edgar, address = Visitor("edgar"), review_page(kind, review)
    for page in ("history", "version"):
        seen = edgar.get(page_of(kind, page, "writer", *([draft] if page == "version" else [])))
        assert "Approved by paula Changes requested by alice" in seen.text and address in seen.links
    for page in ("/studio/activity/", page_of(kind, "activity"), workspace_page("activity")):
        assert edgar.get(page).links.count(address) == 3


def test_waiting_reviews_are_listed_on_the_home_page_until_done(cast: Cast, kind: Kind, draft: str) -> None:
    kind.make(cast.edgar, "other")
    review = ask(cast.edgar, kind, message="Look, please")
    ask(cast.alice, kind, "other", reviewers=["edgar"])
    # edgar is a reviewer, but of his own text; alice requested the other one herself.
    assert [waiting_for(name) for name in ("alice", "paula", "edgar")] == [1, 2, 0]
    paula = Visitor("paula")
    assert "Waiting for your review · 2" in paula.get("/studio/").text
    assert "Look, please" in paula.get(REVIEWS, show="waiting").text
    approve(cast.paula, review)
    for name, show, is_shown in (
        ("paula", "waiting", False),
        ("paula", "open", True),
        ("edgar", "mine", True),
        ("alice", "mine", False),
    ):
        assert ("Look, please" in Visitor(name).get(REVIEWS, show=show).text) == is_shown
    cast.edgar.patch(f"/reviews/{review['id']}", {"state": "closed"})
    assert "Look, please" not in paula.get(REVIEWS).text
    assert "Look, please" in paula.get(REVIEWS, show="all").text


def waiting_for(name: str) -> int:
    """Return how many reviews wait for a person, which each page says at the top."""
    return count_for(caller_for(User.objects.get(username=name)))


def test_a_review_is_done_for_an_editor_after_a_comment(cast: Cast, kind: Kind) -> None:
    version = kind.make(cast.alice)["latestVersionId"]
    ask(cast.alice, kind, reviewers=["edgar"])
    assert waiting_for("edgar") == 1
    about = Review.objects.values("kind", "resource_id", "identity", "workspace_id").get()
    author = User.objects.get(username="edgar")
    Comment.objects.create(version_id=version, version_number=1, body="Fine with me", author=author, **about)
    assert waiting_for("edgar") == 0


def test_reviewers_and_requesters_get_notifications(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind, reviewers=["paula"])
    assert notified() == {"paula": ["requested"]}
    approve(cast.paula, review)
    say(cast.alice, review, "requestChanges")
    cast.edgar.patch(f"/reviews/{review['id']}", {"state": "closed"})
    assert notified() == {
        "paula": ["closed", "changesRequested", "requested"],
        "edgar": ["changesRequested", "approved"],
    }
    # Without reviewers, all people who may approve are asked; alice gets no earlier notifications.
    ask(cast.edgar, kind)
    assert notified()["alice"] == ["requested"] and notified()["paula"][0] == "requested"
    assert set(notified()) == {"alice", "paula", "edgar"}


def notified() -> dict[str, list[str]]:
    """Return people's notifications about reviews, the newest first."""
    found = {}
    for name in NAMES:
        caller = caller_for(User.objects.get(username=name))
        types = [event.type for event in notifications.latest(caller, get_editor().code, 20)]
        found[name] = [one.removeprefix("review.") for one in types if one.startswith("review.")]
    return {name: types for name, types in found.items() if types}


def test_viewers_and_non_members_see_nothing_of_a_review(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind, message="Secret plans", reviewers=["paula"])
    say(cast.paula, review, "requestChanges", body="Secret doubts")
    own = [review_page(kind, review), page_of(kind, "review_ask"), REVIEWS, POLICY]
    for name, status in (("vera", 403), ("charlie", 404)):
        window = Visitor(name)
        assert [window.get(address).status for address in own] == [status] * 4, name
        for page in ("review_verdict", "review_change"):
            sent = window.post(review_page(kind, review, page), verdict="approve", version=draft, do="close")
            assert sent.status == status
        pages = [f"/studio/{page}" for page in ("", "activity/", "notifications/", "search/?q=Secret")]
        of_resource = [page_of(kind, "change"), page_of(kind, "activity")] if name == "vera" else []
        for page in (*pages, *of_resource):
            seen = window.get(page)
            assert seen.status == 200
            for secret in ("plans", "doubts", review["id"]):
                assert secret not in seen.markup
            if name == "vera" and "search" not in page:
                assert "eview" not in re.sub(r"[Pp]review", "", seen.text), page
    assert read(cast.alice, review)["state"] == "changesRequested"


def test_a_review_is_found_only_under_its_own_resource(cast: Cast, draft: str, kind: Kind) -> None:
    review = ask(cast.edgar, kind)
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere")
    other = PROMPT_BLOCKS if kind is AGENTS else AGENTS
    other.make(cast.edgar)
    for name, found_at, resource_id in (
        ("charlie", kind, "theirs"),
        ("edgar", other, "writer"),
        ("root", kind, "theirs"),
    ):
        assert Visitor(name).get(page_of(found_at, "review", resource_id, review["id"])).status == 404
    edgar = Visitor("edgar")
    assert edgar.get(page_of(kind, "review", "writer", "nothing")).status == 404
    other_ask = edgar.post(page_of(other, "review_ask"), version=draft)
    assert other_ask.status == 404


def test_only_members_can_be_reviewers_and_the_typed_text_is_shown_again(
    cast: Cast, kind: Kind, draft: str
) -> None:
    sent = Visitor("edgar").post(
        page_of(kind, "review_ask"), version=draft, message="Please look", reviewers="charlie"
    )
    assert sent.status == 400 and "Please look" in sent.text and not Review.objects.exists()


def test_editors_read_the_policy_and_admins_change_it(cast: Cast) -> None:
    alice, edgar = Visitor("alice"), Visitor("edgar")
    assert "Versions need no approval here" in edgar.get(POLICY).text
    alice.post(POLICY, required="2", bypass="nobody")
    seen = edgar.get(POLICY)
    assert "Each version needs 2 approvals from publishers" in seen.text
    assert "No one is exempt" in seen.text and "<select" not in seen.markup
    for window, fields, status in (
        (alice, {"required": "6", "bypass": "admin"}, 400),
        (alice, {"required": "1"}, 400),
        (edgar, {"required": "0", "bypass": "admin"}, 403),
        (Visitor("vera"), {"required": "0", "bypass": "admin"}, 403),
        (Visitor("charlie"), {"required": "0", "bypass": "admin"}, 404),
    ):
        assert window.post(POLICY, **fields).status == status
    assert get_editor().review_policy.get("acme").required == 2


def test_a_review_is_shown_after_its_version_was_deleted_and_a_reviewer_demoted(
    cast: Cast, kind: Kind, draft: str
) -> None:
    kind.save(cast.edgar, text="three")
    review = ask(cast.edgar, kind, versionId=draft, reviewers=["paula"])
    approve(cast.paula, review)
    give_role("paula", "acme", "viewer")
    assert (
        "does not count: they may no longer publish" in Visitor("edgar").get(review_page(kind, review)).text
    )
    assert cast.alice.delete(kind.url("writer", "versions", draft)).status == 200
    seen = Visitor("edgar").get(review_page(kind, review))
    assert seen.status == 200 and "The version under review has been deleted." in seen.text
    assert 'value="approve"' not in Visitor("alice").get(review_page(kind, review)).markup


def test_an_admin_publishes_without_a_review_and_the_history_shows_that(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require(1)
    publish = page_of(kind, "publish")
    alice = Visitor("alice")
    shown = alice.get(publish)
    for seen, offered in ((Visitor("paula").get(publish), False), (shown, True)):
        assert "This cannot be published yet. Needs one more approval." in seen.text
        assert ('id="bypass-reason"' in seen.markup) == offered
    typed = {"version": draft, "tag": shown.field("tag")}
    assert alice.post(publish, **typed, reason="Not shown, so not overruled").status == 403
    typed["overrules"] = shown.field("overrules")
    assert "Say why." in alice.post(publish, **typed, reason="  ").text
    assert Visitor("paula").post(publish, **typed, reason="I want to").status == 403
    assert alice.post(publish, **typed).status == 403
    assert cast.alice.get(kind.url("writer"), status="draft").body["activeVersionId"] != draft
    assert alice.post(publish, **typed, reason="Refunds are <wrong>").status == 302
    seen = Visitor("edgar").get(page_of(kind, "history"))
    assert "alice published it without a review: “Refunds are <wrong>”" in seen.text
    require(1, bypass="nobody")
    kind.save(cast.edgar, text="three")
    assert 'id="bypass-reason"' not in alice.get(publish).markup


def test_publish_buttons_are_disabled_and_show_the_missing_approvals(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require(2)
    give_role("edgar", "acme", "publisher")
    kind.save(cast.edgar, text="three")
    review = ask(cast.edgar, kind)
    pages = [page_of(kind, page) for page in ("change", "history", "publish")]
    pages += [page_of(kind, "version", "writer", review["versionId"])]
    for missing, some in (("Needs 2 more approvals.", pages), ("Needs one more", pages[:1]), ("", pages)):
        for page in some:
            seen = Visitor("edgar").get(page)
            assert (missing in seen.text) and (("disabled" in button_of(seen.markup)) == bool(missing)), page
        approve(cast.paula if missing.startswith("Needs 2") else cast.alice, review)


def button_of(markup: str) -> str:
    """Return the button, or the link, that publishes."""
    found = re.search(r"<(?:button|a)\b[^>]*>\s*Publish\b(?! again)", markup)
    assert found is not None
    return found[0]


def test_an_open_edit_page_enables_publishing_after_the_last_approval(
    cast: Cast, kind: Kind, draft: str
) -> None:
    require(1)
    review = ask(cast.edgar, kind)
    alice = Visitor("alice")
    source = re.search(r'data-source="([^"]*)"', alice.get(page_of(kind, "change")).markup)
    assert source is not None
    fragment = alice.get(html.unescape(source[1]))
    assert "disabled" in button_of(fragment.markup) and "Needs one more approval." in fragment.text
    approve(cast.paula, review)
    fragment = alice.get(html.unescape(source[1]))
    assert "disabled" not in button_of(fragment.markup) and "paula approved version 2" in fragment.text
    # Nothing that is typed is about an older text.
    assert "has changed since you opened it" not in fragment.text


def test_a_bulk_report_shows_missing_approvals(cast: Cast, kind: Kind, draft: str) -> None:
    paula = Visitor("paula")
    chosen = f"{reference(kind)['kind']}:writer:{draft}"
    asked = paula.post("/studio/publish/", chosen=chosen)
    assert "Publish 1 draft?" in asked.text
    require(1)
    seen = paula.post("/studio/publish/", chosen=chosen, confirmed="yes")
    assert "1 was not published" in seen.text and "Needs one more approval." in seen.text


FOR_BILLING = {
    "operator": "AND",
    "conditions": [{"field": "topic", "operator": "equals", "value": "billing"}],
}
FEW, MANY = 2, 4
MAX_QUERIES = 59
"""Within the transaction of a test nothing is cached: each page counts anew what waits for the person."""


def test_the_number_of_queries_does_not_grow(cast: Cast, kind: Kind) -> None:
    require(1)
    paula = Visitor("paula")
    pages = ["/studio/", "/studio/waiting/", REVIEWS, f"{REVIEWS}?show=waiting", f"{REVIEWS}?show=all"]
    counted = []
    for start, stop in ((0, FEW), (FEW, MANY)):
        for number in range(start, stop):
            kind.make(cast.edgar, f"r{number}")
            review = ask(cast.edgar, kind, f"r{number}", reviewers=["paula", "alice"])
            say(cast.alice, review, "requestChanges", body="No")
        review_of = page_of(kind, "review", "r0", str(Review.objects.get(resource_id="r0").pk))
        paula.get(review_of)  # it is noted among those opened last
        everywhere = [*pages, review_of, page_of(kind, "history", "r0")]
        counted.append({page: queries_of(paula, page) for page in everywhere})
    assert counted[0] == counted[1]
    assert max(counted[0].values()) <= MAX_QUERIES


def queries_of(window: Visitor, address: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert window.get(address).status == 200
    return len(queries)


def test_an_override_of_a_code_defined_agent_is_reviewed_like_any_other(cast: Cast, folder: Folder) -> None:
    for name, role in (("edgar", "editor"), ("paula", "publisher"), ("alice", "admin")):
        give_role(name, "default", role)
    get_editor().review_policy.set("default", required=1)
    folder.put({"instructions": "by hand"})
    draft = AGENTS.save(cast.edgar, "answers", "saved")["latestVersionId"]
    review = ask(cast.edgar, AGENTS, "answers")
    paula, address = Visitor("paula"), review_page(AGENTS, review, resource_id="answers")
    seen = paula.get(address)
    assert seen.status == 200 and "by hand" in seen.text and "saved" in seen.text
    publish = page_of(AGENTS, "publish", "answers")
    assert "Needs one more approval." in paula.get(publish).text
    paula.post(review_page(AGENTS, review, "review_verdict", "answers"), version=draft, verdict="approve")
    typed = {"version": draft, "tag": paula.get(publish).field("tag")}
    assert paula.post(publish, **typed).status == 302
    assert folder.config() == {"instructions": "saved"}
    assert "Published" in paula.get(address).text
    for page in ("change", "history", "compare"):
        assert paula.get(page_of(AGENTS, page, "answers")).status == 200
    assert paula.get(page_of(AGENTS, "review_ask", "team/lead")).status == 404


def test_a_new_publisher_is_notified_of_reviews_without_reviewers(cast: Cast, kind: Kind, draft: str) -> None:
    ask(cast.edgar, kind)
    news = []
    for role in ("editor", "publisher"):
        give_role("vera", "acme", role)
        caller = caller_for(User.objects.get(username="vera"))
        news.append(notifications.unread(caller, get_editor().code, after=0, limit=10))
    assert news == [1, 3]  # of the role; of both changes of it, and of the review


def news_in(page: PageResponse) -> str:
    """Return what the page of a review says to have happened since the person last looked."""
    found = re.search(r"Since you last looked.*?(?=Changes compared)", page.text)
    return found[0] if found else ""


def test_a_reviewer_who_comes_back_sees_what_has_happened_since(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind)
    address, paula = review_page(kind, review), Visitor("paula")
    assert news_in(paula.get(address)) == ""
    saved = kind.save(cast.edgar, text="Three words instead")
    comment(cast.edgar, saved, kind, body="Shorter now")
    cast.edgar.patch(f"/reviews/{review['id']}", {"versionId": saved["latestVersionId"]})
    approve(cast.alice, review, saved["latestVersionId"])
    for _attempt in range(2):  # it stays when the page is loaded again
        news = news_in(paula.get(address))
        assert "Version 3 is under review, no longer version 2" in news
        assert "alice Approved" in news and "1 new comment" in news and "Three words instead" in news
    assert news_in(Visitor("alice").get(address)) == ""


def test_what_was_seen_is_no_news_any_more(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind)
    address, paula = review_page(kind, review), Visitor("paula")
    paula.get(address)
    say(cast.alice, review, "requestChanges")
    assert "alice Changes requested" in news_in(paula.get(address))
    approve(cast.alice, review)
    news = news_in(paula.get(address))
    assert "alice Approved" in news and "Changes requested" not in news
    hour = datetime.timedelta(hours=1)
    Look.objects.update(at=F("at") - hour, before=F("before") - 2 * hour)
    Verdict.objects.update(created_at=F("created_at") - 2 * hour)
    assert news_in(paula.get(address)) == ""  # she saw it an hour ago


@pytest.mark.parametrize("page", ["publish", "compare"])
def test_a_review_is_decided_on_the_pages_with_the_differences(
    cast: Cast, kind: Kind, draft: str, page: str
) -> None:
    require(1)
    review = ask(cast.edgar, kind)
    paula, address = Visitor("paula"), page_of(kind, page)
    seen = paula.get(address)
    assert seen.markup.count('value="approve"') == 2 and "Request changes" in seen.text
    assert 'value="approve"' not in Visitor("edgar").get(page_of(kind, "compare")).markup  # edgar saved it
    verdict = review_page(kind, review, "review_verdict")
    sent = paula.post(verdict, version=draft, verdict="requestChanges", body="Too long", next=address)
    assert sent.headers["Location"] == address
    assert "Changes requested." in paula.get(address).text
    paula.post(verdict, version=draft, verdict="approve", next=address)
    seen = paula.get(address)
    assert "Withdraw my decision" in seen.text and read(cast.edgar, review)["state"] == "approved"


def test_a_decision_is_offered_only_about_the_version_on_the_page(cast: Cast, kind: Kind, draft: str) -> None:
    ask(cast.edgar, kind)
    newer = kind.save(cast.edgar, text="three")["latestVersionId"]
    paula = Visitor("paula")
    for page in ("publish", "compare"):
        assert 'value="approve"' not in paula.get(page_of(kind, page)).markup
    assert 'value="approve"' not in paula.get(page_of(kind, "publish"), version=newer).markup
    assert 'value="approve"' in paula.get(page_of(kind, "publish"), version=draft).markup


def test_the_edit_page_has_the_words_of_a_request_for_changes_below_the_changed_field(
    cast: Cast, kind: Kind, draft: str
) -> None:
    review = ask(cast.edgar, kind)
    edgar, edit = Visitor("edgar"), page_of(kind, "change")
    say(cast.paula, review, "requestChanges", body="<b>Too long</b> for a phone")
    seen = edgar.get(edit)
    field, _, beside = seen.markup.partition('id="aside"')
    assert "paula</bdi></span> requested changes to version 2" in " ".join(field.split())
    assert "&lt;b&gt;Too long&lt;/b&gt; for a phone" in field and "Too long" not in beside
    # A newer version does not answer the request; a second field moves the words to the side.
    second: dict[str, Any] = {"tools": {"search": {}}} if kind is AGENTS else {"rules": FOR_BILLING}
    newer = kind.save(cast.edgar, text="three", **second)
    edgar.post(review_page(kind, review, "review_change"), do="move", version=newer["latestVersionId"])
    assert "for a phone" in edgar.get(edit).markup.partition('id="aside"')[0]
    say(cast.paula, read(cast.edgar, review), "requestChanges", body="Still too long")
    seen = edgar.get(edit)
    field, _, beside = seen.markup.partition('id="aside"')
    assert beside.index("Still too long") < beside.index('id="beside"')  # above the preview
    assert "Still too long" not in field and "phone" not in field + beside
    say(cast.paula, read(cast.edgar, review), "approve")
    assert "requested changes to" not in edgar.get(edit).text
