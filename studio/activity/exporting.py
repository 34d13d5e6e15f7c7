"""The activity as a file for spreadsheets, for admins: the audit log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import translation
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.activity.lines import Line, lines_of
from studio.marks import as_text, writing
from studio.permissions import caller_of
from versioning.domain import csv_files
from versioning.domain.csv_files import escaped
from versioning.editor import Editor
from versioning.editor.event_log import EventPage
from versioning.models.connections import give_back

MAX_EVENTS: Final = 100_000
"""How many events a file has at most, the newest ones."""
_AT_ONCE: Final = 500
_COLUMNS: Final = (
    "time",
    "actor",
    "keyPrefix",
    "type",
    "sentence",
    "workspaceId",
    "resourceKind",
    "resourceId",
    "versionId",
    "detail",
)


def audit_file(
    request: HttpRequest, editor: Editor, end: int, wanted: Mapping[str, Any]
) -> StreamingHttpResponse:
    """Return the answer with the events that the caller may see, newest first, sent little by little.

    `wanted` are the filters, as arguments of `editor.event.page`; `end` is a position after every event.
    """

    def read(before: int) -> EventPage:
        return editor.event.page(before=before, limit=_AT_ONCE, by=caller_of(request), **wanted)

    headers = {"Content-Disposition": 'attachment; filename="audit-log.csv"'}
    content = csv_files.lines(_COLUMNS, _rows(read, request, end))
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _rows(read: Callable[[int], EventPage], request: HttpRequest, end: int) -> Iterator[list[str]]:
    """Yield a row for each event; the language is that of the request, which is over by then."""
    language, before, left = translation.get_language(), end, MAX_EVENTS
    while True:
        with translation.override(language), writing():  # the response is sent when the page is over
            page = read(before)
            lines = lines_of(page.events[:left], caller_of(request))
            # All names of the rows are looked up at once.
            words = as_text("\0".join(line.words for line in lines), request).split("\0")
            rows = (
                [_row(line, sentence) for line, sentence in zip(lines, words, strict=True)] if lines else []
            )
        give_back()
        yield from rows
        left -= len(page.events)
        if not page.has_more and left >= 0:
            return
        if left <= 0:
            with translation.override(language):
                said = _("Older events are left out. Narrow the activity to get them.")
            yield [said]
            return
        before = page.next


def _row(line: Line, sentence: str) -> list[str]:
    event = line.event
    cells = (
        event.created_at.isoformat(timespec="seconds"),
        event.actor or "",
        line.key_prefix,
        event.type,
        sentence,
        event.workspace_id or "",
        event.resource_kind,
        event.resource_id,
        event.version_id,
        canonical.dump(event.detail) if event.detail else "",
    )
    return [escaped(str(cell)) for cell in cells]
