"""Who may do what with reviews: four roles, non-members, limited keys, and ids that exist elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.review.models import Review, Verdict
from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.people import give_role, key_of
from tests.support.reviews import (
    REVIEWS,
    approve,
    ask,
    listed,
    path,
    read,
    reference,
    require_approvals,
    say,
)
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.domain.errors import Forbidden, Invalid
from versioning.models import Event, Membership

pytestmark = pytest.mark.django_db

Review_ = dict[str, Any]
Ask = Callable[[Api, Review_], Answer]
ROUTES: dict[str, Ask] = {
    "read": lambda api, review: api.get(path(review)),
    "reassign": lambda api, review: api.patch(path(review), {"reviewers": ["alice"]}),
    "close": lambda api, review: api.patch(path(review), {"state": "closed"}),
    "approve": lambda api, review: say(api, review, "approve"),
    "withdraw": lambda api, review: say(api, review, "withdraw"),
}


def stored() -> list[Any]:
    rows = [list(model.objects.order_by("pk").values()) for model in (Review, Verdict)]
    return [*rows, list(Review.reviewers.through.objects.values_list()), Event.objects.count()]


@pytest.fixture
def review(cast: Cast, kind: Kind) -> Review_:
    """A review of a published resource, which viewers can read, with a draft by an outsider of the cast."""
    by = "edda"
    User.objects.create_user(by)
    give_role(by, "acme", "publisher")
    edda = key_of(by)
    kind.make(edda, autoPublish=True)
    kind.save(edda)
    return ask(edda, kind)


def test_requesting_a_review_needs_the_right_to_save(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, autoPublish=False)
    body = {"resource": reference(kind)}
    before = stored()
    unknown = cast.alice.post(REVIEWS, {"resource": reference(kind, "nothing")})
    for api in (cast.charlie, cast.vera):  # nothing is published, so a viewer does not know of it either
        hidden = api.post(REVIEWS, body)
        assert (hidden.status, hidden.body) == (404, unknown.body)
    kind.publish(cast.paula, "writer", kind.versions(cast.alice)[0]["id"])
    before[-1] += 1
    assert cast.vera.post(REVIEWS, body).code == "forbidden"
    assert cast.charlie.post(REVIEWS, body).body == unknown.body
    assert stored() == before
    assert cast.edgar.post(REVIEWS, body).status == 201


def test_readers_of_a_public_agent_cannot_read_its_reviews(cast: Cast) -> None:
    made = AGENTS.make(cast.paula, visibility="public", autoPublish=True)
    review = ask(cast.edgar, AGENTS)
    assert made["visibility"] == "public"
    assert cast.charlie.get(path(review)).code == "forbidden"
    assert cast.charlie.post(REVIEWS, {"resource": reference(AGENTS)}).code == "forbidden"
    assert say(cast.charlie, review, "approve").code == "forbidden"
    assert listed(cast.charlie) == []


def test_lists_omit_unreadable_reviews(cast: Cast, review: Review_) -> None:
    theirs = AGENTS.make(cast.charlie, "theirs")
    other = ask(cast.charlie, AGENTS, "theirs")
    assert theirs["workspaceId"] == "elsewhere"
    found = {name: listed(getattr(cast, name)) for name in ("alice", "edgar", "vera", "charlie", "root")}
    assert found == {
        "alice": [review["id"]],
        "edgar": [review["id"]],
        "vera": [],
        "charlie": [other["id"]],
        "root": [other["id"], review["id"]],
    }
    for query in ({"workspaceId": "acme"}, {"workspaceId": "nowhere"}, {"id": "writer"}, {"state": "open"}):
        assert review["id"] not in listed(cast.charlie, **query)
        assert listed(cast.vera, **query) == []
    assert cast.nobody.get(REVIEWS).status == 401


def test_verdicts_by_different_keys_count_once_per_person(cast: Cast, review: Review_) -> None:
    require_approvals(2)
    approve(cast.paula, review)
    again = say(key_of("paula", workspace="acme"), review, "approve", body="By a key.").body
    assert [one["counts"] for one in again["verdicts"]] == [False, True]
    assert (again["missing"], again["state"]) == (1, "open")


def test_an_author_who_saved_with_a_key_cannot_approve(cast: Cast, kind: Kind) -> None:
    kind.make(key_of("paula"))
    review = ask(cast.edgar, kind)
    assert say(cast.paula, review, "approve").code == "own_change"


def test_other_spellings_of_a_review_id_are_not_found(cast: Cast, review: Review_) -> None:
    for spelling in (review["id"].upper(), review["id"].replace("-", ""), "1", "%00", "\N{SNOWMAN}"):
        for route in ROUTES.values():
            assert route(cast.alice, {**review, "id": spelling}).status == 404


def test_the_application_requests_and_closes_reviews_but_gives_no_verdicts(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.edgar)
    reviews = get_editor().reviews
    review = reviews.ask(reference(kind)["kind"], "writer", message="Look.")
    assert (review.requested_by, review.state) == (None, "open")
    with pytest.raises(Forbidden):
        reviews.give_verdict(review.id, version_id=made["latestVersionId"], verdict="approve")
    with pytest.raises(Invalid):
        reviews.list(state="pending")
    assert [one.id for one in reviews.records_of(reviews.list(state="open"))] == [review.id]
    assert reviews.list(author=APPLICATION).count() == 0
    assert reviews.list(reviewer=APPLICATION).count() == 0
    judged = reviews.give_verdict(
        review.id,
        version_id=made["latestVersionId"],
        verdict="approve",
        by=User.objects.get(username="paula"),
    )
    assert judged.outcome.approved_by == ("paula",)
    assert reviews.change(review.id, is_closed=True).state == "closed"


def test_a_verdict_no_longer_counts_after_the_role_is_lost(cast: Cast, review: Review_) -> None:
    require_approvals(1)
    approve(cast.paula, review)
    assert read(cast.alice, review)["state"] == "approved"
    give_role("paula", "acme", "editor")
    found = read(cast.alice, review)
    assert (found["state"], found["missing"], found["verdicts"][0]["counts"]) == ("open", 1, False)
    give_role("paula", "acme", "publisher")
    assert read(cast.alice, review)["state"] == "approved"


def test_a_service_account_is_no_reviewer(cast: Cast, kind: Kind) -> None:
    """Not even one that may publish, and not by a verdict that it gave as a person."""
    require_approvals(1)
    draft = kind.make(cast.edgar)["latestVersionId"]
    robot = {"username": "robot", "workspaceId": "acme", "role": "publisher"}
    assert cast.alice.post("/service-accounts", robot).status == 201
    key = cast.alice.post("/keys", {"name": "R", "workspaceId": "acme", "owner": "robot"}).body["key"]
    review = ask(cast.edgar, kind)
    refused = say(Api(key), review, "approve")
    assert (refused.status, refused.code) == (403, "not_a_person")
    named = cast.edgar.patch(path(review), {"reviewers": ["robot"]})
    assert (named.status, named.fields) == (400, ["reviewers.0"])
    approve(cast.paula, review)
    assert read(cast.edgar, review)["missing"] == 0
    Membership.objects.filter(user__username="paula").update(is_service=True)
    found = read(cast.edgar, review)
    assert (found["missing"], [one["counts"] for one in found["verdicts"]]) == (1, [False])
    assert Api(key).post(kind.url("writer", "versions", draft, "activate")).code == "review_required"
