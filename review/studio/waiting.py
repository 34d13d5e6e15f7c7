"""The reviews that wait for a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from review.models import Comment, Review
from review.reviews.records import ReviewRecord, ReviewState
from review.reviews.verbs import Reviews
from versioning.domain.access import Caller, Right

MAX_OPEN: Final = 500
"""How many open reviews are considered, newest first."""


def waiting_for(caller: Caller, workspace_id: str | None = None) -> list[ReviewRecord]:
    """Return the open reviews that wait for a person, in one workspace or all, newest first.

    These are reviews that they were asked for and have not answered, and those that lack an approval that
    they may give; never reviews of their own changes. The number of queries is constant.
    """
    if caller.username is None or caller.scope(Right.READ_DRAFTS) == frozenset():
        return []
    readable: Any = Reviews.current().list(by=caller, workspace_id=workspace_id).open()
    rows: Sequence[Review] = list(readable.order_by("-created_at", "id")[:MAX_OPEN])
    if not rows:
        return []
    commented = _commented(rows, caller)
    records: Sequence[ReviewRecord] = Reviews.current().records_of(rows)
    return [
        record
        for row, record in zip(rows, records, strict=True)
        if row.author_id != caller.user_id and _waits(record, caller, has_commented=row.pk in commented)
    ]


def _waits(record: ReviewRecord, caller: Caller, *, has_commented: bool) -> bool:
    if caller.user_id in record.outcome.authors:
        return False
    if any(one.account_id == caller.user_id and one.counts for one in record.verdicts):
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
