"""Try an agent: a chat with the draft and the published version side by side.

The draft runs as if it were published now: with the published texts of its prompt blocks, and with the
sub-agents that it would have. `?blocks=drafts` runs it with the drafts of its prompt blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from rest_framework.request import Request

from studio.preview.views import SavedInstructionsPage
from studio.resources.blocks import BlockOnPage
from versioning.api.runs import RunViewSet
from versioning.domain.access import Right
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status
from versioning.domain.snapshots import title_of


@dataclass(frozen=True, kw_only=True)
class Column:
    """A version in the chat."""

    title: str
    version: str
    version_id: str
    """Empty for an agent as its code says."""
    status: Status
    """Whether it is what is served now."""
    stream: str
    """Where to post the messages."""
    blocks: list[BlockOnPage]


class TryPage(SavedInstructionsPage):
    """A column for each version that can be run, and one message for all of them."""

    tab = "try"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show an empty chat; its script sends the messages in the name of the session."""
        columns = [self._column(status) for status in self.statuses]
        return self.page(
            "studio/preview/try.html",
            title="Try",
            columns=columns,
            with_drafts=self.with_drafts,
            offers_drafts=self._offers_drafts(columns),
        )

    def _offers_drafts(self, columns: list[Column]) -> bool:
        has_version = self.resource is not None
        return has_version and self.may(Right.READ_DRAFTS) and any(column.blocks for column in columns)

    def _column(self, status: Status) -> Column:
        version = None
        if self.resource is not None:
            version = self.resource.latest if status is Status.DRAFT else self.resource.active
        # Without a draft of its own, what is live is what the drafts of blocks would change.
        with_drafts = self.with_drafts and status is self.statuses[0] and self.resource is not None
        selector = PUBLISHED
        if with_drafts:
            selector = DRAFT
        elif status is Status.DRAFT and version is not None:
            # Named by its id, a version runs with the published texts of its blocks.
            selector = Selector(version_id=version.version_id)
        title = "Draft" if status is Status.DRAFT else "Live"
        return Column(
            title=f"{title}, with drafts of blocks" if with_drafts else title,
            version=title_of(version) if version else "In code",
            version_id=version.version_id if version else "",
            status=Status.DRAFT if with_drafts else status,
            stream=f"{self.address('try_run')}?{urlencode(selector.as_dict())}",
            blocks=self.used(self.saved(status)),
        )


class TryRun(RunViewSet):
    """Runs the version of a column and streams its events like the API, except for the sub-agents.

    A draft delegates to the sub-agents that it would have once published.
    """

    schema = None  # no part of the API

    def stream(self, request: Request, resource: str) -> StreamingHttpResponse:
        """Run the version that the address names on the messages."""
        return super().stream(request, unquote(resource))

    def _call(self, request: Request) -> dict[str, Any]:
        return super()._call(request) | {"published_sub_agents": True}
