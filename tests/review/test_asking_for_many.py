"""Asking for reviews of several waiting drafts: one review each, of exactly what was shown."""

from __future__ import annotations

import html
import re

from django.db import connection
from django.test.utils import CaptureQueriesContext

from capabilities.review.models import Review
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.people import give_role, person
from tests.support.reviews import ask
from tests.support.studio import KINDS, PageResponse, Visitor, page_of

ASK, WAITING = "/studio/reviews/ask/", "/studio/waiting/"
FORM = '<form method="post" data-choose'


def value(kind: Kind, resource_id: str, version_id: str) -> str:
    """Return the value of the checkbox for a version."""
    return f"{KINDS[kind].slug}:{resource_id}:{version_id}"


def sent(seen: PageResponse) -> dict[str, list[str]]:
    """Return what the first form of a page would send."""
    form = seen.markup.split(FORM)[1].split("</form>")[0]
    named = re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', form)
    return {
        name: [html.unescape(text) for one, text in named if one == name]
        for name, _text in named
        if name != "reviewers"
    }


def draft(cast: Cast, kind: Kind, resource_id: str) -> str:
    return value(kind, resource_id, kind.make(cast.edgar, resource_id)["latestVersionId"])


def test_each_chosen_draft_gets_a_review(cast: Cast, kind: Kind) -> None:
    first, second = draft(cast, kind, "first"), draft(cast, kind, "second")
    edgar = Visitor("edgar")
    assert f'formaction="{ASK}"' in edgar.get(WAITING).markup
    asked = edgar.post(ASK, chosen=[first, second])  # type: ignore[arg-type]
    assert "Ask for 2 reviews" in asked.text and "What changes" in asked.text and not Review.objects.exists()
    report = edgar.post(ASK, **{**sent(asked), "message": "The <tone>", "reviewers": "paula"})  # type: ignore[arg-type]
    assert (report.status, "2 are now in review" in report.text) == (200, True)
    found = {review.resource_id: review for review in Review.objects.all()}
    for chosen in (first, second):
        _kind, resource_id, version_id = chosen.split(":")
        review = found[resource_id]
        assert (review.version_id, review.message, review.author_name) == (version_id, "The <tone>", "edgar")
        assert [one.username for one in review.reviewers.all()] == ["paula"]


def test_what_is_in_review_or_live_or_newer_is_named_and_left_out(cast: Cast, kind: Kind) -> None:
    reviewed, live, newer, fine = (draft(cast, kind, one) for one in ("reviewed", "live", "newer", "fine"))
    ask(cast.edgar, kind, "reviewed")
    kind.publish(cast.alice, "live", live.rpartition(":")[2])
    kind.save(cast.edgar, "newer", "newer")
    asked = Visitor("edgar").post(ASK, chosen=[reviewed, live, newer, fine])  # type: ignore[arg-type]
    assert sent(asked)["chosen"] == [fine] and "Ask for 1 review" in asked.text
    for reason in ("It already has an open review.", "It is already live.", "It has been saved again"):
        assert reason in asked.text


def test_a_draft_that_changes_meanwhile_is_refused_and_named(cast: Cast, kind: Kind) -> None:
    fine, changing = draft(cast, kind, "fine"), draft(cast, kind, "changing")
    edgar = Visitor("edgar")
    asked = edgar.post(ASK, chosen=[fine, changing])  # type: ignore[arg-type]
    kind.save(cast.alice, "changing", "newer")
    report = edgar.post(ASK, **sent(asked))  # type: ignore[arg-type]
    assert "Asked for 1 review, 1 not" in report.text and "changed since you read it" in report.text
    assert [review.resource_id for review in Review.objects.all()] == ["fine"]
    assert "It already has an open review" in edgar.post(ASK, **sent(asked)).text  # type: ignore[arg-type]


def test_people_are_those_of_the_workspace_which_comes_by_itself(cast: Cast, kind: Kind) -> None:
    here = draft(cast, kind, "here")
    give_role("edgar", "elsewhere", "editor")
    there = value(kind, "there", kind.make(cast.charlie, "there", workspaceId="elsewhere")["latestVersionId"])
    edgar = Visitor("edgar")
    asked = edgar.post(ASK, chosen=[here, there])  # type: ignore[arg-type]
    ours, theirs = asked.markup.split(FORM)[1:]
    assert 'value="paula"' in ours and 'value="paula"' not in theirs and 'value="charlie"' in theirs
    refused = edgar.post(ASK, **{**sent(asked), "reviewers": "charlie"})  # type: ignore[arg-type]
    assert "is not a member of this workspace" in refused.text and not Review.objects.exists()
    report = edgar.post(ASK, **{**sent(asked), "reviewers": "paula"})  # type: ignore[arg-type]
    assert "1 is now in review" in report.text and "Continue with 1 from the other workspaces" in report.text
    then = edgar.post(ASK, chosen=there)
    assert sent(then)["chosen"] == [there] and 'value="charlie"' in then.markup


def test_others_ask_for_nothing_and_learn_nothing(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, name="Secret plan")["latestVersionId"]
    for name in ("vera", "charlie"):
        window = Visitor(name)
        for more in ({}, {"confirmed": "yes"}):
            seen = window.post(ASK, chosen=value(kind, "writer", made), **more)
            assert (
                "Secret plan" not in seen.markup and "There is nothing here that you can read." in seen.text
            )
    assert not Review.objects.exists()
    for bad in (["agent"], ["user:a:b"], ["agent:a:b"] * 201):
        for field in ("chosen", "later"):
            fields = {"chosen": "agent:a:b", "confirmed": "yes", field: bad}
            assert Visitor("edgar").post(ASK, **fields).status == 400  # type: ignore[arg-type]


def test_the_page_takes_as_many_queries_for_many_drafts_as_for_one(cast: Cast) -> None:
    chosen = [draft(cast, kind, f"r{number}") for kind in (AGENTS, PROMPT_BLOCKS) for number in range(15)]
    edgar, counts = Visitor("edgar"), []
    for some in ([chosen[0], chosen[-1]], [chosen[0], chosen[-1]], chosen):
        with CaptureQueriesContext(connection) as queries:
            assert len(sent(edgar.post(ASK, chosen=some))["chosen"]) == len(some)  # type: ignore[arg-type]
        counts.append(len(queries))
    assert counts[1] == counts[2] <= 25


def test_what_is_too_long_for_the_page_is_ticked_nevertheless(cast: Cast, kind: Kind) -> None:
    long = "\n".join(f"line {number}" for number in range(20_000))
    chosen = value(kind, "long", kind.make(cast.edgar, "long", long)["latestVersionId"])
    asked = Visitor("edgar").post(ASK, chosen=chosen)
    assert "This changes more than fits on this page." in asked.text and "not ticked" not in asked.text
    assert f'value="{chosen}" checked' in asked.markup


def test_hostile_names_of_people_are_refused_like_others(cast: Cast) -> None:
    chosen = draft(cast, AGENTS, "writer")
    edgar = Visitor("edgar")
    asked = sent(edgar.post(ASK, chosen=chosen))
    page = page_of(AGENTS, "review_ask")
    for name in ("pau\0la", "<b>", "x" * 5000, "charlie"):
        assert edgar.post(page, reviewers=name).status == 400
        refused = edgar.post(ASK, **{**asked, "reviewers": name})  # type: ignore[arg-type]
        assert (refused.status, "is not a member of this workspace" in refused.text) == (200, True)
        assert "<b>" not in refused.markup
    assert not Review.objects.exists()


def test_in_a_large_workspace_people_are_found_by_their_names(cast: Cast) -> None:
    chosen = draft(cast, AGENTS, "writer")
    for number in range(20):
        person(f"editor{number:02}", acme="editor")
    edgar = Visitor("edgar")
    asked = edgar.post(ASK, chosen=chosen)
    assert (
        "Someone else" in asked.text
        and 'data-choices="/studio/people/?workspace=acme&amp;persons=1"' in asked.markup
    )
    assert asked.markup.count('type="checkbox" name="reviewers"') == 12 and 'value="paula"' in asked.markup
    edgar.post(ASK, **{**sent(asked), "reviewers": ["paula", " editor19 ", ""]})  # type: ignore[arg-type]
    [review] = Review.objects.all()
    assert {one.username for one in review.reviewers.all()} == {"paula", "editor19"}
    shown = edgar.get(page_of(AGENTS, "review", "writer", str(review.pk))).markup
    assert 'value="editor19" checked' in shown and 'value="paula" checked' in shown
