"""Whose verdict counts: authors, roles and configurations, over HTTP."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.calls import undone
from tests.support.doors import verbs
from tests.support.people import command, give_role, key_of, person
from tests.support.reviews import approve, ask, path, read, require_approvals, say
from versioning.models import ApiKey, Event, Membership


@pytest.fixture(autouse=True)
def required(cast: Cast) -> None:
    require_approvals(1)


def key_for(name: str) -> Api:
    """Return the API with a key of the person."""
    return Api(ApiKey.objects.issue(User.objects.get(username=name))[1])


def latest(cast: Cast, kind: Kind) -> str:
    return str(kind.versions(cast.alice)[0]["id"])


def publish(api: Api, kind: Kind, version_id: str) -> Answer:
    return api.post(kind.url("writer", "versions", version_id, "activate"))


def missing(cast: Cast, kind: Kind) -> int:
    """Return how many approvals the newest version lacks; 0 if this attempt published it."""
    answer = publish(cast.alice, kind, latest(cast, kind))
    return 0 if answer.status == 200 else int(answer.body["review"]["missing"])


def test_an_author_of_any_version_under_review_cannot_approve(cast: Cast, kind: Kind) -> None:
    person("peter", acme="publisher")
    kind.make(cast.paula, text="one")
    kind.save(key_for("peter"), text="two")
    kind.save(cast.paula, text="three")
    review = ask(cast.edgar, kind)
    for author in (cast.paula, key_for("peter"), key_of("paula", workspace="acme")):
        answer = say(author, review, "approve")
        assert (answer.status, answer.code) == (403, "own_change")
    assert missing(cast, kind) == 1
    approve(cast.alice, review)
    assert publish(cast.paula, kind, latest(cast, kind)).status == 200  # the author may publish, then


def test_an_approval_by_a_later_author_no_longer_counts(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    approve(cast.paula, ask(cast.edgar, kind))
    kind.save(cast.paula, text="two")
    kind.save(cast.edgar, text="one")
    # Version 3 equals the approved one, but version 2 is paula's and under review with it.
    assert missing(cast, kind) == 1
    assert publish(cast.alice, kind, kind.versions(cast.alice)[2]["id"]).status == 200


def test_an_approval_is_of_a_configuration(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="five")
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    kind.save(cast.edgar, text="six")
    assert missing(cast, kind) == 1
    assert read(cast.edgar, review)["state"] == "approved"
    kind.save(cast.edgar, text="five", metadata={"team": "one"})
    moved = cast.edgar.patch(path(review), {"versionId": latest(cast, kind)})
    assert (moved.status, moved.body["state"], moved.body["missing"]) == (200, "approved", 0)
    assert missing(cast, kind) == 0


def test_a_version_that_was_live_needs_no_approval(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    approve(cast.paula, ask(cast.edgar, kind))
    first = latest(cast, kind)
    assert publish(cast.alice, kind, first).status == 200
    kind.save(cast.edgar, text="two")
    second = latest(cast, kind)
    approve(cast.paula, ask(cast.edgar, kind))
    assert publish(cast.alice, kind, second).status == 200
    assert publish(cast.alice, kind, first).status == 200  # a rollback
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    assert publish(cast.alice, kind, second).status == 200
    kind.save(cast.edgar, text="one")  # a copy of the formerly live version is the same configuration
    assert publish(cast.alice, kind, latest(cast, kind)).status == 200


def test_a_released_label_does_not_exempt_a_version_from_approvals(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    body = {"versionId": latest(cast, kind), "released": True}
    assert cast.alice.put(kind.url("writer", "labels", "beta"), body).status == 200
    assert say(cast.paula, review, "withdraw").status == 200
    assert missing(cast, kind) == 1


def test_a_request_for_changes_blocks_publishing(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    say(cast.alice, review, "requestChanges", body="Too short.")
    answer = publish(cast.paula, kind, latest(cast, kind))
    assert answer.body["review"] == {"id": review["id"], "missing": 0, "changesRequestedBy": ["alice"]}
    assert answer.body["error"] == "Changes are requested by alice."
    kind.save(cast.edgar, text="longer")
    assert missing(cast, kind) == 1  # it was about that configuration
    say(cast.alice, review, "withdraw")
    assert publish(cast.paula, kind, kind.versions(cast.alice)[1]["id"]).status == 200


def test_approvals_by_people_who_lost_the_right_to_publish_do_not_count(cast: Cast, kind: Kind) -> None:
    for lose in [
        lambda: give_role("paula", "acme", "editor"),
        lambda: Membership.objects.get(user__username="paula").delete(),
        lambda: User.objects.filter(username="paula").update(is_active=False),
        lambda: User.objects.get(username="paula").delete(),
    ]:
        with undone():
            kind.make(cast.edgar, text="one")
            review = ask(cast.edgar, kind)
            approve(cast.paula, review)
            lose()
            assert missing(cast, kind) == 1
            assert read(cast.edgar, review)["state"] == "open"


def test_superusers_count_everywhere_and_are_authors_too(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    approve(cast.root, ask(cast.edgar, kind))
    assert missing(cast, kind) == 0
    kind.save(cast.root, text="two")
    review = ask(cast.edgar, kind)
    assert say(cast.root, review, "approve").code == "own_change"
    assert publish(cast.root, kind, latest(cast, kind)).code == "review_required"


def test_a_verdict_by_a_key_is_its_owners_within_the_limits_of_the_key(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, text="one")
    review = ask(cast.edgar, kind)
    assert say(key_of("paula", workspace="acme", role="editor"), review, "approve").status == 403
    approve(key_of("paula", workspace="acme", role="publisher"), review)
    approve(cast.paula, review)
    require_approvals(2)
    assert missing(cast, kind) == 1  # both were paula


def test_a_changed_policy_applies_immediately(cast: Cast, kind: Kind) -> None:
    person("peter", acme="publisher")
    kind.make(cast.edgar, text="one")
    review = ask(cast.edgar, kind)
    approve(cast.paula, review)
    require_approvals(3)
    assert (read(cast.edgar, review)["state"], read(cast.edgar, review)["missing"]) == ("open", 2)
    approve(key_for("peter"), review)
    assert missing(cast, kind) == 1
    require_approvals(2)
    assert read(cast.edgar, review)["state"] == "approved"
    assert missing(cast, kind) == 0


# The author of a draft that was overtaken


def no_trick(cast: Cast, kind: Kind) -> None:
    """Do nothing."""


def rename(cast: Cast, kind: Kind) -> None:
    """Rename the account of the author."""
    User.objects.filter(username="paula").update(username="paula.2")


def delete_the_draft(cast: Cast, kind: Kind) -> None:
    """Delete the version that the author saved."""
    draft = next(one["id"] for one in kind.versions(cast.alice) if one["versionNumber"] == 2)
    assert cast.alice.delete(kind.url("writer", "versions", draft)).status == 200


def forget_everything(cast: Cast, kind: Kind) -> None:
    """Prune the log and the versions, after the account has another name."""
    rename(cast, kind)
    verbs(kind).label("writer", "kept", kind.versions(cast.alice)[1]["id"])
    command("prune_versions", "--keep", "1")
    Event.objects.all()._raw_delete("default")  # as prune_events does, in time


def test_an_author_cannot_approve_even_after_publishing_a_rollback(cast: Cast, kind: Kind) -> None:
    for trick in [no_trick, rename, delete_the_draft, forget_everything]:
        with undone():
            require_approvals(0)
            kind.make(cast.alice, text="one", autoPublish=True)
            first = latest(cast, kind)
            require_approvals(1)
            kind.save(cast.paula, text="two")
            kind.save(cast.edgar, text="three")
            third = latest(cast, kind)
            restored = cast.paula.post(kind.url("writer", "versions", first, "restore"))
            assert publish(cast.paula, kind, restored.body["id"]).status == 200
            trick(cast, kind)
            review = ask(cast.edgar, kind, versionId=third)
            assert say(cast.paula, review, "approve").code == "own_change"
            assert publish(cast.paula, kind, third).code == "review_required"
            approve(cast.alice, review)
            assert publish(cast.paula, kind, third).status == 200
            # The author of a version from before a live one may judge later versions.
            kind.save(cast.edgar, text="four")
            approve(cast.paula, ask(cast.edgar, kind))
            assert publish(cast.paula, kind, latest(cast, kind)).status == 200


def test_whoever_issued_the_key_of_a_robot_does_not_judge_what_it_saves(cast: Cast, kind: Kind) -> None:
    """Whoever saw the secret may be the one who saved the version."""
    kind.make(cast.paula, autoPublish=False)
    account = {"username": "robot", "workspaceId": "acme", "role": "editor"}
    assert cast.alice.post("/service-accounts", account).status == 201
    key = cast.alice.post("/keys", {"name": "k", "owner": "robot", "workspaceId": "acme"}).body
    kind.save(Api(key["key"]))
    review = ask(cast.edgar, kind)
    assert say(cast.alice, review, "approve").code == "own_change"
    assert cast.alice.delete(f"/keys/{key['prefix']}").status == 200
    assert say(cast.alice, review, "approve").code == "own_change"
    assert cast.alice.delete("/service-accounts/robot").status == 200
    assert say(cast.alice, review, "approve").code == "own_change"
    person("peter", acme="admin")
    approve(key_for("peter"), review)
    assert publish(cast.alice, kind, latest(cast, kind)).status == 200
