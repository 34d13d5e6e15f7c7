"""Comments on versions, and on fields and lines in them: `editor.comments`.

Members who can read the drafts of a resource may read its comments, and those who can save may write them.
Comments belong to the resource and not to its id, so a later resource with the same id does not inherit them;
those of a code-defined agent stay when its override is deleted.
"""

from __future__ import annotations

import re
import unicodedata
from collections import abc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

import regex
from django.db.models import Q, QuerySet
from django.utils import timezone

from capabilities.review.models import Comment, Mention, columns_about
from capabilities.review.places import checked_quote, start_in, value_at
from versioning.domain.access import APPLICATION, Caller, Right, roles_with
from versioning.domain.errors import Forbidden, Invalid, NotFound
from versioning.domain.events import Reach, Target
from versioning.domain.kinds import kind_named
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.editor import Collection, Editor
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, Workspace, events
from versioning.models.accounts import accounts, accounts_alike, accounts_named
from versioning.models.followers import RESOURCES, Follower
from versioning.models.querysets import covered_by, within
from versioning.models.rules import validate
from versioning.serving.grants import target_of
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A resource whose drafts the caller may read, and its comments."""

    collection: Collection[Any]
    target: Target
    caller: Caller

    @classmethod
    def find(cls, editor: Editor, kind: str, resource_id: str, by: Caller) -> Subject:
        """Return the resource.

        Raises `NotFound` if the caller may not read it, `Forbidden` if the caller may not read its drafts,
        and `Invalid` for an unknown kind.
        """
        collection = editor.collection(kind_named(kind))
        resource = collection.versions(resource_id, by=by).resource
        if resource is not None:
            target = target_of(resource, editor.code)
        else:
            # An agent that only code defines: comments on its overrides remain.
            target = Target(
                kind=kind,
                id=resource_id,
                identity=IN_CODE,
                workspace_id=editor.code.workspace_id,
                reach=Reach.EDITORS,
            )
        return cls(collection=collection, target=target, caller=by)

    @classmethod
    def of(cls, editor: Editor, comment_id: str, by: Caller) -> tuple[Subject, Comment]:
        """Return the resource of a comment, and the comment; raises as `find` does."""
        comment = Comment.objects.select_related("parent").filter(pk=parse_uuid(comment_id)).first()
        if comment is None:
            raise NotFound
        subject = cls.find(editor, comment.kind, comment.resource_id, by)
        if subject.target.identity != comment.identity:
            raise NotFound
        return subject, comment

    def version(self, version_id: str) -> Snapshot:
        """Return a version of the resource; raises `NotFound`."""
        version: Snapshot = self.collection.version(self.target.id, version_id, by=self.caller).version
        return version

    def comment(self, comment_id: str) -> Comment:
        """Return one of its comments; raises `NotFound`."""
        rows = Comment.objects.about(self.target).select_related("parent")
        comment = rows.filter(pk=parse_uuid(comment_id)).first()
        if comment is None:
            raise NotFound
        return comment

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Open a transaction that prevents others from changing its comments or deleting it.

        Raises `Forbidden` without the right to save, and `NotFound` if it has just been deleted.
        """
        self.caller.require(Right.SAVE, self.target.workspace_id)
        with events.transaction():
            events.acts(self.caller)
            if self.target.identity == IN_CODE:
                workspaces = Workspace.objects.select_for_update(no_key=True)
                list(workspaces.filter(pk=self.target.workspace_id))
            elif not list(self.collection.all.with_lock().filter(uuid=self.target.identity).only("pk")):
                raise NotFound
            yield


_OPENING: Final = re.compile(r"(`{3,})suggestion[ \t]*\Z")
_FENCES: Final = re.compile(r"`{3,}")


class Parts(NamedTuple):
    """The parts of a comment."""

    remark: str
    """The text around the block."""
    wording: str | None
    """The suggested wording; None if the comment has none."""


def split_suggestion(body: str) -> Parts:
    """Return the remark and the suggested wording of a comment; further blocks belong to the remark."""
    lines = body.split("\n")
    for number, line in enumerate(lines):
        opening = _OPENING.match(line)
        if opening is None:
            continue
        rest = lines[number + 1 :]
        closing = next((place for place, text in enumerate(rest) if text.rstrip(" \t") == opening[1]), None)
        if closing is None:
            break
        around = ["\n".join(part).strip("\n") for part in (lines[:number], rest[closing + 1 :])]
        return Parts("\n\n".join(filter(None, around)), "\n".join(rest[:closing]))
    return Parts(body, None)


def with_wording(remark: str, wording: str) -> str:
    """Return the text of a comment that suggests a wording."""
    fence = "`" * (max((len(backticks) for backticks in _FENCES.findall(wording)), default=2) + 1)
    return f"{remark}\n\n{fence}suggestion\n{wording}\n{fence}".lstrip("\n")


def replace_quote(text: str, start: int, quote: str, wording: str) -> str | None:
    """Return a text with the quote at a position replaced by a wording; None if the quote is not there."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    match = re.compile(pattern).match(text, start)
    return None if match is None or not pattern else f"{text[:start]}{wording}{text[match.end() :]}"


MAX_MENTIONED: Final = 20
"""The maximum number of people whom a comment notifies."""
MENTION: Final = regex.compile(r"(?<![\w\p{M}@.+/-])@([\w\p{M}@.+-]+)")
"""An `@` and the text after it, in composed text; a mark belongs to the letter before it."""
_MAX_PUNCTUATION: Final = 3
"""The number of punctuation marks at the end that can belong to a name; each is tried."""


def compose(text: str) -> str:
    """Return a text with letters and marks composed, as in user names."""
    return unicodedata.normalize("NFC", text)


def possible_names(mentioned: str) -> list[str]:
    """Return the possible names after an `@`, longest first, because punctuation may end a sentence."""
    shortest = max(len(mentioned.rstrip(".+-@")), 1)
    longest = min(len(mentioned), shortest + _MAX_PUNCTUATION)
    return [mentioned[:end] for end in range(longest, shortest - 1, -1)]


def update_mentions(comment: Comment, event: UUID) -> None:
    """Store the people that a comment mentions; newly mentioned ones are notified of the event.

    Names in a suggested wording mention no one.
    """
    mentioned = {
        user.pk: user for user in _people_in(split_suggestion(comment.body).remark, comment.workspace_id)
    }
    mentions = Mention.objects.filter(comment=comment)
    mentions.exclude(user__in=mentioned).delete()
    new = mentioned.keys() - set(mentions.values_list("user_id", flat=True))
    Mention.objects.bulk_create(Mention(comment=comment, user_id=pk, event=event) for pk in sorted(new))


def _people_in(text: str, workspace_id: str) -> abc.Collection[Any]:
    """Return the mentioned people who can read comments in the workspace."""
    mentioned = list(islice(dict.fromkeys(MENTION.findall(compose(text))), MAX_MENTIONED))
    if not mentioned:
        return ()
    names = {name: possible_names(name) for name in mentioned}
    users = accounts_named({name for possible in names.values() for name in possible})
    exact = {user.get_username(): user for user in users}
    people = {}
    for possible in names.values():
        user = next((exact[name] for name in possible if name in exact), None) or _find_alike(possible)
        if user is not None:
            people[user.pk] = user
    # People with access to drafts in the workspace.
    members = Membership.objects.filter(
        workspace=workspace_id, role__in=roles_with(Right.READ_DRAFTS), is_service=False
    )
    may_read = Q(is_superuser=True) | Q(pk__in=members.values("user"))
    readers = accounts().filter(may_read, pk__in=list(people), is_active=True)
    allowed = set(readers.values_list("pk", flat=True))
    return [user for pk, user in people.items() if pk in allowed]


def _find_alike(names: Iterable[str]) -> Any:
    """Return the only account with one of the names in upper or lower case, or None."""
    for name in names:
        alike = list(accounts_alike(name)[:2])
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None


def check_texts(*, body: str, **texts: str) -> None:
    """Raise `Invalid` if a text of a comment is too long or cannot be stored, or the main one is blank."""
    if not body.strip():
        raise Invalid.field("body", "must not be blank")
    validate(Comment(body=body, **texts), ["body", *texts])


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

        `resolved` is that of the thread. Comments on unreadable resources are omitted.
        """
        members = {"kind": kind, "resource_id": resource_id, "version_id": version_id}
        filters = {name: value for name, value in members.items() if value is not None}
        caller = caller_of(by)
        condition = within("workspace_id", caller.scope(Right.READ_DRAFTS))
        in_code = Q(workspace_id=self.editor.code.workspace_id, resource_id__in=list(self.editor.code.agents))
        condition &= covered_by(caller, "resource_id")
        rows = Comment.objects.filter(**filters).filter(condition & (~Q(identity=IN_CODE) | in_code))
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

        `start` is the offset of the words in the text; by default their first occurrence in the line or the
        text. With `parent` it is a reply: the id of any comment of the thread. A resolved thread stays
        resolved. Raises `NotFound` if there is no such version, and `Invalid` for an invalid text or place.
        """
        caller = caller_of(by)
        check_texts(body=body, field=field, quote=quote)
        subject = Subject.find(self.editor, kind, resource_id, caller)
        with subject.changing():
            first = _find_first(subject, parent)
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
                    check_texts(body=body)
                    comment.body, comment.updated_at = body, timezone.now()
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


# The comments on a code-defined agent outlive its overrides.
FOLLOWER: Final = Follower(
    call=lambda instance, **_signal: Comment.objects.filter(
        kind=instance.kind.slug, identity=instance.uuid
    ).delete(),
    rows=RESOURCES,
)


def _find_first(subject: Subject, parent: str | None) -> Comment | None:
    """Return the first comment of another one's thread; raises `Invalid` if its resource differs."""
    if parent is None:
        return None
    try:
        comment = subject.comment(parent)
    except NotFound:
        raise Invalid.field("parent", "is not a comment on this resource") from None
    return comment.parent or comment


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
    reply = comment.replies.first()
    if reply is None:
        return
    for name in MOVED:
        setattr(reply, name, getattr(comment, name))
    reply.parent = None
    reply.save()
    comment.replies.exclude(pk=reply.pk).update(parent=reply)


def _record(change: str, comment: Comment, subject: Subject) -> UUID:
    """Record a change of a comment, without its text, and return the id of the entry."""
    try:
        version = subject.version(comment.version_id)
    except NotFound:
        version = None  # the version was deleted, and the comment stays
    return events.record(
        f"comment.{change}",
        by=subject.caller,
        workspace_id=comment.workspace_id,
        resource=subject.target,
        version=version,
        commentId=str(comment.pk),
    )
