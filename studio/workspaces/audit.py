"""The pages of the audit log: of one workspace, or of all that the caller administers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from studio.kinds import KINDS
from studio.workspaces.audit_words import caption, detail_of, target_of, verb_of
from studio.workspaces.base import AdministrationPage, WorkspacePage
from studio.workspaces.dates import DayField, beginning_of, end_of
from versioning.domain.access import Caller
from versioning.domain.events import types
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event

PER_PAGE: Final = 50
MAX_TEXT: Final = 200
MAX_DIGITS: Final = 6


class AuditForm(forms.Form):
    """The filters of the log; none is required."""

    type = forms.ChoiceField(label="What was done", required=False)
    actor = forms.CharField(label="By whom", required=False, max_length=MAX_TEXT)
    target = forms.CharField(label="To what", required=False, max_length=MAX_TEXT)
    since = DayField(label="Since")
    until = DayField(label="Until")

    def __init__(self, data: Any) -> None:
        super().__init__(data, auto_id="filter-%s")
        choices = [("", "Anything"), *((one, caption(one)) for one in types())]
        self.fields["type"].choices = choices  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    @property
    def given(self) -> dict[str, Any]:
        """The filters that are set and valid."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def narrowed(self, entries: QuerySet[Event]) -> QuerySet[Event]:
        """Return the entries that match the filters."""
        given = self.given
        entries = entries.filter(**{name: given[name] for name in ("type", "actor") if name in given})
        if "target" in given:
            named = ("resource_id", "detail__username", "detail__owner", "detail__prefix")
            entries = entries.filter(
                reduce(or_, (Q(**{f"{name}__icontains": given["target"]}) for name in named))
            )
        if "since" in given:
            entries = entries.filter(created_at__gte=beginning_of(given["since"]))
        if "until" in given:
            entries = entries.filter(created_at__lt=end_of(given["until"]))
        return entries


@dataclass(frozen=True, kw_only=True)
class Line:
    """An entry as the page shows it."""

    entry: Event
    words: str
    target: str
    address: str
    """Where its target is; empty for what is not there any more, and for people and keys."""
    versions: tuple[str, ...]
    """What became of which version, such as `version 3 → Git 2f7341a`."""
    detail: str


class AuditPage(AdministrationPage):
    """The log of all workspaces that the caller administers."""

    def get(self, request: HttpRequest, **kwargs: str) -> HttpResponse:
        """Show a page of it, narrowed to what is asked for."""
        form = AuditForm(request.GET)
        number = _page_number(request.GET.get("page"))
        first = (number - 1) * PER_PAGE
        # One more than is shown says whether there is a next page; nothing has to be counted.
        found = list(form.narrowed(self.entries())[first : first + PER_PAGE + 1])
        query = urlencode(form.given)
        return self.page(
            "studio/workspaces/audit.html",
            title="Audit log",
            form=form,
            is_narrowed=bool(form.given),
            lines=lines_of(found[:PER_PAGE], self.caller),
            number=number,
            newer=f"?{query}&page={number - 1}" if number > 1 else "",
            older=f"?{query}&page={number + 1}" if len(found) > PER_PAGE else "",
            shows_workspace=not kwargs,
        )

    def entries(self) -> QuerySet[Event]:
        """Return the entries that this page is about."""
        return self.verbs.audit(by=self.caller)


class WorkspaceAuditPage(WorkspacePage, AuditPage):
    """The log of one workspace."""

    tab = "audit"

    def entries(self) -> QuerySet[Event]:
        """Return the entries of this workspace."""
        workspace = self.verbs.find(self.workspace_id, by=self.caller)
        return super().entries().filter(workspace_id=workspace.pk)


def lines_of(entries: Sequence[Event], caller: Caller) -> list[Line]:
    """Return entries as the page shows them; the number of queries does not depend on their number."""
    numbers = _numbers_of(entries)
    addresses = _addresses_of(entries, caller)
    return [
        Line(
            entry=entry,
            words=verb_of(entry),
            target=target_of(entry),
            address=addresses.get((entry.resource_kind, entry.resource_id), ""),
            versions=tuple(
                numbers.get(version_id, reference_to_id(version_id))
                for version_id in _versions_of(entry)
                if version_id
            ),
            detail=detail_of(entry),
        )
        for entry in entries
    ]


def _versions_of(entry: Event) -> tuple[str, str]:
    """Return the versions before and after."""
    return entry.previous_version_id or entry.detail.get("restoredFrom", ""), entry.version_id


def _numbers_of(entries: Sequence[Event]) -> dict[str, str]:
    """Return the names of versions that are, or were, stored in rows, by id."""
    found = {
        entry.version_id: f"version {entry.version_number}"
        for entry in entries
        if entry.version_number is not None and _is_uuid(entry.version_id)
    }
    named = {version for entry in entries for version in _versions_of(entry)} - found.keys()
    ids = [UUID(version) for version in named if _is_uuid(version)]
    for kind in KINDS:
        rows = kind.model.version_model.objects.filter(pk__in=ids).values_list("pk", "number")
        found |= {str(pk): f"version {number}" for pk, number in rows}
    return found


def _addresses_of(entries: Sequence[Event], caller: Caller) -> dict[tuple[str, str], str]:
    """Return the addresses of resources that the caller may still read, by kind and id."""
    found: dict[tuple[str, str], str] = {}
    for kind in KINDS:
        ids = {entry.resource_id for entry in entries if entry.resource_kind == kind.word}
        rows = kind.collection.list(by=caller).filter(pk__in=ids).values_list("pk", flat=True)
        # An agent that code defines has a history whether or not there is an override in a row.
        readable = {*rows, *(ids & kind.catalog(caller).in_code.keys())}
        found |= {(kind.word, pk): kind.address("history", pk) for pk in readable}
    return found


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _page_number(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return max(1, int(text or 1)) if is_number else 1
