"""Trying an agent out: a chat that runs the draft beside what is published, on the same messages."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from studio.kinds import AGENT
from studio.previewing import Statuses
from versioning.errors import NotFound
from versioning.ids import encode
from versioning.selectors import Status
from versioning.snapshots import title_of

_TITLES = {Status.DRAFT: "Draft", Status.PUBLISHED: "Live"}


class TryPage(Statuses):
    """A column for each version that can be run, and one message for all of them."""

    tab = "try"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show an empty chat; its script asks the API, in the name of the session."""
        if self.kind is not AGENT:
            raise NotFound
        stream = f"/{settings.EDITOR_API_PREFIX}/agents/{encode(self.resource_id)}/stream"
        columns = [
            {
                "title": _TITLES[status],
                "status": status.value,
                "version": self._version(status),
                "stream": f"{stream}?status={status.value}",
            }
            for status in self.statuses
        ]
        return self.page("studio/try.html", title="Try", columns=columns)

    def _version(self, status: Status) -> str:
        if self.resource is None:
            return "In code"
        version = self.resource.latest if status is Status.DRAFT else self.resource.active
        return title_of(version) if version else "In code"
