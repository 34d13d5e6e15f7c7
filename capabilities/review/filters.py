"""The filter of lists by open reviews, for the studio."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.utils.translation import pgettext_lazy

from capabilities.review.models import Review
from capabilities.review.reviews.records import ReviewState, states_of
from capabilities.review.reviews.verbs import Reviews
from versioning.domain.kinds import ResourceKind
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter

MAX_OPEN: Final = 500
"""How many open reviews of a kind are judged to find those in which changes are requested: the newest."""
_OPEN: Final = "open"
_CHANGES: Final = "changes"


def _in_review(kind: ResourceKind, value: str, viewer: Viewer) -> Collection[str]:
    """Return the resources of a kind with an open review, or with one in which changes are requested."""
    found: Any = Reviews.current().list(by=viewer.caller, kind=kind.slug).open()
    if value == _OPEN:
        return list(found.order_by().values_list("resource_id", flat=True))
    rows: list[Review] = list(found.order_by("-created_at", "id")[:MAX_OPEN])
    states = states_of(Reviews.current(), rows) if rows else []
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
