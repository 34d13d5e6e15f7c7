"""The route that the columns of the Try page call: a view of the API, below the studio."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from django.http import StreamingHttpResponse
from rest_framework.request import Request

from versioning.api import parameters
from versioning.api.runs import RunViewSet
from versioning.conf import get_editor
from versioning.domain.selectors import DRAFT, VersionsMap

DRAFT_BLOCK: Final = parameters.query("draftBlock", "The prompt block that is shown in its draft.")


class TryRun(RunViewSet):
    """Runs the version of a column and streams its events like the API, except for two things.

    A draft delegates to the sub-agents that it would have once published, and one prompt block can be shown
    as if its draft were published.
    """

    schema = None  # not part of the API
    query = {"stream": (*RunViewSet.query["stream"], DRAFT_BLOCK)}

    def stream(self, request: Request, resource: str) -> StreamingHttpResponse:
        """Run the version in the address on the messages."""
        return super().stream(request, unquote(resource))

    def _call(self, request: Request) -> dict[str, Any]:
        shown = request.query_params.getlist(DRAFT_BLOCK.name)
        get_editor().prompt.require_drafts(shown, by=self.caller)
        drafts = VersionsMap(prompt_blocks=dict.fromkeys(shown, DRAFT))
        return super()._call(request) | {"published_sub_agents": True, "versions": drafts}
