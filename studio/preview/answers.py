"""The answers on the Try page: the route of the columns' runs; two answers side by side, compared."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.response import TemplateResponse
from rest_framework.request import Request

from studio.diff.texts import Op, spans
from studio.forms.inputs import typed_text
from studio.limits import PageBudget
from studio.views import StudioPage
from versioning.api import parameters
from versioning.api.limits import waits_for_models
from versioning.api.runs import RunViewSet
from versioning.conf import get_editor
from versioning.domain.errors import Invalid, Message
from versioning.domain.selectors import DRAFT, VersionsMap

DRAFT_BLOCK: Final = parameters.query("draftBlock", "The prompt block that is shown in its draft.")


class TryRun(RunViewSet):
    """Runs the version of a column and streams its events like the API, with two differences.

    A draft delegates to the sub-agents that it would have once published, and one prompt block can be shown
    as if its draft were published.
    """

    schema = None  # not part of the API
    query = {"stream": (*RunViewSet.query["stream"], DRAFT_BLOCK)}

    @waits_for_models
    def stream(self, request: Request, resource: str) -> StreamingHttpResponse:
        return super().stream(request, unquote(resource))

    def _call(self, request: Request) -> dict[str, Any]:
        block_ids = request.query_params.getlist(DRAFT_BLOCK.name)
        get_editor().prompt.require_drafts(block_ids, by=self.caller)
        drafts = VersionsMap(prompt_blocks=dict.fromkeys(block_ids, DRAFT))
        return super()._call(request) | {"published_sub_agents": True, "versions": drafts}


MAX_ANSWER: Final = 200_000
"""The maximum length of an answer to compare."""


class AnswersPage(StudioPage):
    """The differences between the answers of the live version and a draft, for the table of the Try page."""

    def post(self, request: HttpRequest) -> HttpResponse:
        """Return both answers, marked; the posted texts are not stored."""
        before, after = typed_text(request, "live"), typed_text(request, "draft")
        if max(len(before), len(after)) > MAX_ANSWER:
            raise Invalid.field(
                "draft", Message("must not be longer than {limit} characters", limit=MAX_ANSWER)
            )
        pieces = spans(before, after, PageBudget())
        sides = {
            "live": [piece for piece in pieces if piece.op is not Op.ADDED],
            "draft": [piece for piece in pieces if piece.op is not Op.REMOVED],
        }
        return TemplateResponse(request, "studio/preview/answers.html", {"sides": sides})
