"""Request a review of a version; move it to another version, set other reviewers, or close it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from capabilities.review.about import columns_about
from capabilities.review.models import Review
from capabilities.review.reviews.records import ReviewRecord, record_of
from capabilities.review.reviews.subjects import (
    MAX_TEXT,
    Subject,
    changing_review,
    members_named,
    refuse_ended,
    version_under_review,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Message, NotFound
from versioning.domain.events import Target
from versioning.domain.kinds import kind_named
from versioning.domain.snapshots import Snapshot
from versioning.domain.texts import checked_text
from versioning.editor.locking import changing, retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs


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
            "This agent is exactly as its code defines it: there is no version to look at.",
            code="no_override",
        )
    message = checked_text("message", message.strip(), MAX_TEXT)
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
        return record_of(reviews, review)


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
            return record_of(reviews, review)
        if is_closed is False and review.closed_at is not None:
            _reopen(subject, by)
        refuse_ended(review)
        changed = []
        if version_id is not None and version_id != review.version_id:
            _move_to(review, find_version(subject.resource, version_id))
            changed.append("versionId")
        if reviewers is not None and _reassign(review, reviewers):
            changed.append("reviewers")
        if changed:
            _record_changes(subject, changed, by)
        if is_closed:
            _close(subject, by)
        return record_of(reviews, review)


def _move_to(review: Review, version: Snapshot) -> None:
    """Move a review to a version; verdicts on an equal configuration count for it."""
    if not (version.read_only or review.is_in_git) and version.number < review.version_number:
        raise Invalid.field(
            "versionId",
            Message(
                "must be newer than version {number}, which is under review", number=review.version_number
            ),
        )
    Review.objects.filter(pk=review.pk).update(**columns_of(version))
    review.refresh_from_db()


def _reassign(review: Review, names: Sequence[str]) -> bool:
    """Set the reviewers, and return whether that changed anything."""
    accounts = members_named(review.workspace_id, names)
    before = names_of(list(review.reviewers.all()))
    review.reviewers.set(accounts)
    return before != names_of(accounts)


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


def _close(subject: Subject, by: Caller) -> None:
    review = subject.review
    review.close(subject.target, version_under_review(subject), by)
