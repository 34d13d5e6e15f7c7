"""Next steps after a save: requesting a review, or moving the open one to the saved version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.utils.translation import gettext as _

from review.policy.administration import policy_of
from review.reviews.verbs import Reviews
from review.studio.current import open_review_of
from review.studio.links import of_asking, of_review
from studio.extensions import NextStep
from studio.kinds import StudioKind
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource

BUTTON: Final = "review"
"""The value of `then` that the button of the edit page sends."""


def next_steps(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[NextStep]:
    """Yield the suggested next step for the author of a version: its review."""
    review = open_review_of(resource)
    if review is not None:
        yield NextStep(
            title=_("Open the review"), address=of_review(review.kind, review.resource_id, review.pk)
        )
    elif not caller.may(Right.PUBLISH, resource.workspace_id) or policy_of(resource.workspace_id).required:
        yield NextStep(title=_("Ask for review"), address=of_asking(kind, resource.pk, version.version_id))


def go_on(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> str:
    """Move the open review to the version, as the button requests; return the next address.

    Without an open review, that is the page to request one.
    """
    asking = of_asking(kind, resource.pk, version.version_id)
    review = open_review_of(resource)
    if review is None:
        return asking
    address = of_review(review.kind, review.resource_id, review.pk)
    if review.version_id != version.version_id:
        try:
            Reviews.current().change(str(review.pk), version_id=version.version_id, by=caller)
        except (Conflict, Invalid, NotFound):  # it has just ended, or moved further
            return address
    return address
