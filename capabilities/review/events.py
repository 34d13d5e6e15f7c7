"""The events of reviews and comments, and the sentences that describe them to people.

In the sentences about reviews, the version links to the page of the review, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Exists, OuterRef, Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.review.models import Comment, Mention, Review, about_own_work
from studio.activity.sentences import Fragment, Sentence, people_in
from versioning.domain.access import Caller, Right
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models.querysets import within

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event


Words = Callable[["Event", "Names"], Sentence]


SENTENCES: Final[Mapping[str, tuple[Promise, Promise]]] = {
    "review.requested": (
        gettext_lazy("{who} asked for a review of {version} of {resource}"),
        gettext_lazy("{who} asked for a review of {version}"),
    ),
    "review.requested, of people": (
        gettext_lazy("{who} asked {people} to review {version} of {resource}"),
        gettext_lazy("{who} asked {people} to review {version}"),
    ),
    "review.approved": (
        gettext_lazy("{who} approved {version} of {resource}"),
        gettext_lazy("{who} approved {version}"),
    ),
    "review.changesRequested": (
        gettext_lazy("{who} asked for changes to {version} of {resource}"),
        gettext_lazy("{who} asked for changes to {version}"),
    ),
    "review.withdrawn": (
        gettext_lazy("{who} withdrew their decision on {version} of {resource}"),
        gettext_lazy("{who} withdrew their decision on {version}"),
    ),
    "review.bypassed": (
        gettext_lazy("{who} bypassed the review of {version} of {resource}"),
        gettext_lazy("{who} bypassed the review of {version}"),
    ),
    "review.bypassed, with a reason": (
        gettext_lazy("{who} bypassed the review of {version} of {resource}: “{reason}”"),
        gettext_lazy("{who} bypassed the review of {version}: “{reason}”"),
    ),
    "review.closed": (
        gettext_lazy("{who} closed the review of {version} of {resource}"),
        gettext_lazy("{who} closed the review of {version}"),
    ),
    "comment.added": (
        gettext_lazy("{who} commented on {version} of {resource}"),
        gettext_lazy("{who} commented on {version}"),
    ),
    "comment.changed": (
        gettext_lazy("{who} edited a comment on {version} of {resource}"),
        gettext_lazy("{who} edited a comment on {version}"),
    ),
    "comment.resolved": (
        gettext_lazy("{who} resolved a comment on {version} of {resource}"),
        gettext_lazy("{who} resolved a comment on {version}"),
    ),
    "comment.reopened": (
        gettext_lazy("{who} reopened a comment on {version} of {resource}"),
        gettext_lazy("{who} reopened a comment on {version}"),
    ),
    "comment.deleted": (
        gettext_lazy("{who} deleted a comment on {version} of {resource}"),
        gettext_lazy("{who} deleted a comment on {version}"),
    ),
}
"""By type: the sentence that names the resource, and the form for the resource's own page."""


def _describe(event: Event, names: Names) -> Sentence:
    version = names.version(event.version_id)
    words = version.text if event.version_id else _("a deleted version")
    address = names.subject(event) or version.address
    values: dict[str, Fragment | str] = {"version": Fragment(words, address, number=version.number)}
    key = event.type
    if key == "review.requested" and event.detail.get("reviewers"):
        key += ", of people"
        values["people"] = people_in(event.detail["reviewers"])
    elif key == "review.bypassed" and event.detail.get("reason"):
        key += ", with a reason"
        values["reason"] = str(event.detail["reason"])
    sentence, alone = SENTENCES[key]
    if names.of_one:
        return Sentence(str(alone), values)
    return Sentence(str(sentence), {"resource": names.resource(event), **values})


def _type(name: str, title: Promise) -> EventType:
    return EventType(name=name, title=title, sentence=_describe)


EVENTS: Final = (
    EventSubject(
        name="review",
        audience=Audience.EDITORS,
        noun=gettext_lazy("review"),
        title=gettext_lazy("Reviews"),
        anything=gettext_lazy("Anything about reviews"),
        types=[
            _type("requested", pgettext_lazy("event", "requested")),
            _type("approved", pgettext_lazy("event", "approved")),
            _type("changesRequested", pgettext_lazy("event", "changes requested")),
            _type("withdrawn", pgettext_lazy("event", "withdrawn")),
            _type("bypassed", pgettext_lazy("event", "bypassed")),
            _type("closed", pgettext_lazy("event", "closed")),
        ],
    ),
    EventSubject(
        name="comment",
        audience=Audience.EDITORS,
        noun=gettext_lazy("comment"),
        title=gettext_lazy("Comments"),
        anything=gettext_lazy("Anything about comments"),
        types=[
            _type("added", pgettext_lazy("event", "added")),
            _type("changed", pgettext_lazy("event", "changed")),
            _type("resolved", pgettext_lazy("event", "resolved")),
            _type("reopened", pgettext_lazy("event", "reopened")),
            _type("deleted", pgettext_lazy("event", "deleted")),
        ],
    ),
)


_ASKING: Final = "review.requested"
_COMMENTED: Final = ("comment.added", "comment.resolved", "comment.reopened")
_SAID: Final = ("review.approved", "review.changesRequested", "review.withdrawn")


def _of_reviews(caller: Caller) -> Q:
    """Return the condition that an event about a review or a comment concerns the person.

    Requests concern the named reviewers, or everyone who can publish if none are named. Verdicts and closing
    concern the requester and the reviewers. Comments concern the requester of the open review, people who
    have commented on the resource themselves, and the author of its newest version.
    """
    reviews: Any = Review.objects.filter(
        kind=OuterRef("resource_kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("resource_uuid"),
        created_at__lte=OuterRef("created_at"),
    ).order_by()
    open_reviews = reviews.filter(
        Q(closed_at=None) | Q(closed_at__gte=OuterRef("created_at")),
        Q(published_at=None) | Q(published_at__gte=OuterRef("created_at")),
    )
    closed = reviews.exclude(closed_at=None)  # an event is slightly later than its cause
    involved = Q(author_id=caller.user_id) | Q(reviewers=caller.user_id)
    as_author = Q(Exists(open_reviews.filter(author_id=caller.user_id)))
    as_reviewer = Q(Exists(open_reviews.filter(reviewers=caller.user_id)))
    unaddressed = Q(Exists(open_reviews.filter(reviewers=None))) & within(
        "workspace_id", caller.scope(Right.PUBLISH)
    )
    own_comments: Any = Comment.objects.filter(
        kind=OuterRef("resource_kind"),
        resource_id=OuterRef("resource_id"),
        identity=OuterRef("resource_uuid"),
        author_id=caller.user_id,
        created_at__lte=OuterRef("created_at"),
    ).order_by()
    return (
        Q(type=_ASKING) & (as_reviewer | unaddressed | as_author)
        | Q(type__in=_SAID) & (as_author | as_reviewer)
        | Q(type="review.closed") & Q(Exists(closed.filter(involved)))
        | Q(type__in=_COMMENTED)
        & (
            as_author
            | Q(Exists(own_comments))
            | about_own_work(caller, kind="resource_kind", identity="resource_uuid")
        )
    )


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
    NotificationRule(
        condition=lambda caller: Q(
            Exists(Mention.objects.filter(event=OuterRef("uuid"), user_id=caller.user_id).order_by()),
            type__in=_MENTIONING,
        ),
        topic=_MENTIONED,
    ),
)
