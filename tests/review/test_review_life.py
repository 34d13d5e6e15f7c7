"""The life of a review: moved, outdated, published, closed, and deleted with what it is about."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.review.models import Review
from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.override_files import Folder, define
from tests.support.people import give_role, key_of, person
from tests.support.reviews import REVIEWS, approve, ask, listed, path, read, reference, require_approvals, say
from tests.support.rollouts import arm, started
from versioning.conf import get_editor
from versioning.domain.errors import Invalid
from versioning.models import Membership

pytestmark = pytest.mark.django_db


def counts(review: dict[str, Any]) -> list[bool]:
    return [verdict["counts"] for verdict in review["verdicts"]]


def requests(api: Api) -> list[Any]:
    return [one["detail"] for one in api.get("/events", type="review.requested").body["events"]]


def test_a_review_moves_to_a_newer_version_only(cast: Cast, kind: Kind) -> None:
    first = kind.make(cast.edgar)["latestVersionId"]
    second = kind.save(cast.edgar)["latestVersionId"]
    review = ask(cast.edgar, kind, versionId=first, reviewers=["paula"])
    assert review["outdated"]
    approve(cast.paula, review)
    moved = cast.edgar.patch(path(review), {"versionId": second}).body
    assert (moved["versionId"], moved["versionNumber"], moved["outdated"]) == (second, 2, False)
    assert (moved["state"], counts(moved)) == ("open", [False])
    assert read(cast.edgar, review) == moved
    for version_id, status in ((first, 400), ("nonsense", 404), (review["id"], 404)):
        answer = cast.edgar.patch(path(review), {"versionId": version_id})
        assert answer.status == status
    assert cast.edgar.patch(path(review), {"versionId": first}).fields == ["versionId"]
    assert cast.edgar.patch(path(review), {"versionId": second}).body == moved
    assert say(cast.paula, review, "approve", first).code == "review_outdated"
    assert requests(cast.edgar) == [
        {"reviewId": review["id"], "reviewers": ["paula"]},
        {"reviewId": review["id"], "reviewers": ["paula"], "fields": ["versionId"]},
    ]


def test_verdicts_count_for_an_equal_configuration(cast: Cast, kind: Kind) -> None:
    require_approvals(1)
    kind.make(cast.edgar, text="good")
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    other = kind.save(cast.edgar, text="other")["latestVersionId"]
    moved = cast.edgar.patch(path(review), {"versionId": other}).body
    assert (moved["missing"], counts(moved)) == (1, [False])
    equal = kind.save(cast.edgar, text="good")["latestVersionId"]
    moved = cast.edgar.patch(path(review), {"versionId": equal}).body
    assert (moved["state"], moved["missing"], counts(moved)) == ("approved", 0, [True])

    cast.edgar.patch(path(review), {"state": "closed"})
    again = ask(cast.edgar, kind)
    assert (again["state"], counts(again)) == ("approved", [True])
    withdrawn = say(cast.paula, again, "withdraw").body
    assert (withdrawn["state"], withdrawn["missing"], counts(withdrawn)) == ("open", 1, [False, False])
    assert [one["verdict"] for one in read(cast.edgar, review)["verdicts"]] == ["approve"]


def test_reviewers_are_members_and_may_leave_the_workspace(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    person("lea", acme="publisher")
    for names, wrong in (
        (["paula", "charlie"], ["reviewers.1"]),
        (["nobody", "paula", "root", " "], ["reviewers.0", "reviewers.2", "reviewers.3"]),
        (["paula"] * 51, ["reviewers"]),
    ):
        answer = cast.edgar.post(REVIEWS, {"resource": reference(kind), "reviewers": names})
        assert (answer.status, answer.fields) == (400, wrong)
    review = ask(cast.edgar, kind, reviewers=["lea", "paula", "lea", "vera"])
    assert review["reviewers"] == ["lea", "paula", "vera"]
    Membership.objects.end(Membership.objects.get(user__username="lea"))
    assert read(cast.edgar, review)["reviewers"] == ["paula", "vera"]
    changed = cast.edgar.patch(path(review), {"reviewers": []}).body
    assert changed["reviewers"] == []
    assert cast.edgar.patch(path(review), {"reviewers": ["charlie"]}).fields == ["reviewers.0"]
    User.objects.filter(username="lea").delete()
    assert requests(cast.edgar)[1:] == [{"reviewId": review["id"], "reviewers": [], "fields": ["reviewers"]}]


def test_a_change_without_effect_leaves_no_entry(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind, reviewers=["paula"])
    for body in ({}, {"reviewers": ["paula"]}, {"versionId": review["versionId"]}):
        assert cast.edgar.patch(path(review), body).body == review
    assert say(cast.paula, review, "withdraw").body == review
    closed = cast.edgar.patch(path(review), {"state": "closed"})
    assert cast.edgar.patch(path(review), {"state": "closed"}).body == closed.body
    types = [one["type"] for one in cast.edgar.get("/events", type="review.*").body["events"]]
    assert types == ["review.requested", "review.closed"]
    for body in ({"reviewers": []}, {"versionId": review["versionId"], "state": "closed"}):
        assert cast.edgar.patch(path(review), body).code == "review_closed"


def test_the_refusal_of_an_invalid_review_names_the_field(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    about = {"resource": reference(kind)}
    for body, wrong in (
        ({}, ["resource"]),
        ({"resource": {"kind": "workflow", "id": "writer"}}, ["resource.kind"]),
        ({"resource": {"kind": "agent"}}, ["resource.id"]),
        ({"resource": {"kind": "agent", "id": "a//b"}}, ["resource.id"]),
        ({**about, "state": "open"}, ["state"]),
        ({**about, "message": "x" * 10_001}, ["message"]),
        ({**about, "reviewers": "paula"}, ["reviewers"]),
        ({**about, "versionId": None}, ["versionId"]),
    ):
        answer = cast.edgar.post(REVIEWS, body)
        assert (answer.status, answer.fields) == (400, wrong), body
    assert cast.edgar.post(REVIEWS, {**about, "versionId": "nonsense"}).status == 404
    with pytest.raises(Invalid):
        get_editor().reviews.ask(reference(kind)["kind"], "writer", message="a\0b")
    with pytest.raises(Invalid):
        get_editor().reviews.ask("workflow", "writer")
    review = ask(cast.edgar, kind, message="x" * 10_000)
    for changes, wrong in (({"state": "open"}, ["state"]), ({"message": "x"}, ["message"])):
        assert cast.edgar.patch(path(review), changes).fields == wrong
    for said, wrong in (
        ({}, ["verdict", "versionId"]),
        ({"versionId": review["versionId"], "verdict": "reject"}, ["verdict"]),
        ({"versionId": review["versionId"], "verdict": "approve", "body": "x" * 10_001}, ["body"]),
    ):
        assert cast.paula.post(path(review, "verdicts"), said).fields == wrong
    assert say(cast.paula, review, "approve", body=None).status == 200


def test_a_version_of_another_resource_is_unknown(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    other = kind.make(cast.edgar, "other")["latestVersionId"]
    assert cast.edgar.post(REVIEWS, {"resource": reference(kind), "versionId": other}).status == 404
    review = ask(cast.edgar, kind)
    assert cast.edgar.patch(path(review), {"versionId": other}).status == 404
    assert say(cast.paula, review, "approve", other).code == "review_outdated"


# Its end


def test_a_review_is_published_when_its_configuration_goes_live(cast: Cast, kind: Kind) -> None:
    require_approvals(1)
    first = kind.make(cast.alice, autoPublish=False)["latestVersionId"]
    kind.save(cast.edgar, text="between")
    equal = kind.save(cast.edgar, text="one")["latestVersionId"]
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    assert first != equal == review["versionId"]
    kind.publish(cast.paula, "writer", equal)
    published = read(cast.edgar, review)
    assert (published["state"], published["missing"], counts(published)) == ("published", 0, [True])
    assert say(cast.alice, review, "approve").code == "review_closed"
    assert cast.edgar.patch(path(review), {"state": "closed"}).code == "review_closed"
    assert cast.paula.post(kind.url("writer", "unpublish")).status == 200
    assert read(cast.edgar, review)["state"] == "published"
    kind.save(cast.edgar, text="three")
    assert ask(cast.edgar, kind)["baseVersionId"] is None


def test_a_review_stays_open_while_its_version_runs_on_a_share(cast: Cast, kind: Kind) -> None:
    require_approvals(1)
    live = kind.make(cast.alice, autoPublish=False)["latestVersionId"]
    approve(cast.paula, ask(cast.alice, kind))
    kind.publish(cast.paula, "writer", live)
    draft = kind.save(cast.edgar)["latestVersionId"]
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    rollout = started(cast.paula, kind, arm(draft, weight=500))
    assert read(cast.edgar, review)["state"] == "approved"
    assert cast.paula.post(f"/rollouts/{rollout['id']}/complete", {"arm": "new"}).status == 200
    assert read(cast.edgar, review)["state"] == "published"


def test_a_review_of_another_configuration_stays_open(cast: Cast, kind: Kind) -> None:
    first = kind.make(cast.edgar, autoPublish=False)["latestVersionId"]
    kind.save(cast.edgar)
    review = ask(cast.edgar, kind)
    kind.publish(cast.paula, "writer", first)
    assert read(cast.edgar, review)["state"] == "open"
    assert read(cast.edgar, review)["baseVersionId"] is None
    cast.edgar.patch(path(review), {"state": "closed"})
    assert ask(cast.edgar, kind)["baseVersionId"] == first


def test_the_review_of_a_discarded_draft_is_closed(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    draft = kind.save(cast.edgar)["latestVersionId"]
    review = ask(cast.edgar, kind)
    assert cast.edgar.delete(kind.url("writer", "versions", draft)).status == 200
    closed = read(cast.edgar, review)
    assert (closed["state"], closed["outdated"]) == ("closed", False)
    [event] = cast.edgar.get("/events", type="review.closed").body["events"]
    assert (event["versionId"], event["actor"]["id"]) == (draft, "edgar")
    assert ask(cast.edgar, kind)["versionNumber"] == 1


def test_a_review_whose_version_is_deleted_can_be_moved_to_a_newer_one(cast: Cast, kind: Kind) -> None:
    first = kind.make(cast.edgar)["latestVersionId"]
    review = ask(cast.edgar, kind, reviewers=["paula"])
    second = kind.save(cast.edgar)["latestVersionId"]
    assert cast.paula.delete(kind.url("writer", "versions", first)).status == 200
    assert (read(cast.edgar, review)["state"], read(cast.edgar, review)["outdated"]) == ("open", True)
    assert say(cast.paula, review, "approve").code == "review_outdated"
    assert cast.edgar.patch(path(review), {"reviewers": []}).status == 200
    moved = cast.edgar.patch(path(review), {"versionId": second}).body
    assert approve(cast.paula, moved)["state"] == "approved"


def test_a_review_can_be_moved_after_its_version_was_pruned(cast: Cast, kind: Kind, settings: Any) -> None:
    settings.EDITOR_KEEP_VERSIONS = 1
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind)
    kind.save(cast.edgar)
    assert len(kind.versions(cast.edgar)) == 1
    assert read(cast.edgar, review)["outdated"]
    newest = kind.versions(cast.edgar)[0]["id"]
    assert cast.edgar.patch(path(review), {"versionId": newest}).status == 200


def test_deleting_a_resource_deletes_its_reviews(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind, reviewers=["paula"])
    approve(cast.paula, review)
    assert cast.paula.delete(kind.url("writer")).status == 200
    assert cast.edgar.get(path(review)).status == 404
    kind.make(cast.edgar)
    assert listed(cast.edgar) == []
    again = ask(cast.edgar, kind)
    assert (again["state"], again["verdicts"]) == ("open", [])
    cast.edgar.delete(kind.url("writer"))


def test_verdicts_of_a_deleted_account_remain_and_do_not_count(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    person("lea", acme="publisher")
    review = ask(key_of("lea"), kind, reviewers=["lea"])
    approve(key_of("lea"), review)
    assert counts(read(cast.edgar, review)) == [True]
    User.objects.get(username="lea").delete()
    found = read(cast.edgar, review)
    assert (found["requestedBy"], found["reviewers"], found["state"]) == ("lea", [], "open")
    assert [(one["by"], one["counts"]) for one in found["verdicts"]] == [("lea", False)]


# Agents that code defines


@pytest.fixture
def home(cast: Cast) -> None:
    """Let an editor and a publisher work in the workspace of the code."""
    give_role("edgar", "default", "editor")
    give_role("paula", "default", "publisher")


@pytest.mark.usefixtures("home")
def test_an_override_of_a_code_defined_agent_can_be_reviewed(
    cast: Cast, settings: Any, tmp_path: Any
) -> None:
    define(settings, tmp_path / "overrides", source="database")
    nothing = cast.edgar.post(REVIEWS, {"resource": reference(AGENTS, "answers")})
    assert (nothing.status, nothing.code) == (404, "no_override")
    AGENTS.save(cast.edgar, "answers")
    review = ask(cast.edgar, AGENTS, "answers")
    assert approve(cast.paula, review)["state"] == "approved"
    AGENTS.publish(cast.paula, "answers", review["versionId"])
    assert cast.paula.delete(AGENTS.url("answers")).status == 200
    AGENTS.save(cast.edgar, "answers")
    assert listed(cast.edgar, id="answers") == []


@pytest.mark.usefixtures("home")
def test_an_override_file_retains_its_reviews(cast: Cast, folder: Folder) -> None:
    folder.put({"instructions": "by hand"})
    record = cast.edgar.get(AGENTS.url("answers")).body
    file = ask(cast.edgar, AGENTS, "answers")
    assert (file["versionId"], file["outdated"]) == (record["activeVersionId"], False)
    assert approve(cast.paula, file)["state"] == "approved"
    draft = AGENTS.save(cast.edgar, "answers")["latestVersionId"]
    assert read(cast.edgar, file)["outdated"]
    moved = cast.edgar.patch(path(file), {"versionId": draft}).body
    assert (moved["versionId"], moved["state"], moved["outdated"]) == (draft, "open", False)
    assert approve(cast.paula, moved)["state"] == "approved"
    assert listed(cast.edgar, state="approved", kind="agent", id="answers") == [file["id"]]
    AGENTS.publish(cast.paula, "answers", draft)
    assert folder.config() == {"instructions": "two"}
    assert Review.objects.count() == 1
    assert cast.paula.delete(AGENTS.url("answers")).status == 200
    assert Review.objects.count() == 0


@pytest.mark.usefixtures("home")
def test_a_file_that_changes_under_a_review_outdates_it(cast: Cast, folder: Folder) -> None:
    folder.put({"instructions": "by hand"})
    review = ask(cast.edgar, AGENTS, "answers")
    folder.put({"instructions": "by another hand"})
    assert read(cast.edgar, review)["outdated"]
    assert say(cast.paula, review, "approve").code == "review_outdated"
    folder.path().unlink()
    assert read(cast.edgar, review)["state"] == "open"
    AGENTS.save(cast.edgar, "answers")
    assert cast.edgar.patch(path(review), {"state": "closed"}).body["state"] == "closed"


def test_current_roles_count(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    review = ask(cast.edgar, kind)
    give_role("edgar", "acme", "viewer")
    assert cast.edgar.get(path(review)).status == 404
    give_role("edgar", "acme", "publisher")
    assert say(cast.edgar, review, "approve").code == "own_change"
    edgar = User.objects.get(username="edgar").pk
    assert get_editor().reviews.find(review["id"]).outcome.authors == {edgar}
