"""What has happened in a review since a person last looked at it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from capabilities.review.models import Comment, Look
from capabilities.review.reviews.records import ReviewRecord
from capabilities.review.studio.presenters import Person
from versioning.domain.events import Target
from versioning.models import storage


@dataclass(frozen=True, kw_only=True)
class Since:
    """The news of a review for a person who has looked at it before."""

    at: datetime.datetime
    """When they last looked."""
    version_id: str
    """The version that they saw; empty if it still is the one under review."""
    verdicts: Sequence[Person]
    """The verdicts that other people have given since."""
    comments: int
    """How many comments other people have written since."""

    def __bool__(self) -> bool:
        """Whether there is any news."""
        return bool(self.version_id or self.verdicts or self.comments)


def news_of(record: ReviewRecord, resource: Target, user_id: Any) -> Since | None:
    """Record that a person looks at a review, and return the news since their last visit.

    Returns None at their first visit, if there is no news, and while the disk is full.
    """
    verdicts = [verdict for verdict in record.verdicts if verdict.account_id != user_id]
    comments = Comment.objects.about(resource).exclude(author=user_id).order_by()
    times = [*(verdict.created_at for verdict in verdicts), comments.aggregate(at=Max("created_at"))["at"]]
    latest = max((at for at in times if at is not None), default=None)
    look = Look()
    with storage.optional():
        look = Look.objects.note(record.id, user_id, record.version_id, latest=latest)
    if look.before is None:
        return None
    since = Since(
        at=look.before,
        version_id=look.version_before if look.version_before != record.version_id else "",
        verdicts=[
            Person(name=verdict.by, verdict=verdict)
            for verdict in verdicts
            if verdict.created_at > look.before
        ],
        comments=comments.filter(created_at__gt=look.before).count(),
    )
    return since or None
