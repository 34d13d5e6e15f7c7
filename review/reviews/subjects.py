"""The resources of reviews: found, readable, and locked while a review changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from review.models import Review
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, NotFound
from versioning.domain.events import Target
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import uuid_of
from versioning.editor.locking import changing
from versioning.models import VersionedResource
from versioning.serving.grants import target_of
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
    review = Review.objects.filter(pk=uuid_of(review_id)).first()
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
    found = readable(reviews, review_id, by)
    by.require(right, found.workspace_id)
    collection = reviews.editor.collection(KINDS_BY_SLUG[found.kind])
    with changing(collection, found.resource_id, right, by, include_deleted=True) as resource:
        target = target_of(resource, reviews.editor.code)
        review = Review.objects.about(target).filter(pk=found.pk).first()
        if review is None:
            raise NotFound
        yield Subject(review=review, resource=resource, target=target)


def refuse_ended(review: Review) -> None:
    """Raise `Conflict` for a review that is closed or published."""
    if review.closed_at is not None:
        raise Conflict("This review is closed; ask for a new one.", code="review_closed")
    if review.published_at is not None:
        raise Conflict("What this review was about is published; ask for a new one.", code="review_closed")


def version_under_review(subject: Subject) -> Snapshot | None:
    """Return the version under review; None if it was deleted."""
    try:
        return find_version(subject.resource, subject.review.version_id)
    except NotFound:
        return None
