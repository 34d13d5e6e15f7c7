"""The addresses of the pages about reviews."""

from __future__ import annotations

from urllib.parse import urlencode

from django.utils.translation import gettext as _

from capabilities.review.policy.check import ReviewRequired
from studio.extensions import Action
from studio.kinds import KINDS_BY_SLUG, StudioKind
from versioning.domain.errors import VersioningError
from versioning.models import Event


def of_review(kind_slug: str, resource_id: str, review_id: object, page: str = "review") -> str:
    """Return the address of a page about a review."""
    return KINDS_BY_SLUG[kind_slug].address(page, resource_id, str(review_id))


def of_asking(kind: StudioKind, resource_id: str, version_id: str) -> str:
    """Return the address of the page to request a review of a version."""
    return f"{kind.address('review_ask', resource_id)}?{urlencode({'version': version_id})}"


def way_out(kind: StudioKind, resource_id: str, error: VersioningError) -> Action | None:
    """Return the page of the review, or to ask for one, if approvals are missing; None for other errors."""
    if not isinstance(error, ReviewRequired):
        return None
    if error.review_id is None:
        return Action(title=_("Ask for review"), address=of_asking(kind, resource_id, error.version_id))
    return Action(title=_("To the review"), address=of_review(kind.slug, resource_id, error.review_id))


def of_event(kind: StudioKind, event: Event) -> str:
    """Return the address of an event's review; empty for other events."""
    review_id = event.detail.get("reviewId")
    if not review_id or not event.type.startswith("review."):
        return ""
    return kind.address("review", event.resource_id, str(review_id))
