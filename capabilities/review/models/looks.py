"""When people last looked at reviews."""

from __future__ import annotations

import datetime
from typing import Any, Final

from django.conf import settings
from django.db import models
from django.utils import timezone

from capabilities.review.models.reviews import Review

SAME_VISIT: Final = datetime.timedelta(minutes=30)
"""Looks that follow each other within this time are one visit, if nothing happens between them."""


class LookQuerySet(models.QuerySet["Look"]):
    """Queries for looks."""

    def note(
        self, review_id: str, user_id: Any, version_id: str, *, latest: datetime.datetime | None
    ) -> Look:
        """Record that a person looks at a version of a review now, and return the look.

        `latest` is when another person last gave a verdict or commented. A new visit begins with any news, or
        after `SAME_VISIT`; what the person saw before it stays in the look, so that the page can be loaded
        again.
        """
        now = timezone.now()
        look, is_first = self.get_or_create(
            review_id=review_id, user_id=user_id, defaults={"version_id": version_id, "at": now}
        )
        if is_first:
            return look
        has_news = look.version_id != version_id or (latest is not None and latest > look.at)
        if has_news or now - look.at >= SAME_VISIT:
            look.version_before, look.before = look.version_id, look.at
        look.version_id, look.at = version_id, now
        look.save(update_fields=["version_id", "at", "version_before", "before"])
        return look


class Look(models.Model):
    """The last visit of a person to the page of a review, and what they had seen before it."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    version_id = models.CharField(max_length=80)
    """The version under review when they last looked."""
    at = models.DateTimeField()
    version_before = models.CharField(max_length=80, blank=True)
    """The version that they saw in their visit before; empty in the first."""
    before = models.DateTimeField(null=True)
    """When that visit ended."""

    objects = LookQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(name="review_look_once", fields=["review", "user"])]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.review_id}: {self.version_id}"
