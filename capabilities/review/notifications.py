"""The bell's rules for reviews and comments: which events concern a person."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from capabilities.review.about import about_own_work
from capabilities.review.models import Comment, Mention, Review
from versioning.domain.access import Caller, Right
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models.querysets import within

_ASKING: Final = "review.requested"
_COMMENTED: Final = ("comment.added", "comment.resolved", "comment.reopened")
_SAID: Final = ("review.approved", "review.changesRequested", "review.withdrawn")


def _of_reviews(caller: Caller) -> Q:
    """Return the condition that an event about a review or a comment concerns the person.

    Requests concern the named reviewers, or everyone who may publish if none are named. Verdicts and closing
    concern the requester and the reviewers. Comments concern the requester of the open review, people who
    have commented on the resource themselves, and the author of its newest version.
    """
    known: Any = Review.objects.filter(
        kind=OuterRef("resource_kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("resource_uuid"),
        created_at__lte=OuterRef("created_at"),
    ).order_by()
    going = known.filter(
        Q(closed_at=None) | Q(closed_at__gte=OuterRef("created_at")),
        Q(published_at=None) | Q(published_at__gte=OuterRef("created_at")),
    )
    closed = known.exclude(closed_at=None)  # an event is a moment later than its cause
    involved = Q(author_id=caller.user_id) | Q(reviewers=caller.user_id)
    mine = Q(Exists(going.filter(author_id=caller.user_id)))
    asked = Q(Exists(going.filter(reviewers=caller.user_id)))
    unaddressed = Q(Exists(going.filter(reviewers=None))) & within(
        "workspace_id", caller.scope(Right.PUBLISH)
    )
    spoken: Any = Comment.objects.filter(
        kind=OuterRef("resource_kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("resource_uuid"),
        author_id=caller.user_id,
        created_at__lte=OuterRef("created_at"),
    ).order_by()
    return (
        Q(type=_ASKING) & (asked | unaddressed | mine)
        | Q(type__in=_SAID) & (mine | asked)
        | Q(type="review.closed") & Q(Exists(closed.filter(involved)))
        | Q(type__in=_COMMENTED)
        & (mine | Q(Exists(spoken)) | about_own_work(caller, kind="resource_kind", identity="resource_uuid"))
    )


def _mentions(caller: Caller) -> Q:
    """Return the condition that an event is about a comment that mentions the person."""
    mentions = Mention.objects.filter(event=OuterRef("uuid"), user_id=caller.user_id).order_by()
    return Q(Exists(mentions), type__in=_MENTIONING)


_MENTIONED: Final = "mentioned"
_MENTIONING: Final = ("comment.added", "comment.changed")
TOPICS: Final = (
    NotificationTopic(name="reviewRequested", title=_("reviews that I am asked for"), types=[_ASKING]),
    NotificationTopic(
        name="reviewDecided",
        title=_("what others decide in reviews that I have asked for or give"),
        types=[*_SAID, "review.closed"],
    ),
    NotificationTopic(
        name="commentAdded", title=_("comments on my work, and answers to mine"), types=["comment.added"]
    ),
    NotificationTopic(
        name=_MENTIONED, title=_("comments that mention me"), types=_MENTIONING, has_rules=True
    ),
)
RULES: Final = (
    NotificationRule(condition=_of_reviews),
    NotificationRule(condition=_mentions, topic=_MENTIONED),
)
