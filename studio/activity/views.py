"""The activity on the home page, in a workspace, and of a resource: views of the log for one reader.

For admins the same page is the audit log, because they also see members and keys in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from editor_client.shared.text_keys import collation_key

from studio.activity.exporting import audit_file
from studio.activity.forms import ActivityForm
from studio.activity.lines import lines_of
from studio.resources.base import ResourcePage
from studio.views import StudioPage
from studio.workspaces.base import WorkspacePage
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden
from versioning.domain.events import Audience, types
from versioning.domain.kinds import KINDS
from versioning.editor import Editor
from versioning.models import Event

PER_PAGE: Final = 50
MAX_DIGITS: Final = 18
END: Final = 10**MAX_DIGITS
"""A position after every event."""


def latest(editor: Editor, caller: Caller, limit: int) -> Sequence[Event]:
    """Return the latest events that the caller may see, newest first."""
    return editor.event.page(before=END, limit=limit, by=caller).events


class ActivityPage(StudioPage):
    """Everything that the caller may see, newest first."""

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
            return audit_file(request, self.editor, END, {**form.wanted, **scope})
        before = _position(request.GET)
        if before is None:
            self.listen(self.scope)
        found = self.editor.event.page(
            before=END if before is None else before,
            limit=PER_PAGE,
            by=self.caller,
            **form.wanted,
            **self.scope,
        )
        query = urlencode(form.given)
        as_file = urlencode({**form.given, "format": "csv"})
        return self.page(
            "studio/activity/activity.html",
            title=_("Activity"),
            form=form,
            is_narrowed=bool(form.given),
            lines=lines_of(found.events, self.caller, of_one=self.of_one),
            actors=sorted({event.actor for event in found.events if event.actor}, key=collation_key),
            newest="" if before is None else f"?{query}",
            older=f"?{query}&before={found.next}" if found.has_more else "",
            shows_workspace=self.shows_workspace,
            file_address=f"{request.path}?{as_file}" if self.administers() else "",
        )

    def types(self) -> list[str]:
        """Return the types of events that the caller can see here."""
        is_admin, reads_drafts = self.administers(), self.reads_drafts()
        kinds = {kind.slug for kind in KINDS}
        return [
            one
            for one, audience in types().items()
            if (is_admin or audience is not Audience.ADMINS)
            and (reads_drafts or audience is not Audience.EDITORS or one.partition(".")[0] in kinds)
        ]

    def reads_drafts(self) -> bool:
        """Return whether the caller sees events about drafts here."""
        scope = self.caller.scope(Right.READ_DRAFTS)
        return scope is None or bool(scope)

    def administers(self) -> bool:
        """Return whether the caller sees events for admins here."""
        scope = self.caller.scope(Right.ADMINISTER)
        return scope is None or bool(scope)


class WorkspaceActivityPage(WorkspacePage, ActivityPage):
    """The events of one workspace, for all its members."""

    tab = "activity"
    right = Right.READ
    shows_workspace = False

    @property
    def scope(self) -> Mapping[str, Any]:
        return {"workspace_id": self.workspace.pk}

    def administers(self) -> bool:
        """Return whether the caller is an admin of the workspace."""
        return self.may(Right.ADMINISTER)

    def reads_drafts(self) -> bool:
        """Return whether the caller may read the drafts of the workspace."""
        return self.may(Right.READ_DRAFTS)


class ResourceActivityPage(ResourcePage, ActivityPage):
    """The events of one resource."""

    tab = "activity"
    of_one = True
    shows_workspace = False

    @property
    def scope(self) -> Mapping[str, Any]:
        return {"resource_kind": self.kind.slug, "resource_id": self.summary.resource_id}

    def types(self) -> list[str]:
        """Return the types of events about resources of its kind, and those of other applications."""
        others = {kind.slug for kind in KINDS} - {self.kind.slug}
        return [one for one in super().types() if one.partition(".")[0] not in others]

    def administers(self) -> bool:
        """Return False: events for admins are never about a resource."""
        return False

    def reads_drafts(self) -> bool:
        """Return whether the caller may read the drafts of the resource."""
        return self.may(Right.READ_DRAFTS)


def _position(given: QueryDict) -> int | None:
    """Return the position before which the page ends; None for the newest page."""
    text = given.get("before", "")
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None
