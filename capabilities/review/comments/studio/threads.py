"""The threads on the page of a version: its own, and open ones of earlier versions."""

from __future__ import annotations

import uuid
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.db.models import Count, F, Q, Value, Window, prefetch_related_objects
from django.db.models.functions import RowNumber
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from capabilities.review.comments.mentions import MENTION, composed, possible_names
from capabilities.review.comments.places import (
    Content,
    Hint,
    PlaceOfWords,
    followed,
    located,
    occurrences,
    top,
)
from capabilities.review.comments.suggestions import parts_of
from capabilities.review.comments.verbs import is_own
from capabilities.review.models import Comment
from capabilities.review.models.reviews import NOT_IN_A_ROW
from studio.diff.texts import moved
from studio.field_words import in_reading_order, words_of
from studio.kinds import StudioKind
from studio.limits import shortened
from studio.named import Place, person_name
from studio.translation import translated
from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot, reference_to_id
from versioning.models import VersionedResource
from versioning.models.text_keys import begins

THREADS: Final = 20
"""How many threads a page shows."""
REPLIES: Final = 5
"""How many replies of each, the newest."""
MAX_SHOWN: Final = 1000
"""The maximum length of a comment among others; more is left out."""


@dataclass(frozen=True, kw_only=True)
class ShownComment:
    """A comment as a page shows it."""

    comment: Comment
    text: str
    left_out: int
    """How many characters were left out."""
    is_own: bool
    mentioned: Container[str] = ()
    """The user names of the people whom it mentions."""
    wording: str | None = None
    """The suggested wording; None if the comment has none, or is truncated."""

    @classmethod
    def of(cls, comment: Comment, caller: Caller, longest: int) -> ShownComment:
        """Return a comment with its text truncated to the limit."""
        left_out = max(len(comment.body) - longest, 0)
        remark, wording = (comment.body, None) if left_out else parts_of(comment.body)
        text = shortened(remark, longest)
        own = is_own(comment, caller)
        mentioned = {user.get_username() for user in comment.mentioned.all()}
        return cls(
            comment=comment, text=text, left_out=left_out, is_own=own, mentioned=mentioned, wording=wording
        )

    @property
    def html(self) -> SafeString:
        """The text with the names of the mentioned people."""
        pieces: list[SafeString] = []
        text, end = composed(self.text), 0
        for match in MENTION.finditer(text):
            name = next(
                (
                    possible_name
                    for possible_name in possible_names(match[1])
                    if possible_name in self.mentioned
                ),
                None,
            )
            if name is not None:
                before, end = text[end : match.start()], match.start() + len(name) + 1
                shown = person_name(name, Place.NAMED)
                pieces.append(format_html('{}<strong class="mention">@{}</strong>', before, shown))
        return format_html("{}{}", SafeString("".join(pieces)), text[end:])

    @property
    def is_edited(self) -> bool:
        """Whether the text was changed."""
        return self.comment.updated_at != self.comment.created_at

    @property
    def state(self) -> str:
        """What changes whenever the text of the comment does."""
        return self.comment.updated_at.isoformat()


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A comment with its replies, on the page of a version."""

    first: ShownComment
    replies: Sequence[ShownComment]
    earlier: int
    """How many earlier replies are not shown."""
    field: str
    """The name of its field; empty for the version as a whole."""
    place: str
    """The place in words."""
    is_outdated: bool
    version: str
    """The version that it was written on, for use in a sentence; empty for the version on the page."""
    version_address: str
    """The address of that version; empty if it was deleted."""
    address: str
    """The address of the thread's page."""

    @property
    def comment(self) -> Comment:
        """The comment that begins it."""
        return self.first.comment

    @property
    def is_resolved(self) -> bool:
        """Whether it is resolved."""
        return self.comment.resolved_at is not None


@dataclass(frozen=True, kw_only=True)
class ThreadPage:
    """Some of the threads about a version: open ones first, each in order of creation."""

    threads: Sequence[Thread]
    number: int
    """The page number, from 1."""
    pages: int
    open: int
    """How many threads are open."""
    resolved: int


@dataclass(frozen=True, kw_only=True)
class Viewpoint:
    """The context in which threads are shown: the version, and the reader."""

    kind: StudioKind
    resource: VersionedResource | None
    """None for an agent that only code defines."""
    version: Snapshot | None
    """The version on the page; None on the page of a thread."""
    caller: Caller

    def page(self, target: Target, number: int = 1) -> ThreadPage:
        """Return a page of the threads that concern the version; takes five queries.

        These are the threads on it, and open ones on earlier versions; of the latest version, all.
        """
        resource, version = self.resource, self.version
        rows = Comment.objects.about(target).filter(parent=None)
        if resource is not None and version is not None and version.version_id != resource.latest_id:
            concerning = Q(version_id=version.version_id)
            if version.source == "database":
                in_files, in_git = (begins(F("version_id"), Value(one)) for one in NOT_IN_A_ROW)
                earlier = Q(resolved_at=None, version_number__lt=version.number)
                concerning |= earlier & ~(in_files | in_git)
            rows = rows.filter(concerning)
        counted = rows.aggregate(all=Count("pk"), open=Count("pk", filter=Q(resolved_at=None)))
        if not counted["all"]:
            return ThreadPage(threads=(), number=1, pages=1, open=0, resolved=0)
        pages = -(-counted["all"] // THREADS)
        number = min(max(number, 1), pages)
        ordered = rows.order_by(F("resolved_at").asc(nulls_first=True), "created_at", "pk")
        found = list(ordered[(number - 1) * THREADS : number * THREADS])
        replies = _newest_replies(found)
        prefetch_related_objects([*found, *chain.from_iterable(replies.values())], "mentioned")
        stored, content = self._stored(found), Content(self.version.config if self.version else {})
        return ThreadPage(
            threads=[self._thread(first, replies.get(first.pk, []), stored, content) for first in found],
            number=number,
            pages=pages,
            open=counted["open"],
            resolved=counted["all"] - counted["open"],
        )

    def whole(self, first: Comment) -> Thread:
        """Return one thread without its replies."""
        return self._thread(first, [], self._stored([first]), None, longest=len(first.body))

    def _stored(self, comments: Sequence[Comment]) -> set[str]:
        """Return which versions with comments still exist; takes one query."""
        wanted = {comment.version_id for comment in comments}
        if self.resource is None or not wanted:
            return set()
        in_rows = [uuid.UUID(one) for one in wanted if not one.startswith(NOT_IN_A_ROW)]
        rows = self.resource.versions.filter(pk__in=in_rows).values_list("pk", flat=True) if in_rows else ()
        pointers = self.resource.pointers
        kept = {one for one in wanted if one.startswith(NOT_IN_A_ROW) and pointers and pointers.find(one)}
        return {str(row) for row in rows} | kept

    def _thread(
        self,
        first: Comment,
        replies: Sequence[Any],
        stored: Container[str],
        content: Content | None,
        *,
        longest: int = MAX_SHOWN,
    ) -> Thread:
        version = self.version
        is_here = version is not None and first.version_id == version.version_id
        version_address = self.kind.address("version", first.resource_id, first.version_id)
        return Thread(
            first=ShownComment.of(first, self.caller, longest),
            replies=[ShownComment.of(reply, self.caller, longest) for reply in replies],
            earlier=replies[0].total - len(replies) if replies else 0,
            field=top(version.config if version else {}, first.field),
            place=place_in_words(first),
            is_outdated=not is_here and content is not None and content.lacks(first.field, first.quote),
            version="" if is_here else version_in_words(first),
            version_address=version_address if first.version_id in stored else "",
            address=self.kind.address("comment", first.resource_id, str(first.pk)),
        )


def _newest_replies(threads: Sequence[Comment]) -> dict[Any, list[Any]]:
    """Return the newest replies of threads, oldest first, with their number as `total`; one query."""
    if not threads:
        return {}
    newest_first = [F("created_at").desc(), F("pk").desc()]
    place = Window(RowNumber(), partition_by=F("parent_id"), order_by=newest_first)
    total = Window(Count("pk"), partition_by=F("parent_id"))
    replies = Comment.objects.filter(parent__in=[first.pk for first in threads])
    by_thread: dict[Any, list[Any]] = {}
    newest = replies.annotate(place=place, total=total).filter(place__lte=REPLIES)
    for reply in newest.order_by("created_at", "pk"):
        by_thread.setdefault(reply.parent_id, []).append(reply)
    return by_thread


def where(config: Config, comment: Comment, written_on: Config | None = None) -> PlaceOfWords | None:
    """Return the place of the words of a comment in a configuration; None if no text has them.

    `written_on` is the configuration of the version that was commented on, if it is another one: the words
    are followed from there. If it is unknown, the text and the line that the comment names go first.
    """
    if not comment.quote or not comment.field:
        return None
    name = top(config, comment.field)
    places = occurrences(config, name, comment.quote)
    if comment.start is None or len(places) < 2:
        return located(config, name, comment.quote, Hint(comment.field, comment.line))
    before = PlaceOfWords(comment.field, comment.line, comment.start)
    if written_on is None or written_on == config:
        return min(places, key=lambda place: (place.path != before.path, abs(place.start - before.start)))
    return followed(written_on, config, before, places, moved)


def commentable(version: Snapshot) -> list[tuple[str, str]]:
    """Return the names and titles of the fields that accept comments: those that are set."""
    names = in_reading_order(name for name, value in version.config.items() if value is not None)
    return [(name, words_of(name).title) for name in names]


def said_in(comment: Comment, longest: int) -> str:
    """Return the text of a comment without the block of a suggestion, which it says in a sentence instead."""
    remark, wording = parts_of(comment.body)
    return shortened(remark or _("Suggested wording: {wording}").format(wording=wording), longest)


def version_in_words(comment: Comment) -> str:
    """Return the name of a comment's version for use in a sentence."""
    if comment.version_id.startswith(NOT_IN_A_ROW):
        return translated(reference_to_id(comment.version_id))
    return _("version {number}").format(number=comment.version_number)


def place_in_words(comment: Comment) -> str:
    """Return the place of a comment in the version: `Instructions, block 2, line 3`."""
    if not comment.field:
        return ""
    name, *path = comment.field.split(".")
    place = words_of(name).title
    if path and path[0].isdecimal():
        number = int(path[0]) + 1
        place = _("%(field)s, block %(number)d") % {"field": place, "number": number}
        path = [] if path[1:] == ["content"] else path[1:]
    if path:
        place = _("%(field)s, %(path)s") % {"field": place, "path": shortened(".".join(path))}
    if comment.line is not None:
        place = _("%(place)s, line %(number)d") % {"place": place, "number": comment.line}
    return place
