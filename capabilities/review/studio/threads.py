"""Threads of comments in the form for pages."""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, Subquery, Value, Window, prefetch_related_objects
from django.db.models.functions import RowNumber
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from capabilities.review.comments import MENTION, compose, is_own, possible_names, split_suggestion
from capabilities.review.models import MAX_BODY, NOT_IN_A_ROW, Comment, Mention, about_own_work
from capabilities.review.places import (
    Content,
    Hint,
    PlaceOfWords,
    follow,
    locate,
    occurrences,
    top,
    value_at,
)
from studio.diff.texts import map_position
from studio.field_words import in_reading_order, words_of
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.limits import shorten
from studio.named import Place, names_of, person, person_name
from studio.panels import Mark, Panel, Slot, VersionOnPage
from studio.tasks import SHOWN, Task, TaskGroup, Urgency
from studio.translation import translate
from studio.workspaces.members import people_address
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot, reference_to_id
from versioning.domain.texts import MAX_QUOTE
from versioning.models import VersionedResource
from versioning.models.querysets import within
from versioning.models.text_keys import begins

THREADS: Final = 20
"""The number of threads on a page."""
REPLIES: Final = 5
"""The number of newest replies of each thread."""
MAX_SHOWN: Final = 1000
"""The maximum length of a comment among others; more is truncated."""


@dataclass(frozen=True, kw_only=True)
class ShownComment:
    """A comment in the form for pages."""

    comment: Comment
    text: str
    left_out: int
    """The number of omitted characters."""
    is_own: bool
    mentioned: Container[str] = ()
    """The user names of the people whom it mentions."""
    wording: str | None = None
    """The suggested wording; None if the comment has none, or is truncated."""

    @classmethod
    def of(cls, comment: Comment, caller: Caller, longest: int) -> ShownComment:
        """Return a comment with its text truncated to the limit."""
        left_out = max(len(comment.body) - longest, 0)
        remark, wording = (comment.body, None) if left_out else split_suggestion(comment.body)
        text = shorten(remark, longest)
        own = is_own(comment, caller)
        mentioned = {user.get_username() for user in comment.mentioned.all()}
        return cls(
            comment=comment, text=text, left_out=left_out, is_own=own, mentioned=mentioned, wording=wording
        )

    @property
    def html(self) -> SafeString:
        """The text with the names of the mentioned people."""
        pieces: list[SafeString] = []
        text, end = compose(self.text), 0
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
                display_name = person_name(name, Place.NAMED)
                pieces.append(format_html('{}<strong class="mention">@{}</strong>', before, display_name))
        return format_html("{}{}", SafeString("".join(pieces)), text[end:])


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A comment with its replies, on the page of a version."""

    first: ShownComment
    replies: Sequence[ShownComment]
    earlier: int
    """The number of earlier replies that are not shown."""
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


@dataclass(frozen=True, kw_only=True)
class ThreadPage:
    """Some of the threads about a version: open ones first, each in order of creation."""

    threads: Sequence[Thread]
    number: int
    """The page number, from 1."""
    pages: int
    open: int
    """The number of open threads."""
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

        These are the threads on it and open ones on earlier versions; for the latest version, all threads.
        """
        resource, version = self.resource, self.version
        rows = Comment.objects.about(target).filter(parent=None)
        if resource is not None and version is not None and version.version_id != resource.latest_id:
            concerning = Q(version_id=version.version_id)
            if version.source == "database":
                in_files, in_git = (begins(F("version_id"), Value(prefix)) for prefix in NOT_IN_A_ROW)
                earlier = Q(resolved_at=None, version_number__lt=version.number)
                concerning |= earlier & ~(in_files | in_git)
            rows = rows.filter(concerning)
        totals = rows.aggregate(all=Count("pk"), open=Count("pk", filter=Q(resolved_at=None)))
        if not totals["all"]:
            return ThreadPage(threads=(), number=1, pages=1, open=0, resolved=0)
        pages = -(-totals["all"] // THREADS)
        number = min(max(number, 1), pages)
        ordered = rows.order_by(F("resolved_at").asc(nulls_first=True), "created_at", "pk")
        threads = list(ordered[(number - 1) * THREADS : number * THREADS])
        replies = _newest_replies(threads)
        prefetch_related_objects([*threads, *chain.from_iterable(replies.values())], "mentioned")
        stored_ids, content = self._find_stored(threads), Content(self.version.config if self.version else {})
        return ThreadPage(
            threads=[
                self._thread(first, replies.get(first.pk, []), stored_ids, content) for first in threads
            ],
            number=number,
            pages=pages,
            open=totals["open"],
            resolved=totals["all"] - totals["open"],
        )

    def whole(self, first: Comment) -> Thread:
        """Return one thread without its replies."""
        return self._thread(first, [], self._find_stored([first]), None, longest=len(first.body))

    def _find_stored(self, comments: Sequence[Comment]) -> set[str]:
        """Return which versions with comments still exist; takes one query."""
        version_ids = {comment.version_id for comment in comments}
        if self.resource is None or not version_ids:
            return set()
        in_rows = [
            uuid.UUID(version_id) for version_id in version_ids if not version_id.startswith(NOT_IN_A_ROW)
        ]
        rows = self.resource.versions.filter(pk__in=in_rows).values_list("pk", flat=True) if in_rows else ()
        pointers = self.resource.pointers
        outside_rows = {
            version_id
            for version_id in version_ids
            if version_id.startswith(NOT_IN_A_ROW) and pointers and pointers.find(version_id)
        }
        return {str(row) for row in rows} | outside_rows

    def _thread(
        self,
        first: Comment,
        replies: Sequence[Any],
        stored_ids: Container[str],
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
            version_address=version_address if first.version_id in stored_ids else "",
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
    are followed from there. If it is unknown, the text and the line named by the comment are tried first.
    """
    if not comment.quote or not comment.field:
        return None
    name = top(config, comment.field)
    places = occurrences(config, name, comment.quote)
    if comment.start is None or len(places) < 2:
        return locate(config, name, comment.quote, Hint(comment.field, comment.line))
    before = PlaceOfWords(comment.field, comment.line, comment.start)
    if written_on is None or written_on == config:
        return min(places, key=lambda place: (place.path != before.path, abs(place.start - before.start)))
    return follow(written_on, config, before, places, map_position)


def commentable(version: Snapshot) -> list[tuple[str, str]]:
    """Return the names and titles of the fields that accept comments: those that are set."""
    names = in_reading_order(name for name, value in version.config.items() if value is not None)
    return [(name, words_of(name).title) for name in names]


def said_in(comment: Comment, longest: int) -> str:
    """Return the text of a comment with the block of a suggestion replaced by a sentence."""
    remark, wording = split_suggestion(comment.body)
    return shorten(remark or _("Suggested wording: {wording}").format(wording=wording), longest)


def version_in_words(comment: Comment) -> str:
    """Return the name of a comment's version for use in a sentence."""
    if comment.version_id.startswith(NOT_IN_A_ROW):
        return translate(reference_to_id(comment.version_id))
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
        place = _("%(field)s, %(path)s") % {"field": place, "path": shorten(".".join(path))}
    if comment.line is not None:
        place = _("%(place)s, line %(number)d") % {"place": place, "number": comment.line}
    return place


PAGES: Final = frozenset({"version", "compare", "edit", "publish", "review"})
EDIT: Final = "edit"
PARAMETER: Final = "comments"
"""The query parameter with the page number of the threads."""
EXCERPT: Final = 300
"""The number of characters of a comment that are shown at its marked words."""
FILES: Final[dict[str, Any]] = {
    "stylesheets": ["review/comments.css"],
    "scripts": ["review/comments.js", "review/mentions.js"],
}


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the threads below their fields, and all others in the slot for the whole version.

    On the edit page, whose fields are in a form, all are at the side, and a field shows their number.
    """
    viewpoint = Viewpoint(
        kind=shown.kind, resource=shown.resource, version=shown.version, caller=shown.caller
    )
    requested = shown.request.GET.get(PARAMETER, "")
    is_number = requested.isascii() and requested.isdecimal() and len(requested) < len("1000000")
    page = viewpoint.page(shown.target, int(requested) if is_number else 1)
    common = {
        "version": shown.version,
        "may_save": Right.SAVE in shown.rights,
        "is_editing": shown.page == EDIT,
        "add_address": shown.kind.address("comments", shown.resource.pk),
        "next": shown.request.get_full_path(),
        "max_body": MAX_BODY,
        "max_quote": MAX_QUOTE,
    }
    fields = shown.fields if shown.page != EDIT else ()
    for name in shown.fields:
        threads = [thread for thread in page.threads if thread.field == name]
        if shown.page == EDIT:
            template, context = "review/comments/count.html", {"count": _open_in(threads), "name": name}
        else:
            template, context = ("review/comments/field.html", {**common, "name": name, **_by_state(threads)})
            context["field_title"] = words_of(name).title
        html = render_to_string(template, context, request=shown.request)
        marks = _marks(shown, threads) if threads and shown.page == EDIT else ()
        yield Panel(slot=Slot.FIELD, field=name, html=html, marks=marks, **FILES)
    other_threads = [thread for thread in page.threads if thread.field not in fields]
    beside = [thread for thread in page.threads if thread.field in fields]
    context = {
        **common,
        **_by_state(other_threads),
        "earlier_address": _page_address(shown.request, page, page.number - 1),
        "later_address": _page_address(shown.request, page, page.number + 1),
        "threads": page,
        "commentable": commentable(shown.version),
        "beside": _open_in(beside),
        "people_address": people_address(shown.resource.workspace_id, persons=True),
    }
    html = render_to_string("review/comments/version.html", context, request=shown.request)
    yield Panel(slot=Slot.VERSION, html=html, **FILES)


def _marks(shown: VersionOnPage, threads: list[Thread]) -> list[Mark]:
    """Return the words that open threads quote, where the configuration still has them; at most one query."""
    config = shown.version.config
    current = [thread for thread in threads if thread.comment.resolved_at is None and not thread.is_outdated]
    written_on = _configs(shown, [thread.comment for thread in current])
    marks = []
    for thread in current:
        comment = thread.comment
        place = where(config, comment, written_on.get(comment.version_id))
        if place is not None:
            author = comment.author_name or _("The application")
            says = said_in(comment, EXCERPT)
            address = f"#comment-{comment.pk}"
            before = value_at(config, place.path)[: place.start]
            mark = Mark(
                path=place.path,
                words=comment.quote,
                line=place.line,
                start=len(before.encode("utf-16-le", "surrogatepass")) // 2,  # in JavaScript's units
                by=author,
                says=says,
                address=address,
            )
            marks.append(mark)
    return marks


def _configs(shown: VersionOnPage, comments: Sequence[Comment]) -> dict[str, Config]:
    """Return the configurations of earlier versions with comments whose words have to be followed, by id."""
    config = shown.version.config
    version_ids = {
        comment.version_id
        for comment in comments
        if comment.version_id != shown.version.version_id
        and comment.start is not None
        and len(occurrences(config, top(config, comment.field), comment.quote)) > 1
    }
    pointers = shown.resource.pointers
    configs = {
        version_id: version.config
        for version_id in version_ids
        if pointers and (version := pointers.find(version_id))
    }
    in_rows = version_ids - configs.keys() if shown.resource.is_stored else ()
    ids = [UUID(row) for row in in_rows if not row.startswith(NOT_IN_A_ROW)]
    rows = shown.resource.versions.filter(pk__in=ids).only("pk", "config_json") if ids else ()
    return configs | {version.version_id: version.config for version in rows}


def _by_state(threads: list[Thread]) -> dict[str, list[Thread]]:
    return {
        "open": [thread for thread in threads if thread.comment.resolved_at is None],
        "resolved": [thread for thread in threads if thread.comment.resolved_at is not None],
    }


def _open_in(threads: list[Thread]) -> int:
    return sum(thread.comment.resolved_at is None for thread in threads)


def _page_address(request: HttpRequest, page: ThreadPage, number: int) -> str:
    """Return the address of another page of the threads; empty if there is none."""
    if not 1 <= number <= page.pages:
        return ""
    query = request.GET.copy()
    query[PARAMETER] = str(number)
    return f"?{query.urlencode()}#comments"


_COUNTED: Final = 100
_EXCERPT: Final = 300
"""The number of characters of a comment that are shown."""


def tasks(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the open threads whose last comment is another person's."""
    last = waiting_for(caller)
    names = names_of([(comment.kind, comment.resource_id) for comment in last[:SHOWN]], caller)
    yield TaskGroup(
        key="comments",
        urgency=Urgency.ASKED,
        title=_("Comments for you"),
        tasks=[
            _task(comment, names.get((comment.kind, comment.resource_id), comment.resource_id))
            for comment in last[:SHOWN]
        ],
        count=len(last),
    )


def waiting_for(caller: Caller) -> list[Comment]:
    """Return the last comments of the open threads that wait for the person, newest first; one statement.

    These are the threads that they began, that mention them, and those about versions that they saved last.
    """
    if caller.user_id is None:
        return []
    comments: Any = Comment.objects.order_by("-created_at", "-pk")
    of_thread = comments.filter(Q(pk=OuterRef("pk")) | Q(parent=OuterRef("pk")))
    of_comments = Q(comment=OuterRef("pk")) | Q(comment__parent=OuterRef("pk"))
    mentions: Any = Mention.objects.filter(of_comments, user_id=caller.user_id).order_by()
    personal = Q(author=caller.user_id) | Q(Exists(mentions)) | about_own_work(caller)
    threads = Comment.objects.filter(
        personal, within("workspace_id", caller.scope(Right.READ_DRAFTS)), parent=None, resolved_at=None
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
