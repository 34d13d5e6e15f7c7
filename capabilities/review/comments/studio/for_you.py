"""The comments that wait for the person's answer: on their work, and replies to what they wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils.html import format_html
from django.utils.translation import gettext as _

from capabilities.review.about import about_own_work
from capabilities.review.comments.studio.threads import said_in
from capabilities.review.models import Comment, Mention
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.kinds import KINDS_BY_SLUG
from studio.named import Place, names_of, person
from versioning.domain.access import Caller, Right
from versioning.models.querysets import within

_COUNTED: Final = 100
_EXCERPT: Final = 300
"""How many characters of a comment are shown."""


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the open threads whose last comment is another person's."""
    last = waiting_for(caller)
    names = names_of([(one.kind, one.resource_id) for one in last[:SHOWN]], caller)
    yield TaskGroup(
        key="comments",
        urgency=Urgency.ASKED,
        title=_("Comments for you"),
        tasks=[_task(one, names.get((one.kind, one.resource_id), one.resource_id)) for one in last[:SHOWN]],
        count=len(last),
    )


def waiting_for(caller: Caller) -> list[Comment]:
    """Return the last comments of the open threads that wait for the person, newest first; one statement.

    These are the threads that they began, that mention them, and those about what they saved last.
    """
    if caller.user_id is None:
        return []
    comments: Any = Comment.objects.order_by("-created_at", "-pk")
    of_thread = comments.filter(Q(pk=OuterRef("pk")) | Q(parent=OuterRef("pk")))
    of_comments = Q(comment=OuterRef("pk")) | Q(comment__parent=OuterRef("pk"))
    mentions: Any = Mention.objects.filter(of_comments, user_id=caller.user_id).order_by()
    mine = Q(author=caller.user_id) | Q(Exists(mentions)) | about_own_work(caller)
    threads = Comment.objects.filter(
        mine, within("workspace_id", caller.scope(Right.READ_DRAFTS)), parent=None, resolved_at=None
    )
    last = threads.annotate(last=Subquery(of_thread.values("pk")[:1])).values("last").order_by()
    return list(comments.filter(pk__in=last).exclude(author=caller.user_id)[:_COUNTED])


def _task(comment: Comment, name: str) -> Task:
    kind = KINDS_BY_SLUG[comment.kind]
    about = _("{who} commented on version {number}")
    return Task(
        name=name,
        address=kind.address("comment", comment.resource_id, str(comment.pk)),
        icon=kind.icon,
        said=said_in(comment, _EXCERPT),
        about=format_html(
            about, who=person(comment.author_name, Place.BEGINNING), number=comment.version_number
        ),
        at=comment.created_at,
        workspace_id=comment.workspace_id,
        action=_("Reply"),
    )
