"""Change a review: move it to another version, set other reviewers, or close it."""

from __future__ import annotations

from collections.abc import Sequence

from review.models import Review
from review.reviews.records import ReviewRecord, record_of
from review.reviews.requesting import columns_of, names_of, record_request
from review.reviews.subjects import (
    Subject,
    changing_review,
    refuse_ended,
    version_under_review,
)
from review.reviews.values import members_named
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Invalid, Message
from versioning.domain.snapshots import Snapshot
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs


@retry_on_conflict
def change(
    reviews: Verbs,
    review_id: str,
    *,
    version_id: str | None = None,
    reviewers: Sequence[str] | None = None,
    is_closed: bool = False,
    by: Who = APPLICATION,
) -> ReviewRecord:
    """Move a review to a newer version, name its reviewers, or close it; None leaves a value unchanged.

    Requires the right to save. Raises `Conflict` with the code `review_closed` if the review has ended,
    `NotFound` for a version that the resource does not have, and `Invalid` for one that is not newer than the
    one under review, and for reviewers who are not members.
    """
    by = caller_of(by)
    with changing_review(reviews, review_id, Right.SAVE, by) as subject:
        review = subject.review
        if is_closed and review.closed_at is not None and version_id is None and reviewers is None:
            return record_of(reviews, review)
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


def _close(subject: Subject, by: Caller) -> None:
    review = subject.review
    review.close(subject.target, version_under_review(subject), by)
