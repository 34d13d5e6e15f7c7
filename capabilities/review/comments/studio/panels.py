"""Comments next to the fields of a version, and at the side of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from capabilities.review.comments.places import occurrences, top, value_at
from capabilities.review.comments.studio.threads import (
    Thread,
    ThreadPage,
    Viewpoint,
    commentable,
    said_in,
    where,
)
from capabilities.review.comments.verbs import MAX_BODY
from capabilities.review.models import Comment
from capabilities.review.models.reviews import NOT_IN_A_ROW
from studio.field_words import words_of
from studio.panels import Mark, Panel, Slot, VersionOnPage
from studio.workspaces.members import people_address
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.texts import MAX_QUOTE

PAGES: Final = frozenset({"version", "compare", "edit", "publish", "review"})
EDIT: Final = "edit"
PARAMETER: Final = "comments"
"""The query parameter with the page number of the threads."""
EXCERPT: Final = 300
"""How many characters of a comment are shown where its words are marked."""
FILES: Final[dict[str, Any]] = {
    "stylesheets": ["review/comments.css"],
    "scripts": ["review/comments.js", "review/mentions.js"],
}


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the threads below their fields, and all others in the slot for the whole version.

    On the edit page, whose fields are in a form, all are at the side, and a field shows their number.
    """
    seen = Viewpoint(kind=shown.kind, resource=shown.resource, version=shown.version, caller=shown.caller)
    requested = shown.request.GET.get(PARAMETER, "")
    is_number = requested.isascii() and requested.isdecimal() and len(requested) < len("1000000")
    page = seen.page(shown.target, int(requested) if is_number else 1)
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
        own = [thread for thread in page.threads if thread.field == name]
        if shown.page == EDIT:
            template, context = "review/comments/count.html", {"count": _open_in(own), "name": name}
        else:
            template, context = "review/comments/field.html", {**common, "name": name, **_sorted(own)}
            context["field_title"] = words_of(name).title
        html = render_to_string(template, context, request=shown.request)
        marks = _marks(shown, own) if own and shown.page == EDIT else ()
        yield Panel(slot=Slot.FIELD, field=name, html=html, marks=marks, **FILES)
    others = [thread for thread in page.threads if thread.field not in fields]
    beside = [thread for thread in page.threads if thread.field in fields]
    context = {
        **common,
        **_sorted(others),
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
    current = [thread for thread in threads if not thread.is_resolved and not thread.is_outdated]
    written_on = _configs(shown, [thread.comment for thread in current])
    found = []
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
                start=len(before.encode("utf-16-le", "surrogatepass")) // 2,  # as JavaScript counts
                by=author,
                says=says,
                address=address,
            )
            found.append(mark)
    return found


def _configs(shown: VersionOnPage, comments: Sequence[Comment]) -> dict[str, Config]:
    """Return the configurations of earlier versions with comments whose words have to be followed, by id."""
    config = shown.version.config
    wanted = {
        comment.version_id
        for comment in comments
        if comment.version_id != shown.version.version_id
        and comment.start is not None
        and len(occurrences(config, top(config, comment.field), comment.quote)) > 1
    }
    pointers = shown.resource.pointers
    found = {one: version.config for one in wanted if pointers and (version := pointers.find(one))}
    in_rows = wanted - found.keys() if shown.resource.is_stored else ()
    ids = [UUID(row) for row in in_rows if not row.startswith(NOT_IN_A_ROW)]
    rows = shown.resource.versions.filter(pk__in=ids).only("pk", "config_json") if ids else ()
    return found | {version.version_id: version.config for version in rows}


def _sorted(threads: list[Thread]) -> dict[str, list[Thread]]:
    return {
        "open": [thread for thread in threads if not thread.is_resolved],
        "resolved": [thread for thread in threads if thread.is_resolved],
    }


def _open_in(threads: list[Thread]) -> int:
    return sum(not thread.is_resolved for thread in threads)


def _page_address(request: HttpRequest, page: ThreadPage, number: int) -> str:
    """Return the address of another page of the threads; empty if there is none."""
    if not 1 <= number <= page.pages:
        return ""
    query = request.GET.copy()
    query[PARAMETER] = str(number)
    return f"?{query.urlencode()}#comments"
