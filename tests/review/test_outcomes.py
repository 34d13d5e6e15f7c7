"""The rule, and its facts from the database: who saved, who approves, who may publish now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User

from capabilities.review.models import PublishedConfiguration, Review, Verdict
from capabilities.review.outcomes import (
    ApprovalStatus,
    judge_version,
    judge_versions,
    judged_version,
    under_review,
)
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.override_files import define
from tests.support.people import give_role, person
from tests.support.studio import KINDS
from versioning.conf import get_editor
from versioning.serving.grants import target_of


def resource_of(kind: Kind, resource_id: str = "writer") -> Any:
    """Return a stored resource."""
    return get_editor().collection(KINDS[kind]).find(resource_id)


def asked(kind: Kind, number: int | None = None) -> Any:
    """Return the request to publish a version of `writer`; the latest by default."""
    resource = resource_of(kind)
    version = resource.versions.get(number=number) if number else resource.latest
    return judged_version(resource, version, target_of(resource, get_editor().code))


def say(kind: Kind, who: str, verdict: str = "approve", number: int | None = None) -> None:
    """Store a person's verdict on a version, in the open review."""
    one = asked(kind, number)
    about = {"kind": one.target.kind, "resource_id": one.target.id, "identity": one.target.identity}
    of = {"version_id": one.version_id, "version_number": one.number, "digest": one.digest}
    review = Review.objects.open().filter(**about).first() or Review.objects.create(
        **about, **of, workspace_id=one.target.workspace_id
    )
    author = User.objects.get(username=who)
    Verdict.objects.create(**about, **of, review=review, author=author, author_name=who, verdict=verdict)


def require(number: int = 1, bypass: str = "admin") -> None:
    """Require so many approvals in acme."""
    get_editor().review_policy.set("acme", required=number, bypass=bypass)


def outcome(kind: Kind, number: int | None = None) -> ApprovalStatus:
    """Return the outcome for a version; the latest by default."""
    return judge_version(asked(kind, number))


def authors(kind: Kind, number: int | None = None) -> set[str]:
    """Return the authors of a version, whose verdicts do not count."""
    accounts = User.objects.filter(pk__in=outcome(kind, number).authors)
    return set(accounts.values_list("username", flat=True))


@pytest.mark.parametrize(
    ("number", "live", "span"),
    [(3, (), (0, 3)), (5, (1, 3), (4, 5)), (2, (3,), (0, 2)), (3, (1, 4), (2, 3)), (3, (3, 1), (2, 3))],
)
def test_the_versions_under_review(number: int, live: Sequence[int], span: tuple[int, int]) -> None:
    assert under_review(number, live) == span


def test_an_approval_counts_and_a_later_verdict_replaces_it(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    assert outcome(kind).is_allowed
    require(2)
    assert (outcome(kind).missing, authors(kind)) == (2, {"edgar"})
    say(kind, "paula")
    say(kind, "alice")
    assert (outcome(kind).missing, outcome(kind).approved_by) == (0, ("paula", "alice"))
    assert outcome(kind).is_allowed
    say(kind, "paula", "requestChanges")
    assert (outcome(kind).changes_requested_by, outcome(kind).is_allowed) == (("paula",), False)
    require(1)
    assert (outcome(kind).missing, outcome(kind).is_allowed) == (0, False)
    require(2)
    say(kind, "paula", "withdraw")
    say(kind, "alice", "requestChanges")
    say(kind, "alice")
    found = outcome(kind)
    assert (found.missing, found.approved_by, found.changes_requested_by) == (1, ("alice",), ())
    assert found.counting == {Verdict.objects.filter(author__username="alice").last().pk}


def test_verdicts_without_the_right_to_publish_or_by_authors_do_not_count(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    require()
    for who in ("edgar", "vera", "charlie"):
        say(kind, who)
    assert outcome(kind).missing == 1
    say(kind, "root")
    assert outcome(kind).approved_by == ("root",)
    User.objects.filter(username="root").update(is_active=False)
    assert outcome(kind).missing == 1
    say(kind, "paula", "requestChanges")
    assert not outcome(kind).is_allowed
    give_role("paula", "acme", "editor")
    assert outcome(kind).changes_requested_by == ()
    User.objects.filter(username="root").delete()
    assert outcome(kind).missing == 1


def test_authors_since_the_live_version_cannot_approve(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    kind.save(cast.paula, text="two")
    kind.save(cast.alice, text="three")
    person("peter", acme="publisher")
    assert (authors(kind), authors(kind, 1)) == ({"alice", "paula"}, {"alice"})
    live = kind.versions(cast.alice)[1]["id"]
    kind.publish(cast.alice, "writer", live)
    assert (authors(kind), authors(kind, 1)) == ({"alice"}, {"alice"})


def test_the_author_of_a_deleted_draft_remains_an_author(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    draft = kind.save(cast.paula, text="two")["latestVersionId"]
    kind.save(cast.edgar, text="two and a half")
    assert cast.alice.delete(kind.url("writer", "versions", draft)).status == 200
    assert authors(kind) == {"edgar", "paula"}


def test_a_resource_with_a_reused_id_has_no_review_history(cast: Cast, kind: Kind) -> None:
    kind.make(cast.paula)
    say(kind, "alice")
    assert cast.alice.delete(kind.url("writer")).status == 200
    kind.make(cast.edgar)
    require()
    assert (authors(kind), outcome(kind).missing) == ({"edgar"}, 1)


def test_a_recreated_override_needs_approvals_except_for_configurations_once_live(
    cast: Cast, settings: Any, tmp_path: Any
) -> None:
    settings.EDITOR_CODE_WORKSPACE = "acme"
    define(settings, tmp_path, source="database")

    def save_and_publish(text: str) -> int:
        version = AGENTS.save(cast.paula, "answers", text)["latestVersionId"]
        return cast.paula.post(AGENTS.url("answers", "versions", version, "activate")).status

    for text in ("one", "two", "one"):
        assert save_and_publish(text) == 200
    assert cast.paula.delete(AGENTS.url("answers")).status == 200
    require(bypass="nobody")
    assert save_and_publish("three") == 403
    assert save_and_publish("one") == 200  # it was live before


def test_a_configuration_that_was_live_before_needs_no_approval(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    require()
    one = asked(kind)
    about = {"kind": one.target.kind, "resource_id": one.target.id, "identity": one.target.identity}
    PublishedConfiguration.objects.create(**about, digest=one.digest)
    assert outcome(kind).is_allowed
    kind.save(cast.edgar, text="two")
    assert not outcome(kind).is_allowed


def test_many_outcomes_take_as_many_statements_as_one(
    cast: Cast, kind: Kind, django_assert_num_queries: Any
) -> None:
    require()
    kind.make(cast.edgar)
    say(kind, "paula")
    for number in range(5):
        kind.make(cast.edgar, f"other-{number}")
    code = get_editor().code
    rows = [resource_of(kind, one) for one in ("writer", *(f"other-{number}" for number in range(5)))]
    versions = [judged_version(row, row.latest, target_of(row, code)) for row in rows]
    for several in (versions[:1], versions):
        with django_assert_num_queries(8 if kind is AGENTS else 7):  # only agents name other resources
            assert [one.missing for one in judge_versions(several)] == [0, 1, 1, 1, 1, 1][: len(several)]
