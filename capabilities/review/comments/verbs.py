"""The verbs of comments, for the API, Python and the studio."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from capabilities.review.about import columns_about
from capabilities.review.comments.mentions import update_mentions
from capabilities.review.comments.places import checked_quote, start_in, value_at
from capabilities.review.comments.subjects import Subject
from capabilities.review.models import Comment
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.domain.overrides import IN_CODE
from versioning.domain.texts import MAX_QUOTE, checked_text
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource, events
from versioning.models.followers import RESOURCES, Follower
from versioning.models.querysets import covered_by, within
from versioning.verbs import Verbs

MAX_BODY: Final = 10_000
"""The maximum length of a comment."""
MAX_FIELD: Final = 500


def checked_body(body: str) -> str:
    """Return the text of a comment; raises `Invalid` if it is blank, too long or cannot be stored."""
    if not body.strip():
        raise Invalid.field("body", "must not be blank")
    return checked_text("body", body, MAX_BODY)


MOVED: Final = (
    "version_id",
    "version_number",
    "field",
    "line",
    "quote",
    "resolved_at",
    "resolved_by_name",
)
"""The attributes of a thread, which its first comment stores."""


class Comments(Verbs):
    """All comments: `editor.comments.add("agent", "writer", version_id, body="…", by=user)`.

    A thread is a comment with its replies. It is about one place, and is resolved and reopened as a whole.
    """

    def list(
        self,
        kind: str | None = None,
        resource_id: str | None = None,
        *,
        version_id: str | None = None,
        resolved: bool | None = None,
        by: Who = APPLICATION,
    ) -> QuerySet[Comment]:
        """Return the comments that the caller may read, oldest first; of one resource, version or state.

        `resolved` is that of the thread. Comments on unreadable resources are left out.
        """
        wanted = {"kind": kind, "resource_id": resource_id, "version_id": version_id}
        given = {name: value for name, value in wanted.items() if value is not None}
        rows = Comment.objects.filter(**given).filter(self._readable_by(caller_of(by)))
        if resolved is not None:
            rows = rows.resolved(resolved=resolved)
        return rows.select_related("parent")

    def get(self, comment_id: str, *, by: Who = APPLICATION) -> Comment:
        """Return a comment; raises `NotFound`, and `Forbidden` without the right to drafts."""
        return Subject.of(self.editor, comment_id, caller_of(by))[1]

    @retry_on_conflict
    def add(
        self,
        kind: str,
        resource_id: str,
        version_id: str,
        *,
        body: str,
        field: str = "",
        line: int | None = None,
        quote: str = "",
        start: int | None = None,
        parent: str | None = None,
        by: Who = APPLICATION,
    ) -> Comment:
        """Comment on a version, or on a field, a line or some words in it.

        `start` is where the words begin in the text; by default where they first do in the line or the text.
        With `parent` it is a reply: the id of any comment of the thread. A resolved thread stays resolved.
        Raises `NotFound` if there is no such version, and `Invalid` for an invalid text or place.
        """
        caller = caller_of(by)
        body, field = checked_body(body), checked_text("field", field, MAX_FIELD)
        quote = checked_text("quote", quote, MAX_QUOTE)
        subject = Subject.find(self.editor, kind, resource_id, caller)
        with subject.changing():
            first = _first_of(subject, parent)
            if first is not None and first.version_id == version_id and not (field or line or quote):
                number, version = first.version_number, None  # which may have been deleted since
            else:
                version = subject.version(version_id)
                number, quote = version.number, checked_quote(version.config, field, line, quote)
                if start is None and field:
                    start = start_in(value_at(version.config, field), line, quote)
            comment = Comment(
                **columns_about(subject.target),
                workspace_id=subject.target.workspace_id,
                version_id=version_id,
                version_number=number,
                field=field,
                line=line,
                start=start,
                quote=quote,
                body=body,
                parent=first,
                author_id=caller.user_id,
                author_name=caller.username or "",
            )
            comment.updated_at = comment.created_at
            comment.save(force_insert=True)
            update_mentions(comment, _record("added", comment, subject))
        return comment

    @retry_on_conflict
    def change(
        self,
        comment_id: str,
        *,
        body: str | None = None,
        resolved: bool | None = None,
        by: Who = APPLICATION,
    ) -> Comment:
        """Change the text of the caller's own comment; resolve or reopen its thread.

        Raises `Forbidden` for another person's text.
        """
        caller = caller_of(by)
        subject, _found = Subject.of(self.editor, comment_id, caller)
        with subject.changing():
            comment = subject.comment(comment_id)
            if body is not None:
                _require_own(comment, caller)
                if body != comment.body:
                    comment.body, comment.updated_at = checked_body(body), timezone.now()
                    comment.save(update_fields=["body", "updated_at"])
                    update_mentions(comment, _record("changed", comment, subject))
            if resolved is not None:
                _resolve(comment.parent or comment, subject, resolved=resolved)
        return comment

    @retry_on_conflict
    def delete(self, comment_id: str, *, by: Who = APPLICATION) -> None:
        """Delete the caller's own comment; raises `Forbidden` for another person's.

        Replies stay: the oldest one becomes the first comment of the thread.
        """
        caller = caller_of(by)
        subject, _found = Subject.of(self.editor, comment_id, caller)
        with subject.changing():
            comment = subject.comment(comment_id)
            _require_own(comment, caller)
            _record("deleted", comment, subject)
            _hand_over(comment)
            comment.delete()

    def _readable_by(self, caller: Caller) -> Q:
        """Return the condition for comments on resources whose drafts the caller may read."""
        condition = within("workspace_id", caller.scope(Right.READ_DRAFTS))
        in_code = Q(workspace_id=self.editor.code.workspace_id, resource_id__in=list(self.editor.code.agents))
        condition &= covered_by(caller, "resource_id")
        return condition & (~Q(identity=IN_CODE) | in_code)


def _delete_with_resource(instance: VersionedResource, **_signal: Any) -> None:
    """Delete the rows of a resource; those of a code-defined agent outlive its overrides."""
    Comment.objects.filter(kind=instance.kind.slug, identity=instance.uuid).delete()


FOLLOWER: Final = Follower(call=_delete_with_resource, rows=RESOURCES)


def _first_of(subject: Subject, parent: str | None) -> Comment | None:
    """Return the first comment of another one's thread; raises `Invalid` if its resource differs."""
    if parent is None:
        return None
    try:
        found = subject.comment(parent)
    except NotFound:
        raise Invalid.field("parent", "is not a comment on this resource") from None
    return found.parent or found


def is_own(comment: Comment, caller: Caller) -> bool:
    """Return whether the caller, or the owner of the key, wrote a comment.

    Comments of deleted accounts have no author; those without an author name are the application's.
    """
    if comment.author_id is None:
        return not comment.author_name and caller.user_id is None
    return bool(comment.author_id == caller.user_id)


def _require_own(comment: Comment, caller: Caller) -> None:
    if not is_own(comment, caller):
        raise Forbidden("Only the person who wrote a comment may change or delete it.")


def _resolve(first: Comment, subject: Subject, *, resolved: bool) -> None:
    """Resolve or reopen a thread by its first comment, unless it already is."""
    if (first.resolved_at is not None) == resolved:
        return
    first.resolved_at = timezone.now() if resolved else None
    first.resolved_by_name = (subject.caller.username or "") if resolved else ""
    first.save(update_fields=["resolved_at", "resolved_by_name"])
    _record("resolved" if resolved else "reopened", first, subject)


def _hand_over(comment: Comment) -> None:
    """Make the oldest reply the first comment of the thread, at the same place."""
    next_one = comment.replies.first()
    if next_one is None:
        return
    for name in MOVED:
        setattr(next_one, name, getattr(comment, name))
    next_one.parent = None
    next_one.save()
    comment.replies.exclude(pk=next_one.pk).update(parent=next_one)


def _record(what: str, comment: Comment, subject: Subject) -> UUID:
    """Record a change of a comment, without its text, and return the id of the entry."""
    try:
        version = subject.version(comment.version_id)
    except NotFound:
        version = None  # the version was deleted, and the comment stays
    return events.record(
        f"comment.{what}",
        by=subject.caller,
        workspace_id=comment.workspace_id,
        resource=subject.target,
        version=version,
        commentId=str(comment.pk),
    )
