"""Requesting reviews of a version, and verdicts on it: `editor.reviews`.

Members who can read the drafts of a resource may read its reviews. Members who can save may request a review,
move it, name the reviewers and close it; a verdict requires the right to publish. Every function takes the
caller as `by`, and raises `NotFound` if the caller may not read the resource, and `Forbidden` without the
right.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, TextChoices
from django.utils.translation import pgettext_lazy

from capabilities.review.models import Review, ReviewQuerySet, Verdict, VerdictValue, columns_about
from capabilities.review.outcomes import (
    ApprovalStatus,
    Ignored,
    JudgedVersion,
    are_the_same,
    judge_version,
    judge_versions,
    judged_version,
    named_by,
    written,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.agents import Notice
from versioning.domain.errors import Conflict, Forbidden, Invalid, Issue, Message, NotFound
from versioning.domain.events import Reach, Target, VersionName
from versioning.domain.kinds import KINDS_BY_SLUG, ResourceKind, kind_named
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter
from versioning.editor.locking import changing, retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, VersionedResource, events
from versioning.models.accounts import normalize_username, username_lookup
from versioning.models.followers import RESOURCES, Follower
from versioning.models.querysets import covered_by, within
from versioning.models.rules import validate
from versioning.models.versioned import MODELS_BY_SLUG
from versioning.serving.grants import Named, target_of
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A review with its resource, both locked until the end of the transaction."""

    review: Review
    resource: VersionedResource
    target: Target


def readable(reviews: Verbs, review_id: str, by: Caller) -> Review:
    """Return a review.

    Raises `NotFound` if there is none or the caller may not read its resource, and `Forbidden` if the caller
    may read the resource but not its drafts.
    """
    review = Review.objects.filter(pk=parse_uuid(review_id)).first()
    if review is None or not by.covers(review.resource_id):
        raise NotFound
    if not by.may(Right.READ_DRAFTS, review.workspace_id):
        collection = reviews.editor.collection(KINDS_BY_SLUG[review.kind])
        collection.versions(review.resource_id, by=by)  # raises in either case
        raise NotFound
    return review


@contextmanager
def changing_review(reviews: Verbs, review_id: str, right: Right, by: Caller) -> Iterator[Subject]:
    """Lock the resource of a review, so that the review cannot change while a version is published.

    Raises what `readable` does, and `Forbidden` without the right.
    """
    unlocked = readable(reviews, review_id, by)
    by.require(right, unlocked.workspace_id)
    collection = reviews.editor.collection(KINDS_BY_SLUG[unlocked.kind])
    with changing(collection, unlocked.resource_id, right, by, include_deleted=True) as change:
        target = target_of(change.resource, reviews.editor.code)
        review = Review.objects.about(target).filter(pk=unlocked.pk).first()
        if review is None:
            raise NotFound
        yield Subject(review=review, resource=change.resource, target=target)


def refuse_ended(review: Review) -> None:
    """Raise `Conflict` for a review that is closed or published."""
    if review.closed_at is not None:
        raise Conflict("This review is closed; ask for a new one.", code="review_closed")
    if review.published_at is not None:
        raise Conflict("The version under review is published; ask for a new review.", code="review_closed")


def version_under_review(subject: Subject) -> Snapshot | None:
    """Return the version under review; None if it was deleted."""
    try:
        return find_version(subject.resource, subject.review.version_id)
    except NotFound:
        return None


MAX_REVIEWERS: Final = 50


def members_named(workspace_id: str, names: Sequence[str]) -> list[Any]:
    """Return the accounts of members, without duplicates; raises `Invalid` with every other name."""
    if len(names) > MAX_REVIEWERS:
        raise Invalid.field(
            "reviewers", Message("must not have more than {limit} items", limit=MAX_REVIEWERS)
        )
    normalized_names = {name: normalize_username(name) for name in names}
    usernames = {name for name in normalized_names.values() if name is not None}
    members = Membership.objects.filter(
        workspace=workspace_id, **{f"{username_lookup('user')}__in": usernames}
    )
    members_by_name = {member.user.get_username(): member for member in members.select_related("user")}
    issues = []
    for number, name in enumerate(names):
        member = members_by_name.get(normalized_names[name] or "")
        if member is None:
            message = Message("{name!r} is not a member of this workspace", name=name)
            issues.append(Issue(f"reviewers.{number}", message))
        elif member.is_service:
            message = Message("{name!r} is a service account, not a person", name=name)
            issues.append(Issue(f"reviewers.{number}", message))
    if issues:
        raise Invalid(issues)
    return [member.user for member in members_by_name.values()]


def _remove_with_override(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Remove the reviews of an override, whose row can be deleted while the override stays in its file."""
    if resource.identity == IN_CODE:
        Review.objects.about(resource).delete()


def _close_without_version(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Close the open review of a deleted version, unless it can be moved to a newer one.

    It always can be moved when old versions are pruned.
    """
    if version is None or detail.get("pruned"):
        return
    review = Review.objects.open().about(resource).filter(version_id=version.version_id).first()
    if review is None:
        return
    versions = MODELS_BY_SLUG[resource.kind].version_model.objects.filter(resource_id=resource.id)
    if versions.filter(number__gt=review.version_number).exists():
        return
    review.close(resource, version, by)


FOLLOWERS: Final = (
    Follower(
        call=lambda instance, **_signal: Review.objects.filter(identity=instance.uuid).delete(),
        rows=RESOURCES,
    ),
    Follower(call=_remove_with_override, events=["deleted"]),
    Follower(call=_close_without_version, events=["versionDeleted"]),
)


_Key = tuple[str, str, Any]


class ReviewState(TextChoices):
    """The state of a review."""

    OPEN = "open", pgettext_lazy("a review", "In review")
    APPROVED = "approved", pgettext_lazy("a review", "Approved")
    CHANGES_REQUESTED = "changesRequested", pgettext_lazy("a review", "Changes requested")
    PUBLISHED = "published", pgettext_lazy("a review", "Published")
    CLOSED = "closed", pgettext_lazy("a review", "Closed")


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
    """The key of the account; None if it was deleted."""
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
    outcome: ApprovalStatus
    """The policy's decision on the version."""
    warnings: Sequence[Notice] | None = None
    """Warnings about invisible characters in the version; None in lists."""


def read_record(reviews: Verbs, review: Review) -> ReviewRecord:
    """Return the record of a review."""
    [record] = records_of(reviews, [review])
    return record


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
            verdicts=[
                VerdictRecord(
                    by=verdict.author_name,
                    verdict=verdict.verdict,
                    body=verdict.body,
                    version_id=verdict.version_id,
                    created_at=verdict.created_at,
                    counts=verdict.pk in outcome.counting,
                    account_id=verdict.author_id,
                    ignored=outcome.ignored.get(verdict.pk),
                )
                for verdict in verdicts.get(row.pk, ())
            ],
            missing=outcome.missing,
            outdated=_is_outdated(row, resources.get(_about(row))),
            created_at=row.created_at,
            outcome=outcome,
        )
        for row, outcome in zip(rows, outcomes, strict=True)
    ]


class Standing(NamedTuple):
    """The state of a review, and whether a newer version exists."""

    state: ReviewState
    outdated: bool


def read_standings(reviews: Verbs, rows: Sequence[Review]) -> list[Standing]:
    """Return the standings of reviews, in their order."""
    resources = _resources(reviews, rows)
    return [
        Standing(_state(row, outcome), _is_outdated(row, resources.get(_about(row))))
        for row, outcome in zip(rows, _outcomes(rows, resources), strict=True)
    ]


def read_states(reviews: Verbs, rows: Sequence[Review]) -> list[ReviewState]:
    """Return the states of reviews, in their order."""
    return [standing.state for standing in read_standings(reviews, rows)]


def _state(review: Review, outcome: ApprovalStatus) -> ReviewState:
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


def _is_outdated(review: Review, resource: VersionedResource | None) -> bool:
    """Return whether there is a newer version; commits are numbered separately."""
    if resource is None or resource.latest_id == review.version_id:
        return False
    latest = resource.latest
    return latest.read_only or review.is_in_git or latest.number > review.version_number


def _outcomes(rows: Sequence[Review], resources: Mapping[_Key, VersionedResource]) -> list[ApprovalStatus]:
    return judge_versions([_version_to_judge(row, resources.get(_about(row))) for row in rows])


def _version_to_judge(review: Review, resource: VersionedResource | None) -> JudgedVersion:
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
    # The review's own data, because the version may have been deleted.
    version: Any = SimpleNamespace(
        version_id=review.version_id,
        number=review.version_number,
        digest=review.digest,
        read_only=review.is_in_git,
    )
    return judged_version(resource or MODELS_BY_SLUG[review.kind](), version, target)


def _resources(reviews: Verbs, rows: Sequence[Review]) -> Mapping[_Key, VersionedResource]:
    """Return the resources with their two versions, without the configurations."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        ids[row.kind].add(row.resource_id)
    resources: dict[_Key, VersionedResource] = {}
    for kind, resource_ids in ids.items():
        collection = reviews.editor.collection(KINDS_BY_SLUG[kind])
        pointers = ("active_version", "latest_version")
        heavy = [f"{pointer}__{column}" for pointer in pointers for column in ("config_json", "search_text")]
        stored_rows = list(collection.all.filter(pk__in=resource_ids).select_related(*pointers).defer(*heavy))
        in_code = any(row.kind == kind and row.identity == IN_CODE for row in rows)
        for resource in (*stored_rows, *(collection.list_unstored() if in_code else ())):
            is_override = collection.ownership.overridden_by(resource) is not None
            resources[kind, resource.pk, IN_CODE if is_override else resource.uuid] = resource
    return resources


def _verdicts(rows: Sequence[Review]) -> Mapping[Any, list[Verdict]]:
    """Return the verdicts to show with each review, oldest first."""
    open_reviews = [row for row in rows if row.ended_at is None]
    on_configurations = Q(
        identity__in={row.identity for row in open_reviews},
        resource_id__in={row.resource_id for row in open_reviews},
        digest__in={row.digest for row in open_reviews},
    )
    by_configuration = {(*_about(row), row.digest): row.pk for row in open_reviews}
    verdicts: defaultdict[Any, list[Verdict]] = defaultdict(list)
    review_ids = {row.pk for row in rows}
    for verdict in Verdict.objects.filter(Q(review__in=review_ids) | on_configurations).order_by("pk"):
        shown_in = {verdict.review_id, by_configuration.get((*_about(verdict), verdict.digest))}
        for review_id in shown_in & review_ids:
            verdicts[review_id].append(verdict)
    return verdicts


def _reviewers(rows: Sequence[Review]) -> Mapping[Any, list[str]]:
    """Return the names of the requested reviewers who are still members, by review."""
    through: Any = Review.reviewers.through
    members = Membership.objects.filter(user=OuterRef("user"), workspace=OuterRef("review__workspace"))
    names = through.objects.filter(Exists(members), review__in=[row.pk for row in rows])
    reviewers: defaultdict[Any, list[str]] = defaultdict(list)
    for review_id, name in names.order_by(username_lookup("user")).values_list(
        "review_id", username_lookup("user")
    ):
        reviewers[review_id].append(name)
    return reviewers


def _about(row: Review | Verdict) -> _Key:
    return row.kind, row.resource_id, row.identity


class ReviewOpen(Conflict):
    """The resource already has an open review; only one can be open."""

    code = "review_open"

    def __init__(self, review_id: UUID) -> None:
        super().__init__("It already has an open review; move or close that one.")
        self.review_id = review_id

    def details(self) -> dict[str, Any]:
        """Return the open review."""
        return {"reviewId": str(self.review_id)}


@retry_on_conflict
def ask(
    reviews: Verbs,
    kind: str,
    resource_id: str,
    *,
    version_id: str | None = None,
    message: str = "",
    reviewers: Sequence[str] = (),
    by: Who = APPLICATION,
) -> ReviewRecord:
    """Request a review of a version, by default of the latest; `reviewers` are names of members.

    Requires the right to save. Raises `NotFound` for a version that the resource does not have, `Invalid` for
    reviewers who are not members, and `ReviewOpen` if the resource has an open review.
    """
    by = caller_of(by)
    collection = reviews.editor.collection(kind_named(kind))
    if collection.versions(resource_id, by=by).resource is None:
        raise NotFound(
            "This agent is exactly as its code defines it: there is no version to review.",
            code="no_override",
        )
    message = message.strip()
    validate(Review(message=message), ["message"])
    with changing(collection, resource_id, Right.SAVE, by) as change:
        resource = change.resource
        target = target_of(resource, reviews.editor.code)
        version = resource.latest if version_id is None else find_version(resource, version_id)
        there = Review.objects.open().about(target).first()
        if there is not None:
            raise ReviewOpen(there.pk)
        accounts = members_named(resource.workspace_id, reviewers)
        base = resource.active
        review = Review.objects.create(
            **columns_about(target),
            workspace_id=resource.workspace_id,
            **columns_of(version),
            base_version_id=base.version_id if base is not None else "",
            message=message,
            author_id=by.user_id,
            author_name=by.username or "",
        )
        review.reviewers.set(accounts)
        record_request(review, target, version, by, reviewers=names_of(accounts))
        return read_record(reviews, review)


def columns_of(version: Snapshot) -> dict[str, Any]:
    """Return the columns about a version that a review stores, because the version may be deleted."""
    return {"version_id": version.version_id, "version_number": version.number, "digest": version.digest}


def names_of(accounts: Sequence[Any]) -> list[str]:
    """Return the user names of accounts, in order."""
    return sorted(account.get_username() for account in accounts)


def record_request(
    review: Review, target: Target, version: Snapshot | None, by: Caller, **detail: Any
) -> None:
    """Log that a person requests a review, or changes the request; the version may have been deleted."""
    events.record(
        "review.requested",
        by=by,
        workspace_id=review.workspace_id,
        resource=target,
        version=version,
        reviewId=str(review.pk),
        **detail,
    )


@retry_on_conflict
def change(
    reviews: Verbs,
    review_id: str,
    *,
    version_id: str | None = None,
    reviewers: Sequence[str] | None = None,
    is_closed: bool | None = None,
    by: Who = APPLICATION,
) -> ReviewRecord:
    """Move a review to a newer version, name its reviewers, or close it; None leaves a value unchanged.

    A closed one is opened again by `is_closed=False`, unless another one of the resource is open.

    Requires the right to save. Raises `Conflict` with the code `review_closed` if the review has ended,
    `NotFound` for a version that the resource does not have, and `Invalid` for one that is not newer than the
    one under review, and for reviewers who are not members.
    """
    by = caller_of(by)
    with changing_review(reviews, review_id, Right.SAVE, by) as subject:
        review = subject.review
        if is_closed and review.closed_at is not None and version_id is None and reviewers is None:
            return read_record(reviews, review)
        if is_closed is False and review.closed_at is not None:
            _reopen(subject, by)
        refuse_ended(review)
        changed_fields = []
        if version_id is not None and version_id != review.version_id:
            version = find_version(subject.resource, version_id)
            if not (version.read_only or review.is_in_git) and version.number < review.version_number:
                raise Invalid.field(
                    "versionId",
                    Message(
                        "must be newer than version {number}, which is under review",
                        number=review.version_number,
                    ),
                )
            Review.objects.filter(pk=review.pk).update(**columns_of(version))
            review.refresh_from_db()
            changed_fields.append("versionId")
        if reviewers is not None:
            accounts = members_named(review.workspace_id, reviewers)
            before = names_of(list(review.reviewers.all()))
            review.reviewers.set(accounts)
            if before != names_of(accounts):
                changed_fields.append("reviewers")
        if changed_fields:
            _record_changes(subject, changed_fields, by)
        if is_closed:
            review.close(subject.target, version_under_review(subject), by)
        return read_record(reviews, review)


def _record_changes(subject: Subject, fields: Sequence[str], by: Caller) -> None:
    """Log a repeated request to the reviewers, after a change."""
    review = subject.review
    version = version_under_review(subject)
    names = names_of(list(review.reviewers.all()))
    record_request(review, subject.target, version, by, reviewers=names, fields=list(fields))


def _reopen(subject: Subject, by: Caller) -> None:
    """Open a closed review again, and log that as a repeated request."""
    review = subject.review
    there = Review.objects.open().about(subject.target).first()
    if there is not None:
        raise ReviewOpen(there.pk)
    review.closed_at = None
    review.save(update_fields=["closed_at"])
    _record_changes(subject, ["state"], by)


_EVENTS: Final = {
    VerdictValue.APPROVE: "review.approved",
    VerdictValue.REQUEST_CHANGES: "review.changesRequested",
    VerdictValue.WITHDRAW: "review.withdrawn",
}


@retry_on_conflict
def give_verdict(
    reviews: Verbs,
    review_id: str,
    *,
    version_id: str,
    verdict: str,
    body: str = "",
    by: Who = APPLICATION,
) -> ReviewRecord:
    """Approve the version under review, request changes to it, or withdraw the caller's verdict.

    `version_id` is the version that the caller has seen. Requires the right to publish. Raises `Conflict`
    with the code `review_closed` if the review is closed or published, and `review_outdated` if it is now
    about another version; `Forbidden` with `own_change` if the caller saved one of the versions under review,
    or suggested its wording.
    """
    by = caller_of(by)
    body = body.strip()
    validate(Verdict(verdict=verdict, body=body), ["verdict", "body"])
    with changing_review(reviews, review_id, Right.PUBLISH, by) as subject:
        version = _under_review(subject, version_id)
        named = named_by(subject.resource, version)
        _refuse_own(subject, version, named, by)
        if not _is_said_already(subject.review, verdict, body, named, by):
            review = subject.review
            Verdict.objects.create(
                review=review,
                kind=review.kind,
                resource_id=review.resource_id,
                identity=review.identity,
                **columns_of(version),
                author_id=by.user_id,
                author_name=by.username or "",
                verdict=VerdictValue(verdict),
                body=body,
                named=written(named),
            )
            events.record(
                _EVENTS[VerdictValue(verdict)],
                by=by,
                workspace_id=review.workspace_id,
                resource=subject.target,
                version=version,
                reviewId=str(review.pk),
            )
        return read_record(reviews, subject.review)


def _under_review(subject: Subject, version_id: str) -> Snapshot:
    """Return the version under review; raises `Conflict` if it is not the one that the caller has seen."""
    refuse_ended(subject.review)
    if version_id != subject.review.version_id:
        raise Conflict("This review is now about another version; check that one.", code="review_outdated")
    version = version_under_review(subject)
    if version is None:
        raise Conflict("The version under review has been deleted.", code="review_outdated")
    return version


def _refuse_own(subject: Subject, version: Snapshot, named: frozenset[Named], by: Caller) -> None:
    """Raise `Forbidden` unless the caller is a person who saved none of the versions under review."""
    if by.user_id is None or by.username is None:
        raise Forbidden("Only a person can give a verdict.")
    if Membership.objects.service_accounts([by.user_id]):
        raise Forbidden("A service account cannot give a verdict: reviewers are people.", code="not_a_person")
    judged = judged_version(subject.resource, version, subject.target, named=named)
    if by.user_id in judge_version(judged).authors:
        raise Forbidden(
            "You made one of the changes under review, so someone else has to approve.", code="own_change"
        )


def _is_said_already(review: Review, verdict: str, body: str, named: frozenset[Named], by: Caller) -> bool:
    """Return whether the verdict repeats the caller's latest on this configuration, or withdraws nothing."""
    verdicts = Verdict.objects.on_configuration_of(review).filter(author_id=by.user_id)
    latest = verdicts.last()
    if verdict == VerdictValue.WITHDRAW:
        return latest is None or latest.verdict == verdict
    return (
        latest is not None
        and are_the_same(named, latest.named)
        and (latest.verdict, latest.body, latest.version_id, latest.review_id)
        == (verdict, body, review.version_id, review.pk)
    )


ENDED: Final = {ReviewState.PUBLISHED: "published_at", ReviewState.CLOSED: "closed_at"}
"""The columns with the times of final states."""


def find(reviews: Verbs, review_id: str, *, by: Who = APPLICATION) -> ReviewRecord:
    """Return a review."""
    return read_record(reviews, readable(reviews, review_id, caller_of(by)))


def list_readable(
    reviews: Verbs,
    *,
    state: str | None = None,
    kind: str | None = None,
    resource_id: str | None = None,
    workspace_id: str | None = None,
    reviewer: Who | None = None,
    author: Who | None = None,
    by: Who = APPLICATION,
) -> ReviewQuerySet:
    """Return the reviews that the caller may read, newest first; `records_of` makes records of them.

    All arguments filter the list: `reviewer` by a requested reviewer, `author` by the requester. Raises
    `Invalid` for a state that does not exist.
    """
    by = caller_of(by)
    matching = Review.objects.filter(within("workspace", by.scope(Right.READ_DRAFTS)))
    matching = matching.filter(covered_by(by, "resource_id"))
    filters = {"kind": kind, "resource_id": resource_id, "workspace": workspace_id}
    matching = matching.filter(**{name: value for name, value in filters.items() if value is not None})
    for column, person in (("reviewers", reviewer), ("author", author)):
        if person is not None:
            matching = matching.filter(**{f"{column}__isnull": False, column: caller_of(person).user_id})
    if state is None:
        return matching
    if state not in set(ReviewState):
        raise Invalid.field("state", Message("must be one of {values}", values=", ".join(ReviewState)))
    if state in ENDED:
        return matching.filter(**{f"{ENDED[ReviewState(state)]}__isnull": False})
    # An open review's state is computed, but a resource has at most one of them.
    rows = list(matching.filter(published_at=None, closed_at=None).defer("message"))
    states = zip(rows, read_states(reviews, rows), strict=True)
    return matching.filter(pk__in=[row.pk for row, row_state in states if row_state == state])


class Reviews(Verbs):
    """Reviews and verdicts: `editor.reviews.ask("agent", "writer", message="…", by=user)`.

    `by` is the caller; the default is the application, which cannot give verdicts.
    """

    ask = ask
    find = find
    list = list_readable
    change = change
    give_verdict = give_verdict
    records_of = records_of


MAX_OPEN: Final = 500
"""The number of open reviews of a kind, newest first, that are judged to find requested changes."""
_OPEN: Final = "open"
_CHANGES: Final = "changes"


def _in_review(kind: ResourceKind, value: str, viewer: Viewer) -> Collection[str]:
    """Return the resources of a kind with an open review, or with one in which changes are requested."""
    reviews: Any = Reviews.current().list(by=viewer.caller, kind=kind.slug).open()
    if value == _OPEN:
        return list(reviews.order_by().values_list("resource_id", flat=True))
    rows: list[Review] = list(reviews.order_by("-created_at", "id")[:MAX_OPEN])
    states = read_states(Reviews.current(), rows) if rows else []
    pairs = zip(rows, states, strict=True)
    return [row.resource_id for row, state in pairs if state is ReviewState.CHANGES_REQUESTED]


FILTER: Final = Filter(
    criterion=among(_in_review),
    field="review",
    choices=[
        (_OPEN, pgettext_lazy("a resource", "In review")),
        (_CHANGES, pgettext_lazy("a review", "Changes requested")),
    ],
    is_quick=True,
)
