"""The events of reviews and comments, and the sentences that describe them to people.

In the sentences about reviews, the version links to the page of the review, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Exists, OuterRef, Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.review.models import Comment, Mention, Review, about_own_work
from studio.activity.fragments import Fragment, Sentence, people_in
from versioning.domain.access import Caller, Right
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models.querysets import within

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event


Words = Callable[["Event", "Names"], Sentence]


def _sentence(
    event: Event, names: Names, sentence: Promise, alone: Promise, **more: Fragment | str
) -> Sentence:
    """Return the sentence that names the resource, or the form for the resource's own page."""
    version = names.version(event.version_id)
    address = names.subject(event)
    words = version.text if event.version_id else _("a deleted version")
    values: dict[str, Fragment | str] = {
        "version": Fragment(words, address or version.address, number=version.number),
        **more,
    }
    if names.of_one:
        return Sentence(str(alone), values)
    return Sentence(str(sentence), {"resource": names.resource(event), **values})


def _worded(sentence: Promise, alone: Promise) -> Words:
    """Return what puts events of a type into these words; `alone` is for the resource's own page."""
    return partial(_sentence, sentence=sentence, alone=alone)


def _requested(event: Event, names: Names) -> Sentence:
    people = event.detail.get("reviewers") or ()
    if people:
        sentence = gettext_lazy("{who} asked {people} to review {version} of {resource}")
        alone = gettext_lazy("{who} asked {people} to review {version}")
        return _sentence(event, names, sentence, alone, people=people_in(people))
    sentence = gettext_lazy("{who} asked for a review of {version} of {resource}")
    return _sentence(event, names, sentence, gettext_lazy("{who} asked for a review of {version}"))


def _bypassed(event: Event, names: Names) -> Sentence:
    reason = str(event.detail.get("reason") or "")
    if reason:
        sentence = gettext_lazy("{who} bypassed the review of {version} of {resource}: “{reason}”")
        alone = gettext_lazy("{who} bypassed the review of {version}: “{reason}”")
        return _sentence(event, names, sentence, alone, reason=reason)
    sentence = gettext_lazy("{who} bypassed the review of {version} of {resource}")
    return _sentence(event, names, sentence, gettext_lazy("{who} bypassed the review of {version}"))


EVENTS: Final = (
    EventSubject(
        name="review",
        audience=Audience.EDITORS,
        noun=gettext_lazy("review"),
        title=gettext_lazy("Reviews"),
        anything=gettext_lazy("Anything about reviews"),
        types=[
            EventType(name="requested", title=pgettext_lazy("event", "requested"), sentence=_requested),
            EventType(
                name="approved",
                title=pgettext_lazy("event", "approved"),
                sentence=_worded(
                    gettext_lazy("{who} approved {version} of {resource}"),
                    gettext_lazy("{who} approved {version}"),
                ),
            ),
            EventType(
                name="changesRequested",
                title=pgettext_lazy("event", "changes requested"),
                sentence=_worded(
                    gettext_lazy("{who} asked for changes to {version} of {resource}"),
                    gettext_lazy("{who} asked for changes to {version}"),
                ),
            ),
            EventType(
                name="withdrawn",
                title=pgettext_lazy("event", "withdrawn"),
                sentence=_worded(
                    gettext_lazy("{who} withdrew their decision on {version} of {resource}"),
                    gettext_lazy("{who} withdrew their decision on {version}"),
                ),
            ),
            EventType(name="bypassed", title=pgettext_lazy("event", "bypassed"), sentence=_bypassed),
            EventType(
                name="closed",
                title=pgettext_lazy("event", "closed"),
                sentence=_worded(
                    gettext_lazy("{who} closed the review of {version} of {resource}"),
                    gettext_lazy("{who} closed the review of {version}"),
                ),
            ),
        ],
    ),
    EventSubject(
        name="comment",
        audience=Audience.EDITORS,
        noun=gettext_lazy("comment"),
        title=gettext_lazy("Comments"),
        anything=gettext_lazy("Anything about comments"),
        types=[
            EventType(
                name="added",
                title=pgettext_lazy("event", "added"),
                sentence=_worded(
                    gettext_lazy("{who} commented on {version} of {resource}"),
                    gettext_lazy("{who} commented on {version}"),
                ),
            ),
            EventType(
                name="changed",
                title=pgettext_lazy("event", "changed"),
                sentence=_worded(
                    gettext_lazy("{who} edited a comment on {version} of {resource}"),
                    gettext_lazy("{who} edited a comment on {version}"),
                ),
            ),
            EventType(
                name="resolved",
                title=pgettext_lazy("event", "resolved"),
                sentence=_worded(
                    gettext_lazy("{who} resolved a comment on {version} of {resource}"),
                    gettext_lazy("{who} resolved a comment on {version}"),
                ),
            ),
            EventType(
                name="reopened",
                title=pgettext_lazy("event", "reopened"),
                sentence=_worded(
                    gettext_lazy("{who} reopened a comment on {version} of {resource}"),
                    gettext_lazy("{who} reopened a comment on {version}"),
                ),
            ),
            EventType(
                name="deleted",
                title=pgettext_lazy("event", "deleted"),
                sentence=_worded(
                    gettext_lazy("{who} deleted a comment on {version} of {resource}"),
                    gettext_lazy("{who} deleted a comment on {version}"),
                ),
            ),
        ],
    ),
)


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
    NotificationTopic(
        name="reviewRequested", title=gettext_lazy("reviews that I am asked for"), types=[_ASKING]
    ),
    NotificationTopic(
        name="reviewDecided",
        title=gettext_lazy("what others decide in reviews that I have asked for or give"),
        types=[*_SAID, "review.closed"],
    ),
    NotificationTopic(
        name="commentAdded",
        title=gettext_lazy("comments on my work, and answers to mine"),
        types=["comment.added"],
    ),
    NotificationTopic(
        name=_MENTIONED, title=gettext_lazy("comments that mention me"), types=_MENTIONING, has_rules=True
    ),
)
RULES: Final = (
    NotificationRule(condition=_of_reviews),
    NotificationRule(condition=_mentions, topic=_MENTIONED),
)
