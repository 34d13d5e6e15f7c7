"""The pages of the audit log: who did what, and when; of one workspace, or of all that one administers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from studio.kinds import KINDS
from studio.workspaces.dates import DayField, beginning_of, end_of
from studio.workspaces.views import AdministrationPage, WorkspacePage
from versioning.domain.access import Caller
from versioning.domain.snapshots import reference_to_id
from versioning.models import Action, AuditEntry

PER_PAGE: Final = 50
MAX_TEXT: Final = 200
MAX_DIGITS: Final = 6
WORDS: Final[Mapping[str, str]] = {
    Action.PUBLISH: "published",
    Action.UNPUBLISH: "unpublished",
    Action.LABEL: "labelled",
    Action.RESTORE: "restored",
    Action.DELETE: "deleted",
    Action.DELETE_VERSION: "deleted a version of",
    Action.PRUNE: "pruned old versions of",
    Action.VISIBILITY: "changed the visibility of",
    Action.ROLE: "changed the role of",
    Action.KEY_ISSUED: "made",
    Action.KEY_REVOKED: "revoked",
    Action.INVITATION_MADE: "invited",
    Action.INVITATION_WITHDRAWN: "withdrew the invitation of",
    Action.WORKSPACE_CREATED: "made",
    Action.WORKSPACE_RENAMED: "renamed",
}


def _of_role(detail: Mapping[str, Any]) -> str:
    change = " → ".join(role for role in (detail.get("from"), detail.get("to")) if role)
    inviter = detail.get("invitedBy")
    return f"{change}, invited by {inviter}" if inviter else change


def _of_key(detail: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (detail.get("name"), detail.get("role"))))


DETAILS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    Action.ROLE: _of_role,
    Action.VISIBILITY: lambda detail: f"{detail.get('before')} → {detail.get('after')}",
    Action.KEY_ISSUED: _of_key,
    Action.KEY_REVOKED: _of_key,
    Action.PRUNE: lambda detail: f"{len(detail.get('numbers', []))} versions",
    Action.DELETE_VERSION: lambda detail: f"version {detail.get('number')}",
    Action.INVITATION_MADE: lambda detail: str(detail.get("role", "")),
    Action.INVITATION_WITHDRAWN: lambda detail: str(detail.get("role", "")),
    Action.WORKSPACE_CREATED: lambda detail: str(detail.get("name", "")),
    Action.WORKSPACE_RENAMED: lambda detail: f"{detail.get('from')} → {detail.get('to')}",
}
"""What the entry of an action says beside its target and versions; the others may name a label."""


class AuditForm(forms.Form):
    """What the log can be narrowed by; nothing is required."""

    action = forms.ChoiceField(label="What was done", required=False)
    actor = forms.CharField(label="By whom", required=False, max_length=MAX_TEXT)
    target = forms.CharField(label="To what", required=False, max_length=MAX_TEXT)
    since = DayField(label="Since")
    until = DayField(label="Until")

    def __init__(self, data: Any) -> None:
        super().__init__(data, auto_id="filter-%s")
        kinds = [(action.value, action.label.replace("_", " ").capitalize()) for action in Action]
        self.fields["action"].choices = [("", "Anything"), *kinds]  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    @property
    def given(self) -> dict[str, Any]:
        """What is asked for and could be understood."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def narrowed(self, entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Return the entries that are asked for."""
        given = self.given
        lookups = {"action": "action", "actor": "actor", "target": "target__icontains"}
        entries = entries.filter(**{lookups[name]: given[name] for name in lookups if name in given})
        if "since" in given:
            entries = entries.filter(at__gte=beginning_of(given["since"]))
        if "until" in given:
            entries = entries.filter(at__lt=end_of(given["until"]))
        return entries


@dataclass(frozen=True, kw_only=True)
class Line:
    """An entry as it is told."""

    entry: AuditEntry
    words: str
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

    def entries(self) -> QuerySet[AuditEntry]:
        """Return the entries that this page is about."""
        return self.verbs.audit(by=self.caller)


class WorkspaceAuditPage(WorkspacePage, AuditPage):
    """The log of one workspace."""

    tab = "audit"

    def entries(self) -> QuerySet[AuditEntry]:
        """Return the entries of this workspace."""
        workspace = self.verbs.find(self.workspace_id, by=self.caller)
        return super().entries().filter(workspace_id=workspace.pk)


def lines_of(entries: Sequence[AuditEntry], caller: Caller) -> list[Line]:
    """Return entries as they are told; the number of queries does not depend on how many there are."""
    numbers = _numbers_of(entries)
    addresses = _addresses_of(entries, caller)
    return [
        Line(
            entry=entry,
            words=_words_of(entry),
            address=addresses.get(entry.target, ""),
            versions=tuple(
                numbers.get(version_id, reference_to_id(version_id))
                for version_id in (entry.from_version, entry.to_version)
                if version_id
            ),
            detail=_detail_of(entry),
        )
        for entry in entries
    ]


def _numbers_of(entries: Sequence[AuditEntry]) -> dict[str, str]:
    """Return what the versions are called that still exist, by id."""
    named = {version for entry in entries for version in (entry.from_version, entry.to_version)}
    ids = [UUID(version) for version in named if _is_uuid(version)]
    found: dict[str, str] = {}
    for kind in KINDS:
        rows = kind.model.version_model.objects.filter(pk__in=ids).values_list("pk", "number")
        found |= {str(pk): f"version {number}" for pk, number in rows}
    return found


def _addresses_of(entries: Sequence[AuditEntry], caller: Caller) -> dict[str, str]:
    """Return where the targets are that the caller may read still."""
    found: dict[str, str] = {}
    for kind in KINDS:
        prefix = f"{kind.model.kind} "
        ids = {entry.target.removeprefix(prefix) for entry in entries if entry.target.startswith(prefix)}
        rows = kind.collection.list(by=caller).filter(pk__in=ids).values_list("pk", flat=True)
        # An agent that code defines has a history whether or not there is an override in a row.
        readable = {*rows, *(ids & kind.catalog(caller).in_code.keys())}
        found |= {f"{prefix}{pk}": kind.address("history", pk) for pk in readable}
    return found


def _words_of(entry: AuditEntry) -> str:
    if entry.action == Action.ROLE and entry.detail.get("invitedBy"):
        return "accepted the invitation for"
    if entry.action == Action.ROLE and not entry.detail.get("from"):
        return "added the member"
    if entry.action == Action.ROLE and not entry.detail.get("to"):
        return "removed the member"
    return WORDS[entry.action]


def _detail_of(entry: AuditEntry) -> str:
    describe = DETAILS.get(entry.action)
    if describe is not None:
        return describe(entry.detail)
    released = " (released)" if entry.detail.get("released") else ""
    return f"{entry.detail.get('label', '')}{released}"


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _page_number(text: str | None) -> int:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return max(1, int(text or 1)) if is_number else 1
