"""The reviews that wait for a person: to look at a version, or to change their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Case, Value, When

from capabilities.review.models import Comment, Review
from capabilities.review.reviews.records import ReviewRecord, ReviewState
from capabilities.review.reviews.verbs import Reviews
from versioning.domain.access import Caller, Right

MAX_OPEN: Final = 500
"""How many open reviews are considered, newest first."""


SHOW: Final = "show"
"""The parameter of the list of reviews that says which ones to show."""
WAITING: Final = "waiting"
QUERY: Final = urlencode({SHOW: WAITING})
"""The query of the list for the reviews that wait for the person."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """The open reviews that wait for a person, newest first."""

    returned: Sequence[ReviewRecord] = ()
    """Reviews that they requested, or of their versions, in which a reviewer requested changes."""
    asked: Sequence[ReviewRecord] = ()
    """Reviews for which they are asked to look, and those that lack an approval that they may give."""

    @property
    def all(self) -> list[ReviewRecord]:
        """All of them, changes to make first."""
        return [*self.returned, *self.asked]


def waiting_for(caller: Caller, workspace_id: str | None = None) -> Waiting:
    """Return the open reviews that wait for a person, in one workspace or all.

    Authors are not asked to review their own changes. The number of queries is constant.
    """
    if caller.username is None or caller.scope(Right.READ_DRAFTS) == frozenset():
        return Waiting()
    # Every page says how many there are, and often no review is open: then the rest need not be asked.
    if not Review.objects.open().exists():
        return Waiting()
    readable: Any = Reviews.current().list(by=caller, workspace_id=workspace_id).open()
    own_first = Case(When(author_id=caller.user_id, then=Value(0)), default=Value(1))
    rows: Sequence[Review] = list(readable.order_by(own_first, "-created_at", "id")[:MAX_OPEN])
    if not rows:
        return Waiting()
    commented = _commented(rows, caller)
    records: Sequence[ReviewRecord] = Reviews.current().records_of(rows)
    pairs = sorted(zip(rows, records, strict=True), key=lambda pair: pair[0].created_at, reverse=True)
    return Waiting(
        returned=[record for row, record in pairs if _is_returned(row, record, caller)],
        asked=[
            record
            for row, record in pairs
            if row.author_id != caller.user_id and _waits(record, caller, has_commented=row.pk in commented)
        ],
    )


def count_for(caller: Caller) -> int:
    """Return how many reviews wait for a person."""
    return len(waiting_for(caller).all)


def _is_returned(row: Review, record: ReviewRecord, caller: Caller) -> bool:
    """Return whether changes are requested of the person: they asked for the review, or wrote the version."""
    is_own = row.author_id == caller.user_id or caller.user_id in record.outcome.authors
    return is_own and record.state is ReviewState.CHANGES_REQUESTED


def _waits(record: ReviewRecord, caller: Caller, *, has_commented: bool) -> bool:
    if caller.user_id in record.outcome.authors:
        return False
    if any(verdict.account_id == caller.user_id and verdict.counts for verdict in record.verdicts):
        return False
    may_decide = caller.may(Right.PUBLISH, record.workspace_id)
    if caller.username in record.reviewers:
        return may_decide or not has_commented
    return may_decide and record.state is ReviewState.OPEN


def _commented(rows: Sequence[Review], caller: Caller) -> Collection[Any]:
    """Return the keys of the reviews on whose resources the person has commented since the request."""
    identities = {row.identity for row in rows}
    own = Comment.objects.filter(author_id=caller.user_id, identity__in=identities)
    found: dict[Any, list[Any]] = {}
    for kind, resource_id, identity, at in own.values_list("kind", "resource_id", "identity", "created_at"):
        found.setdefault((kind, resource_id, identity), []).append(at)
    return {
        row.pk
        for row in rows
        if any(at >= row.created_at for at in found.get((row.kind, row.resource_id, row.identity), ()))
    }
