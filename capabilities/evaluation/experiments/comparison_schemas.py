"""The JSON objects of comparisons."""

from __future__ import annotations

from typing import Annotated, Any

from editor_client.shared.pairing import ItemOutcome
from editor_client.shared.statistics import Verdict
from pydantic import Field

from capabilities.evaluation.datasets.schemas import Pagination
from capabilities.evaluation.experiments.models import public_id
from versioning.api.schemas import RequestSchema, ResponseSchema, Source
from versioning.domain.config import NotBlank

_OUTCOMES = [one.value for one in ItemOutcome]
_VERDICTS = [one.value for one in Verdict]


class LeftOutAnswer(ResponseSchema):
    """How many items are in no pair of the primary scorer, by the reason."""

    only_here: int
    only_baseline: int
    changed_items: int
    errors: int
    not_scorable: int


class ComparedScorerAnswer(ResponseSchema):
    """What the pairs say together, by one scorer."""

    scorer_id: str
    primary: bool
    wins: int
    losses: int
    ties: int
    difference: Annotated[float, Field(description="The mean over the pairs; positive is better here.")]
    interval: Annotated[
        list[float] | None,
        Field(min_length=2, max_length=2, description="At 95 %; null where it cannot be given."),
    ]
    p: float
    verdict: Annotated[str, Field(json_schema_extra={"enum": _VERDICTS})]
    detectable: Annotated[
        int | None,
        Field(description="The least drop in whole points that so many pairs would show 4 times in 5."),
    ]


class ComparedItemAnswer(ResponseSchema):
    """An item that both runs scored, by the primary scorer."""

    item_id: str
    outcome: Annotated[str, Field(json_schema_extra={"enum": _OUTCOMES})]
    difference: float
    here: float
    baseline: float


class ComparisonAnswer(ResponseSchema):
    """What an experiment says compared with its baseline."""

    pairs: Annotated[int, Source(lambda page: page.comparison.pairs)]
    left_out: Annotated[LeftOutAnswer, Source(lambda page: page.comparison.left_out)]
    not_contemporary: Annotated[
        bool,
        Source(lambda page: page.comparison.not_contemporary),
        Field(description="Whether a day lies between them, or the provider reported another model."),
    ]
    scorers: Annotated[list[ComparedScorerAnswer], Source(lambda page: page.comparison.scorers)]
    items: Annotated[list[ComparedItemAnswer], Field(description="Worst first.")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ExperimentsBeside(RequestSchema):
    """Two experiments over the dataset."""

    experiment_id_a: Annotated[NotBlank, Field(alias="experimentIdA", description="The baseline.")]
    experiment_id_b: Annotated[NotBlank, Field(alias="experimentIdB")]


class ResultBesideAnswer(ResponseSchema):
    """What an experiment says of an item."""

    output: Annotated[Any, Field(description="Of the first attempt that has one.")]
    scores: Annotated[
        dict[str, float | None],
        Field(description="By scorer, the mean over the attempts; null where it could score none."),
    ]


class ItemBesideAnswer(ResponseSchema):
    """An item with its results, by experiment."""

    item_id: str
    input: Any
    ground_truth: Any
    results: dict[str, ResultBesideAnswer | None]


class SideBySideAnswer(ResponseSchema):
    """The outputs and scores of two experiments, item by item."""

    baseline_id: Annotated[str, Source(lambda found: public_id(found.baseline_id))]
    version_mismatch: Annotated[
        bool, Field(description="Whether they are over different versions of the dataset.")
    ]
    items: Annotated[list[ItemBesideAnswer], Source(lambda found: found.items())]
