"""The open review of a resource, for pages."""

from __future__ import annotations

from review.models import Review
from review.reviews.records import ReviewRecord
from review.reviews.verbs import Reviews
from versioning.conf import get_editor
from versioning.models import VersionedResource
from versioning.serving.grants import target_of


def open_review_of(resource: VersionedResource) -> Review | None:
    """Return the open review of a resource, or None."""
    return Review.objects.open().about(target_of(resource, get_editor().code)).first()


def record_of(review: Review) -> ReviewRecord:
    """Return a review in its current state."""
    [found] = Reviews.current().records_of([review])
    return found
