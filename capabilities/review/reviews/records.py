"""Reviews as callers get them: with their state, what is missing, and which verdicts count.

All of that is computed, because roles, policies and versions change. The number of statements is the same for
any number of reviews.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q

from capabilities.review.models import Review, Verdict
from capabilities.review.policy.judged_versions import JudgedVersion, judged_version
from capabilities.review.policy.outcomes import outcomes_of
from capabilities.review.policy.rules import Ignored, Outcome
from versioning.domain.agents import Notice
from versioning.domain.events import Reach, Target
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.overrides import IN_CODE
from versioning.models import Membership, VersionedResource
from versioning.models.accounts import username_lookup
from versioning.models.versioned import MODELS_BY_SLUG
from versioning.verbs import Verbs

_Key = tuple[str, str, Any]


class ReviewState(StrEnum):
    """The state of a review."""

    OPEN = "open"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changesRequested"
    PUBLISHED = "published"
    CLOSED = "closed"


@dataclass(frozen=True, kw_only=True)
class VerdictRecord:
    """A person's verdict on a version."""

    by: str
    verdict: str
    body: str
    version_id: str
    created_at: datetime.datetime
    counts: bool
    """Whether it counts for the configuration currently under review."""
    account_id: Any
    """The key of the account; None if it is gone."""
    ignored: Ignored | None
    """Why it does not count, if it is the person's latest on that configuration."""


@dataclass(frozen=True, kw_only=True)
class ReviewRecord:
    """A review in its state when it was read."""

    id: str
    workspace_id: str
    resource_kind: str
    resource_id: str
    version_id: str
    version_number: int
    base_version_id: str | None
    """The version that was live when the review was requested."""
    state: ReviewState
    requested_by: str | None
    """The user name; None for the application."""
    message: str
    reviewers: Sequence[str]
    """The names of the requested reviewers who are members."""
    verdicts: Sequence[VerdictRecord]
    """The verdicts of this review; while it is open, also earlier ones on the configuration under review."""
    missing: int
    """The number of missing approvals."""
    outdated: bool
    """Whether there is a newer version than the one under review."""
    created_at: datetime.datetime
    outcome: Outcome
    """The policy's decision on the version."""
    warnings: Sequence[Notice] | None = None
    """What a reader of the version does not see; None where reviews are listed."""


def record_of(reviews: Verbs, review: Review) -> ReviewRecord:
    """Return the record of a review."""
    [found] = records_of(reviews, [review])
    return found


def records_of(reviews: Verbs, rows: Sequence[Review]) -> list[ReviewRecord]:
    """Return the records of reviews, in their order."""
    resources = _resources(reviews, rows)
    outcomes = _outcomes(rows, resources)
    verdicts, reviewers = _verdicts(rows), _reviewers(rows)
    return [
        ReviewRecord(
            id=str(row.pk),
            workspace_id=row.workspace_id,
            resource_kind=row.kind,
            resource_id=row.resource_id,
            version_id=row.version_id,
            version_number=row.version_number,
            base_version_id=row.base_version_id or None,
            state=_state(row, outcome),
            requested_by=row.author_name or None,
            message=row.message,
            reviewers=reviewers.get(row.pk, ()),
            verdicts=[_record_of_verdict(one, outcome) for one in verdicts.get(row.pk, ())],
            missing=outcome.missing,
            outdated=_is_outdated(row, resources.get(_about(row))),
            created_at=row.created_at,
            outcome=outcome,
        )
        for row, outcome in zip(rows, outcomes, strict=True)
    ]


class Standing(NamedTuple):
    """The state of a review, and whether there is a version that it is not about yet."""

    state: ReviewState
    outdated: bool


def standings_of(reviews: Verbs, rows: Sequence[Review]) -> list[Standing]:
    """Return the standings of reviews, in their order."""
    resources = _resources(reviews, rows)
    return [
        Standing(_state(row, outcome), _is_outdated(row, resources.get(_about(row))))
        for row, outcome in zip(rows, _outcomes(rows, resources), strict=True)
    ]


def states_of(reviews: Verbs, rows: Sequence[Review]) -> list[ReviewState]:
    """Return the states of reviews, in their order."""
    return [standing.state for standing in standings_of(reviews, rows)]


def _state(review: Review, outcome: Outcome) -> ReviewState:
    """Return the state of a review.

    If no approval is required, a single one makes it approved: people may request a review anyway.
    """
    if review.closed_at is not None:
        return ReviewState.CLOSED
    if review.published_at is not None:
        return ReviewState.PUBLISHED
    if outcome.changes_requested_by:
        return ReviewState.CHANGES_REQUESTED
    is_approved = outcome.approved_by and not outcome.missing
    return ReviewState.APPROVED if is_approved else ReviewState.OPEN


def _record_of_verdict(verdict: Verdict, outcome: Outcome) -> VerdictRecord:
    return VerdictRecord(
        by=verdict.author_name,
        verdict=verdict.verdict,
        body=verdict.body,
        version_id=verdict.version_id,
        created_at=verdict.created_at,
        counts=verdict.pk in outcome.counting,
        account_id=verdict.author_id,
        ignored=outcome.ignored.get(verdict.pk),
    )


def _is_outdated(review: Review, resource: VersionedResource | None) -> bool:
    """Return whether there is a newer version; commits are numbered separately."""
    if resource is None or resource.latest_id == review.version_id:
        return False
    latest = resource.latest
    return latest.read_only or review.is_in_git or latest.number > review.version_number


# From the database


def _outcomes(rows: Sequence[Review], resources: Mapping[_Key, VersionedResource]) -> list[Outcome]:
    return outcomes_of([_question(row, resources.get(_about(row))) for row in rows])


class _Reviewed(NamedTuple):
    """A review's own data about its version, which may have been deleted."""

    version_id: str
    number: int
    digest: str
    read_only: bool


def _question(review: Review, resource: VersionedResource | None) -> JudgedVersion:
    """Return the version to judge by the policy.

    There may be no resource: a file removed by hand, or an agent that code no longer defines.
    """
    target = Target(
        kind=review.kind,
        id=review.resource_id,
        identity=review.identity,
        workspace_id=review.workspace_id,
        reach=Reach.EDITORS,
    )
    version: Any = _Reviewed(review.version_id, review.version_number, review.digest, review.is_in_git)
    return judged_version(resource or MODELS_BY_SLUG[review.kind](), version, target)


def _resources(reviews: Verbs, rows: Sequence[Review]) -> Mapping[_Key, VersionedResource]:
    """Return the resources with their two versions, without the configurations."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        ids[row.kind].add(row.resource_id)
    found: dict[_Key, VersionedResource] = {}
    for kind, wanted in ids.items():
        collection = reviews.editor.collection(KINDS_BY_SLUG[kind])
        pointers = ("active_version", "latest_version")
        heavy = [f"{pointer}__{column}" for pointer in pointers for column in ("config_json", "search_text")]
        stored = list(collection.all.filter(pk__in=wanted).select_related(*pointers).defer(*heavy))
        in_code = any(row.kind == kind and row.identity == IN_CODE for row in rows)
        for resource in (*stored, *(collection.unstored() if in_code else ())):
            is_override = collection.ownership.overridden_by(resource) is not None
            found[kind, resource.pk, IN_CODE if is_override else resource.uuid] = resource
    return found


def _verdicts(rows: Sequence[Review]) -> Mapping[Any, list[Verdict]]:
    """Return the verdicts to show with each review, oldest first."""
    going = [row for row in rows if row.ended_at is None]
    on_configurations = Q(
        identity__in={row.identity for row in going},
        resource_id__in={row.resource_id for row in going},
        digest__in={row.digest for row in going},
    )
    by_configuration = {(*_about(row), row.digest): row.pk for row in going}
    found: defaultdict[Any, list[Verdict]] = defaultdict(list)
    known = {row.pk for row in rows}
    for verdict in Verdict.objects.filter(Q(review__in=known) | on_configurations).order_by("pk"):
        shown_in = {verdict.review_id, by_configuration.get((*_about(verdict), verdict.digest))}
        for review_id in shown_in & known:
            found[review_id].append(verdict)
    return found


def _reviewers(rows: Sequence[Review]) -> Mapping[Any, list[str]]:
    """Return the names of the requested reviewers who are still members, by review."""
    asked: Any = Review.reviewers.through
    members = Membership.objects.filter(user=OuterRef("user"), workspace=OuterRef("review__workspace"))
    names = asked.objects.filter(Exists(members), review__in=[row.pk for row in rows])
    found: defaultdict[Any, list[str]] = defaultdict(list)
    for review_id, name in names.order_by(username_lookup("user")).values_list(
        "review_id", username_lookup("user")
    ):
        found[review_id].append(name)
    return found


def _about(row: Review | Verdict) -> _Key:
    return row.kind, row.resource_id, row.identity
