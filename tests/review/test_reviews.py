"""Requesting reviews, and verdicts: the table of the contract, over HTTP."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.reviews import REVIEWS, approve, ask, path, read, reference, say

pytestmark = pytest.mark.django_db


def test_editors_request_a_review_of_the_latest_version(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.edgar)
    answer = cast.edgar.post(
        REVIEWS, {"resource": reference(kind), "message": " Please look. ", "reviewers": ["paula", "alice"]}
    )
    assert answer.status == 201
    assert answer.headers["Location"] == f"/api/reviews/{answer.body['id']}"
    created_at = answer.body["createdAt"]
    assert answer.body == {
        "id": answer.body["id"],
        "resource": reference(kind),
        "versionId": made["latestVersionId"],
        "versionNumber": 1,
        "baseVersionId": None,
        "state": "open",
        "requestedBy": "edgar",
        "message": "Please look.",
        "reviewers": ["alice", "paula"],
        "verdicts": [],
        "missing": 0,
        "outdated": False,
        "createdAt": created_at,
        "warnings": [],
    }
    assert cast.vera.get(path(answer.body)).status == 404
    again = cast.paula.get(path(answer.body))
    assert (again.body, again.etag) == (answer.body, answer.etag)
    assert cast.paula.request("GET", path(answer.body), if_none_match=again.etag).status == 304


def test_a_resource_has_one_open_review(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind)
    answer = cast.paula.post(REVIEWS, {"resource": reference(kind)})
    assert (answer.status, answer.code, answer.body["reviewId"]) == (409, "review_open", review["id"])
    assert cast.edgar.patch(path(review), {"state": "closed"}).body["state"] == "closed"
    assert ask(cast.paula, kind)["id"] != review["id"]


def test_a_verdict_is_shown_and_counts(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind)
    answer = say(cast.paula, review, "approve", body="Good.")
    assert answer.status == 200
    [verdict] = answer.body["verdicts"]
    assert verdict == {
        "by": "paula",
        "verdict": "approve",
        "body": "Good.",
        "versionId": review["versionId"],
        "createdAt": verdict["createdAt"],
        "counts": True,
    }
    assert (answer.body["state"], answer.body["missing"]) == ("approved", 0)
    asked = say(cast.alice, review, "requestChanges", body="Too long.").body
    assert (asked["state"], [one["counts"] for one in asked["verdicts"]]) == (
        "changesRequested",
        [True, True],
    )
    withdrawn = say(cast.alice, review, "withdraw").body
    assert withdrawn["state"] == "approved"
    assert [one["counts"] for one in withdrawn["verdicts"]] == [True, False, False]
    assert read(cast.edgar, review) == withdrawn


def test_verdicts_are_refused(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    newer = kind.save(cast.paula)["latestVersionId"]
    review = ask(cast.edgar, kind)
    assert say(cast.edgar, review, "approve").code == "forbidden"
    own = say(cast.paula, review, "approve")
    assert (own.status, own.code) == (403, "own_change")
    older = kind.versions(cast.alice)[-1]["id"]
    outdated = say(cast.alice, review, "approve", older)
    assert (outdated.status, outdated.code) == (409, "review_outdated")
    assert review["versionId"] == newer
    assert cast.edgar.patch(path(review), {"state": "closed"}).status == 200
    closed = say(cast.alice, review, "approve")
    assert (closed.status, closed.code) == (409, "review_closed")
    assert read(cast.alice, review)["verdicts"] == []


def test_the_event_names_the_approver(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind, reviewers=["paula"])
    approve(cast.paula, review)
    approve(cast.paula, review)  # a request without effect leaves no entry
    events = cast.edgar.get("/events", type="review.*").body["events"]
    assert [(one["type"], one["actor"]["id"], one["detail"]) for one in events] == [
        ("review.requested", "edgar", {"reviewId": review["id"], "reviewers": ["paula"]}),
        ("review.approved", "paula", {"reviewId": review["id"]}),
    ]
    assert {(one["resource"]["id"], one["versionId"]) for one in events} == {("writer", review["versionId"])}
    assert cast.vera.get("/events", type="review.*").body["events"] == []
