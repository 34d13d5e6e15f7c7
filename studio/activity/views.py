"""The activity on the home page, in a workspace, and of a resource: views of the log for one reader.

For admins the same page is the audit log, because they also see members and keys in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from editor_client.shared import canonical
from editor_client.shared.text_keys import collation_key

from studio.activity.lines import EventLine, lines_of
from studio.activity.sentences import group_types
from studio.marks import as_text, writing
from studio.named import named_like
from studio.permissions import caller_of
from studio.resources.base import ResourcePage
from studio.views import StudioPage
from studio.workspaces.views import DayField, WorkspacePage, end_of, start_of_day
from versioning.domain import csv_files
from versioning.domain.access import Caller, Right
from versioning.domain.csv_files import escape_cell
from versioning.domain.errors import Forbidden
from versioning.domain.events import Audience, matching, types
from versioning.domain.kinds import KINDS
from versioning.editor import Editor
from versioning.editor.event_log import EventPage
from versioning.models import Event
from versioning.models.accounts import known_name
from versioning.models.storage import give_back
from versioning.models.text_keys import contains_caseless

MAX_EVENTS: Final = 100_000
"""The maximum number of events in a file: the newest ones."""
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
    request: HttpRequest, editor: Editor, end: int, filters: Mapping[str, Any]
) -> StreamingHttpResponse:
    """Return the streamed answer with the events that the caller may see, newest first.

    `filters` are arguments of `editor.event.page`; `end` is a position after every event.
    """

    def read(before: int) -> EventPage:
        return editor.event.page(before=before, limit=_AT_ONCE, by=caller_of(request), **filters)

    headers = {"Content-Disposition": 'attachment; filename="audit-log.csv"'}
    content = csv_files.lines(_COLUMNS, _rows(read, request, end))
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _rows(read: Callable[[int], EventPage], request: HttpRequest, end: int) -> Iterator[list[str]]:
    """Yield a row for each event, in the language of the request, which has ended by then."""
    language, before, remaining = translation.get_language(), end, MAX_EVENTS
    while True:
        with translation.override(language), writing():  # the response is sent after the page has ended
            page = read(before)
            lines = lines_of(page.events[:remaining], caller_of(request))
            # All names in the rows are looked up together.
            words = as_text("\0".join(line.words for line in lines), request).split("\0")
            rows = (
                [_row(line, sentence) for line, sentence in zip(lines, words, strict=True)] if lines else []
            )
        give_back()
        yield from rows
        remaining -= len(page.events)
        if not page.has_more and remaining >= 0:
            return
        if remaining <= 0:
            with translation.override(language):
                notice = gettext("Older events are left out. Narrow the activity to get them.")
            yield [notice]
            return
        before = page.next


def _row(line: EventLine, sentence: str) -> list[str]:
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
    return [escape_cell(str(cell)) for cell in cells]


MAX_TEXT: Final = 200
_MEMBERS: Final = ("username", "owner", "prefix")
"""The members in which the detail of an event names its objects: members, owners of keys, and keys."""


class ActivityForm(forms.Form):
    """The filters; none is required."""

    type = forms.ChoiceField(label=_("What happened"), required=False)
    actor = forms.CharField(label=_("Who"), required=False, max_length=MAX_TEXT)
    target = forms.CharField(label=_("To what"), required=False, max_length=MAX_TEXT)
    since = DayField(label=_("Since"))
    until = DayField(label=_("Until"))

    def __init__(self, data: Any, *, types: Collection[str], of_one: bool, caller: Caller) -> None:
        super().__init__(data, auto_id="filter-%s")
        self.caller = caller
        groups = [
            (group.title, [(group.pattern, group.anything), *group.types]) for group in group_types(types)
        ]
        choices: list[Any] = [("", gettext("Anything")), *groups]
        self.fields["type"].choices = choices  # type: ignore[attr-defined]
        if of_one:
            del self.fields["target"]
        for field in self.fields.values():
            field.widget.attrs |= {"class": "input", "dir": "auto"}
        self.fields["actor"].widget.attrs |= {"list": "known-actors", "autocomplete": "off"}

    def clean_actor(self) -> str:
        actor: str = self.cleaned_data["actor"]
        return known_name(actor) if actor else ""

    @property
    def filters(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def arguments(self) -> dict[str, Any]:
        """The filters as arguments of `editor.event.page`."""
        filters = self.filters
        return {
            "types": frozenset(matching([filters["type"]])) if "type" in filters else None,
            "actor": filters.get("actor"),
            "where": self._condition(filters),
        }

    def _condition(self, filters: dict[str, Any]) -> Q:
        condition = Q()
        if "target" in filters:
            target = filters["target"]
            texts = ["resource_id", *(KeyTextTransform(name, "detail") for name in _MEMBERS)]
            in_texts = reduce(or_, (contains_caseless(text, target) for text in texts))
            condition &= in_texts | named_like(target, self.caller)
        if "since" in filters:
            condition &= Q(created_at__gte=start_of_day(filters["since"]))
        if "until" in filters:
            condition &= Q(created_at__lt=end_of(filters["until"]))
        return condition


PER_PAGE: Final = 50
MAX_DIGITS: Final = 18
END: Final = 10**MAX_DIGITS
"""A position after every event."""


def latest(editor: Editor, caller: Caller, limit: int) -> Sequence[Event]:
    return editor.event.page(before=END, limit=limit, by=caller).events


class ActivityPage(StudioPage):
    of_one = False
    """Whether the page is about one resource."""
    shows_workspace = True

    @property
    def scope(self) -> Mapping[str, Any]:
        """The scope of the page, as arguments of `editor.event.page`."""
        return {}

    def get(self, request: HttpRequest, **_address: str) -> HttpResponseBase:
        """Show a page of the filtered events; for admins also as a file. The newest page updates itself."""
        form = ActivityForm(request.GET, types=self.types(), of_one=self.of_one, caller=self.caller)
        if request.GET.get("format") == "csv":
            scope = self.scope
            if not self.administers():
                raise Forbidden("The audit log is for admins.")
            return audit_file(request, self.editor, END, {**form.arguments, **scope})
        text = request.GET.get("before", "")
        is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        before = int(text) if is_number else None
        if before is None:
            self.listen(self.scope)
        page = self.editor.event.page(
            before=END if before is None else before,
            limit=PER_PAGE,
            by=self.caller,
            **form.arguments,
            **self.scope,
        )
        query = urlencode(form.filters)
        as_file = urlencode({**form.filters, "format": "csv"})
        return self.page(
            "studio/activity/activity.html",
            title=gettext("Activity"),
            form=form,
            is_narrowed=bool(form.filters),
            lines=lines_of(page.events, self.caller, of_one=self.of_one),
            actors=sorted({event.actor for event in page.events if event.actor}, key=collation_key),
            newest="" if before is None else f"?{query}",
            older=f"?{query}&before={page.next}" if page.has_more else "",
            shows_workspace=self.shows_workspace,
            file_address=f"{request.path}?{as_file}" if self.administers() else "",
        )

    def types(self) -> list[str]:
        is_admin, reads_drafts = self.administers(), self.reads_drafts()
        kinds = {kind.slug for kind in KINDS}
        return [
            event_type
            for event_type, audience in types().items()
            if (is_admin or audience is not Audience.ADMINS)
            and (reads_drafts or audience is not Audience.EDITORS or event_type.partition(".")[0] in kinds)
        ]

    def reads_drafts(self) -> bool:
        scope = self.caller.scope(Right.READ_DRAFTS)
        return scope is None or bool(scope)

    def administers(self) -> bool:
        scope = self.caller.scope(Right.ADMINISTER)
        return scope is None or bool(scope)


class WorkspaceActivityPage(WorkspacePage, ActivityPage):
    tab = "activity"
    right = Right.READ
    shows_workspace = False

    @property
    def scope(self) -> Mapping[str, Any]:
        return {"workspace_id": self.workspace.pk}

    def administers(self) -> bool:
        return self.may(Right.ADMINISTER)

    def reads_drafts(self) -> bool:
        return self.may(Right.READ_DRAFTS)


class ResourceActivityPage(ResourcePage, ActivityPage):
    tab = "activity"
    of_one = True
    shows_workspace = False

    @property
    def scope(self) -> Mapping[str, Any]:
        return {"resource_kind": self.kind.slug, "resource_id": self.summary.entry.id}

    def types(self) -> list[str]:
        other_kinds = {kind.slug for kind in KINDS} - {self.kind.slug}
        return [
            event_type for event_type in super().types() if event_type.partition(".")[0] not in other_kinds
        ]

    def administers(self) -> bool:
        """Return False: events for admins are never about a resource."""
        return False

    def reads_drafts(self) -> bool:
        return self.may(Right.READ_DRAFTS)
