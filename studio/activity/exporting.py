"""The activity as a file for spreadsheets, for admins: the audit log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.http import StreamingHttpResponse
from django.utils import translation
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.activity.lines import Line, lines_of
from versioning.domain.access import Caller
from versioning.domain.csv_files import escaped, lines
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


def audit_file(editor: Editor, caller: Caller, end: int, wanted: Mapping[str, Any]) -> StreamingHttpResponse:
    """Return the answer with the events that the caller may see, newest first, sent little by little.

    `wanted` are the filters, as arguments of `editor.event.page`; `end` is a position after every event.
    """

    def read(before: int) -> EventPage:
        return editor.event.page(before=before, limit=_AT_ONCE, by=caller, **wanted)

    headers = {"Content-Disposition": 'attachment; filename="audit-log.csv"'}
    content = lines(_COLUMNS, _rows(read, caller, end))
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _rows(read: Callable[[int], EventPage], caller: Caller, end: int) -> Iterator[list[str]]:
    """Yield a row for each event; the language is that of the request, which is over by then."""
    language, before, left = translation.get_language(), end, MAX_EVENTS
    while True:
        with translation.override(language):
            page = read(before)
            rows = [_row(line) for line in lines_of(page.events[:left], caller)]
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


def _row(line: Line) -> list[str]:
    event = line.event
    cells = (
        event.created_at.isoformat(timespec="seconds"),
        event.actor or "",
        line.key_prefix,
        event.type,
        line.words,
        event.workspace_id or "",
        event.resource_kind,
        event.resource_id,
        event.version_id,
        canonical.dump(event.detail) if event.detail else "",
    )
    return [escaped(str(cell)) for cell in cells]
