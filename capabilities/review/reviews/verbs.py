"""The verbs of reviews: reading them here, the others in the modules named."""

from __future__ import annotations

from typing import Final

from capabilities.review.models.reviews import Review, ReviewQuerySet
from capabilities.review.reviews import giving_verdicts, records, requesting
from capabilities.review.reviews.records import ReviewRecord, ReviewState, record_of, states_of
from capabilities.review.reviews.subjects import readable
from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid, Message
from versioning.editor.resources import Who, caller_of
from versioning.models.querysets import covered_by, within
from versioning.verbs import Verbs

ENDED: Final = {ReviewState.PUBLISHED: "published_at", ReviewState.CLOSED: "closed_at"}
"""The columns with the times of final states."""


def find(reviews: Verbs, review_id: str, *, by: Who = APPLICATION) -> ReviewRecord:
    """Return a review."""
    return record_of(reviews, readable(reviews, review_id, caller_of(by)))


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
    found = Review.objects.filter(within("workspace", by.scope(Right.READ_DRAFTS)))
    found = found.filter(covered_by(by, "resource_id"))
    narrowed = {"kind": kind, "resource_id": resource_id, "workspace": workspace_id}
    found = found.filter(**{name: value for name, value in narrowed.items() if value is not None})
    for column, person in (("reviewers", reviewer), ("author", author)):
        if person is not None:
            found = found.filter(**{f"{column}__isnull": False, column: caller_of(person).user_id})
    return found if state is None else _in_state(reviews, found, _state_named(state))


def _in_state(reviews: Verbs, found: ReviewQuerySet, state: ReviewState) -> ReviewQuerySet:
    """Filter by state; an open review's state is computed, but a resource has at most one of them."""
    column = ENDED.get(state)
    if column is not None:
        return found.filter(**{f"{column}__isnull": False})
    rows = list(found.filter(published_at=None, closed_at=None).defer("message"))
    states = states_of(reviews, rows)
    return found.filter(pk__in=[row.pk for row, its in zip(rows, states, strict=True) if its is state])


def _state_named(name: str) -> ReviewState:
    try:
        return ReviewState(name)
    except ValueError:
        raise Invalid.field(
            "state", Message("must be one of {values}", values=", ".join(ReviewState))
        ) from None


class Reviews(Verbs):
    """Reviews and verdicts: `editor.reviews.ask("agent", "writer", message="…", by=user)`.

    `by` is the caller; the default is the application, which cannot give verdicts.
    """

    ask = requesting.ask
    find = find
    list = list_readable
    change = requesting.change
    give_verdict = giving_verdicts.give_verdict
    records_of = records.records_of
