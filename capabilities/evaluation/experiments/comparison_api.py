"""Comparing experiments over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from editor_client.shared.pairing import ComparedItem, Comparison
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.experiments.comparing import comparison_of
from capabilities.evaluation.experiments.comparison_schemas import (
    ComparisonAnswer,
    ExperimentsBeside,
    SideBySideAnswer,
)
from capabilities.evaluation.experiments.side_by_side import side_by_side
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import PageTooLarge, fitting, number_in
from versioning.domain.access import Action
from versioning.domain.errors import Invalid, Message

_NUMBER: Final = {"type": "integer", "minimum": 0, "maximum": parameters.MAX_PAGE}


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
    """What experiments say compared with others."""

    job = "Evaluate"
    subject = "comparison"
    actions = {"side_by_side": Action.READ}
    query = {
        "retrieve": (
            *parameters.numbers(10),
            parameters.query("baseline", "The other experiment; by default its own baseline."),
        ),
        "side_by_side": (
            parameters.query("page", "From 0.", type=_NUMBER),
            parameters.query("perPage", "All when absent.", type=_NUMBER),
        ),
    }
    requests = {"side_by_side": ExperimentsBeside}
    responses = {"retrieve": ComparisonAnswer, "side_by_side": SideBySideAnswer}
    paths = {
        "id": (parameters.UUID, "The id of the dataset."),
        "experiment": (parameters.TEXT, "The id of the experiment."),
    }

    def retrieve(self, request: Request, id: str, experiment: str) -> Response:
        """Compare an experiment with another one, item by item."""
        given = request.query_params
        comparison = comparison_of(experiment, given.get("baseline"), dataset_id=id, by=self.caller)
        page, size = number_in(given, "page", 0), number_in(given, "perPage", 10)
        if size > parameters.MAX_PER_PAGE:
            message = Message("must not be larger than {limit}", limit=parameters.MAX_PER_PAGE)
            raise Invalid.field("perPage", message)
        answer = self.dump(ComparisonPage(comparison=comparison, page=page, per_page=size))
        return with_etag(request, answer)

    def side_by_side(self, request: Request, id: str) -> Response:
        """Show the outputs and scores of two experiments, item by item."""
        given, body = request.query_params, ExperimentsBeside.read(request)
        page, size = number_in(given, "page", 0), number_in(given, "perPage", None)
        chosen = slice(None) if size is None else slice(page * size, (page + 1) * size)
        found = side_by_side(
            body["experimentIdA"], body["experimentIdB"], dataset_id=id, page=chosen, by=self.caller
        )
        sizes = found.sizes()
        if (fits := fitting(sizes)) < len(sizes):
            raise PageTooLarge("perPage", fits)
        return Response(self.dump(found))
