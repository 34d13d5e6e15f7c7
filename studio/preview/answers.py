"""Two answers side by side, with the differences marked in both."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from studio.diff.spans import Op, spans
from studio.forms.typed import typed_text
from studio.limits import PageBudget
from studio.views import StudioPage
from versioning.domain.errors import Invalid, Message

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
