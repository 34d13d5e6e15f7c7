"""Comparing experiments over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.comparison.pairing import ComparedItem, Comparison
from evaluation.experiments.comparing import comparison_of
from evaluation.experiments.comparison_schemas import ComparisonAnswer
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.paging import number_in
from versioning.domain.errors import Invalid, Message


@dataclass(frozen=True, kw_only=True)
class ComparisonPage:
    """A comparison with some of its items."""

    comparison: Comparison
    page: int
    per_page: int

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.comparison.items)

    @property
    def items(self) -> Sequence[ComparedItem]:
        """The items of the page."""
        return self.comparison.items[self.page * self.per_page : (self.page + 1) * self.per_page]

    @property
    def has_more(self) -> bool:
        """Whether there are items after these."""
        return bool(self.items) and (self.page + 1) * self.per_page < self.total


class ComparisonViewSet(EditorViewSet):
    """What experiments say beside others."""

    subject = "comparison"
    query = {
        "retrieve": (
            *parameters.numbers(10),
            parameters.query("baseline", "The other experiment; by default its own baseline."),
        )
    }
    responses = {"retrieve": ComparisonAnswer}
    paths = {
        "id": (parameters.UUID, "The id of the dataset."),
        "experiment": (parameters.TEXT, "The id of the experiment."),
    }

    def retrieve(self, request: Request, id: str, experiment: str) -> Response:  # noqa: A002
        """Compare an experiment with another one, item by item."""
        given = request.query_params
        comparison = comparison_of(experiment, given.get("baseline"), dataset_id=id, by=self.caller)
        page, size = number_in(given, "page", 0), number_in(given, "perPage", 10)
        if size > parameters.MAX_PER_PAGE:
            message = Message("must not be larger than {limit}", limit=parameters.MAX_PER_PAGE)
            raise Invalid.field("perPage", message)
        return Response(self.dump(ComparisonPage(comparison=comparison, page=page, per_page=size)))
