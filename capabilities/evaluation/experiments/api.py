"""Experiments, their results, comparisons, scores and labels over HTTP."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from django.db.models import F, Value
from django.http.response import HttpResponseBase
from pydantic.alias_generators import to_snake
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.evaluation.datasets.api import file_answer
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments import comparing, schemas
from capabilities.evaluation.experiments.comparing import OUTCOMES, compare_with_baseline, side_by_side
from capabilities.evaluation.experiments.models import Cell, Experiment
from capabilities.evaluation.experiments.results import FORMATS
from capabilities.evaluation.experiments.schemas import ComparisonAnswer, ExperimentsBeside, SideBySideAnswer
from capabilities.evaluation.experiments.verbs import (
    Experiments,
    by_scores,
    readable_scores,
    run_item,
)
from versioning.api import parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.limits import waits_for_models
from versioning.api.parameters import PageOfItems, PageTooLarge, Paging, fitting, number_in
from versioning.api.runs import AnyAccept
from versioning.api.schemas import Nothing, Success
from versioning.domain.access import Action
from versioning.domain.errors import Invalid, Message
from versioning.models.search import ByteLength
from versioning.models.text_keys import contains

EXPERIMENT_PAGING: Final = Paging(10, fields=("createdAt", "status"), columns={"status": "outcome"})
RESULT_PAGING: Final = Paging(
    10, fields=("createdAt", "startedAt"), columns={"createdAt": "pk"}, direction="ASC"
)
SCORE_PAGING: Final = Paging(10)
LABEL_PAGING: Final = Paging(100)
DELETED: Final = "The experiment is deleted."
_NUMBER: Final = {"type": "integer", "minimum": 0, "maximum": parameters.MAX_PAGE}
_DATASET: Final = (parameters.UUID, "The id of the dataset.")
_EXPERIMENT: Final = (parameters.TEXT, "The id of the experiment.")
_GROUPS: Final = (
    *(
        parameters.query(name, "Only of this group.")
        for name in ("experimentSetId", "comparisonId", "variantId")
    ),
    parameters.query("trialIndex", "Only of this trial.", type=_NUMBER),
    parameters.query("targetType", "Only with targets of this type.", enum=["agent", "scorer"]),
    parameters.query("targetId", "Only with this target."),
)


class ExperimentViewSet(EditorViewSet):
    """Experiments of the workspaces whose drafts the caller may read."""

    job = "Evaluate"
    subject = "experiment"
    actions = dict.fromkeys(("create", "resume", "add_attempts", "score"), Action.RUN)
    created = frozenset({"create"})
    unmade = {"create": schemas.ExperimentNotStarted}
    errors = {"create": (409, 424), "read": (409,), "remove": (409,), "finalize": (409,)}
    query = {
        "list": (*EXPERIMENT_PAGING.parameters, parameters.WORKSPACE, *_GROUPS),
        "list_of_dataset": (*EXPERIMENT_PAGING.parameters, *_GROUPS),
    }
    requests = {
        "create": schemas.ExperimentCreate,
        "update": schemas.ExperimentUpdate,
        "destroy": Nothing,
        "remove": Nothing,
        "finalize": Nothing,
        "cancel": Nothing,
        "resume": schemas.ExperimentResume,
        "add_attempts": schemas.ExperimentAttempts,
        "score": schemas.ExperimentScore,
    }
    responses = {
        "list": schemas.ExperimentPage,
        "list_of_dataset": schemas.ExperimentPage,
        "create": schemas.ExperimentStarted,
        "retrieve": schemas.ExperimentAnswer,
        "update": schemas.ExperimentAnswer,
        "destroy": Success,
        "read": schemas.ExperimentAnswer,
        "remove": Success,
        **dict.fromkeys(("finalize", "cancel", "resume", "add_attempts", "score"), schemas.ExperimentAnswer),
        "review_summary": schemas.ReviewSummary,
    }
    paths = {"id": _DATASET, "experiment": _EXPERIMENT}

    def list(self, request: Request) -> Response:
        """List the experiments, newest first."""
        return self._page(request, None)

    def list_of_dataset(self, request: Request, id: str) -> Response:
        """List the experiments over a dataset, newest first."""
        Datasets.find(id, by=self.caller)
        return self._page(request, id)

    def _page(self, request: Request, dataset_id: str | None) -> Response:
        filters = {name: str(value) for name, value in request.query_params.items()}
        if "trialIndex" in filters:
            number_in(request.query_params, "trialIndex", 0)
        experiments = Experiments.list(filters, dataset_id=dataset_id, by=self.caller)
        page = EXPERIMENT_PAGING.read(request.query_params)
        weight = ByteLength("settings_json") + ByteLength("lock_json")
        return self.page_of(
            page, experiments, select=lambda rows: rows.prefetch_related("scorers"), weight=weight
        )

    def create(self, request: Request, id: str) -> Response:
        """Start an experiment; everything it uses is pinned now."""
        body = schemas.ExperimentCreate.read(request)
        self.is_dry_run = body.get("dryRun", False)
        if self.is_dry_run:
            estimate = Experiments.current().estimate(id, body, by=self.caller)
            return Response(schemas.ExperimentEstimate.dump(estimate))
        started = Experiments.current().start(id, body, by=self.caller)
        if not started.is_new:
            return self._answer(started.experiment)
        name = quote(started.experiment.public_id, safe="")
        return self.respond_created(started.experiment, f"datasets/{id}/experiments/{name}")

    def retrieve(self, request: Request, id: str, experiment: str) -> Response:
        """Read an experiment."""
        return with_etag(request, self.dump(Experiments.find(experiment, dataset_id=id, by=self.caller)))

    def read(self, request: Request, experiment: str) -> Response:
        """Read an experiment, also of a dataset that is deleted."""
        return with_etag(request, self.dump(Experiments.find(experiment, by=self.caller)))

    def update(self, request: Request, id: str, experiment: str) -> Response:
        """Change the name, the description or the metadata of an experiment."""
        changes = schemas.ExperimentUpdate.read(request)
        return self._answer(Experiments.describe(experiment, changes, dataset_id=id, by=self.caller))

    def destroy(self, request: Request, id: str, experiment: str) -> Response:
        """Delete an experiment with its results and scores."""
        Nothing.read(request)
        Experiments.delete(experiment, dataset_id=id, by=self.caller)
        return Response(self.dump(DELETED))

    def remove(self, request: Request, experiment: str) -> Response:
        """Delete an experiment with its results and scores, also of a dataset that is deleted."""
        Nothing.read(request)
        Experiments.delete(experiment, by=self.caller)
        return Response(self.dump(DELETED))

    def finalize(self, request: Request, id: str, experiment: str) -> Response:
        """End an experiment whose results an application sends; items without a result are skipped."""
        Nothing.read(request)
        return self._answer(Experiments.finalize(experiment, dataset_id=id, by=self.caller))

    def cancel(self, request: Request, id: str, experiment: str) -> Response:
        """Stop an experiment: no further items begin, and running ones are dropped."""
        Nothing.read(request)
        return self._answer(Experiments.cancel(experiment, dataset_id=id, by=self.caller))

    def resume(self, request: Request, id: str, experiment: str) -> Response:
        """Run failed and skipped items again."""
        limits = schemas.ExperimentResume.read(request).get("limits")
        return self._answer(Experiments.resume(experiment, limits=limits, dataset_id=id, by=self.caller))

    def add_attempts(self, request: Request, id: str, experiment: str) -> Response:
        """Add the attempts that are missing."""
        attempts = schemas.ExperimentAttempts.read(request)["attempts"]
        return self._answer(Experiments.add_attempts(experiment, attempts, dataset_id=id, by=self.caller))

    def score(self, request: Request, id: str, experiment: str) -> Response:
        """Score the existing outputs with the published versions of these scorers."""
        ids = schemas.ExperimentScore.read(request)["scorerIds"]
        scored = Experiments.current().score_again(experiment, ids, dataset_id=id, by=self.caller)
        return self._answer(scored)

    def review_summary(self, request: Request) -> Response:
        """Count the results under review, by experiment."""
        return Response(self.dump(Experiments.review_counts(by=self.caller)))

    def _answer(self, experiment: Experiment) -> Response:
        return Response(self.dump(experiment))


class ResultViewSet(EditorViewSet):
    """The results of an experiment."""

    job = "Evaluate"
    subject = "experiment result"
    actions = {"run_item": Action.RUN}
    created = frozenset({"create"})
    errors = {"create": (409,)}
    query = {
        "list": (
            *RESULT_PAGING.parameters,
            parameters.query("tags", "With this tag; given several times, with all.", type=parameters.TEXTS),
            parameters.query(
                "outcome",
                (
                    "Won, lost or tied against the baseline, by the primary scorer; with an error; or "
                    "items that pass in some attempts only."
                ),
                enum=OUTCOMES,
            ),
            parameters.query("baseline", "The other experiment; by default its own baseline."),
            parameters.query("scorerId", "Only results that this scorer has scored or failed to score."),
            parameters.query(
                "passed",
                ("Whether this scorer, by default the primary one, passes them."),
                enum=["true", "false"],
            ),
            parameters.query("itemId", "Only of this item.", type=parameters.UUID),
        )
    }
    requests = {"create": schemas.ResultCreate, "update": schemas.ResultUpdate, "run_item": schemas.ItemRun}
    responses = {
        "list": schemas.ResultPage,
        "create": schemas.ResultAnswer,
        "update": schemas.ResultAnswer,
        "run_item": schemas.ItemRunAnswer,
    }
    paths = {
        "id": _DATASET,
        "experiment": _EXPERIMENT,
        "item": (parameters.UUID, "The id of the item."),
        "result": (parameters.TEXT, "The id of the result."),
    }

    def list(self, request: Request, id: str, experiment: str) -> Response:
        """List the results, in the order in which the items ran."""
        stored_experiment = Experiments.find(experiment, dataset_id=id, by=self.caller)
        rows = Cell.objects.over().filter(experiment=stored_experiment).with_revisions()
        for tag in request.query_params.getlist("tags"):
            rows = rows.filter(contains(F("review_tags"), Value(f"\n{tag}\n")))
        rows = by_scores(stored_experiment, rows, request.query_params)
        outcome, baseline = (request.query_params.get(name) for name in ("outcome", "baseline"))
        if outcome is not None:
            condition = comparing.with_outcome(stored_experiment, outcome, baseline, by=self.caller)
            rows = rows.filter(condition)
        page = RESULT_PAGING.read(request.query_params)
        weight = ByteLength("output_json") + ByteLength("revision__payload_json")
        return self.page_of(page, rows.prefetch_related("scores"), weight=weight)

    def create(self, request: Request, id: str, experiment: str) -> Response:
        """Store the result of an item and an attempt, replacing an earlier one."""
        body = schemas.ResultCreate.read(request)
        result = Experiments.submit(experiment, body, dataset_id=id, by=self.caller)
        return self.respond_created(result, f"datasets/{id}/experiments/{experiment}/results/{result.pk}")

    @waits_for_models
    def run_item(self, request: Request, id: str, experiment: str, item: str) -> Response:
        """Run an item and score the answer, if no worker does; an existing output is unchanged."""
        body = schemas.ItemRun.read(request)
        cell = run_item(
            experiment,
            item,
            attempt=body.get("attempt", 0),
            context=body.get("requestContext"),
            dataset_id=id,
            by=self.caller,
        )
        pinned = cell.experiment.scorers.all()
        names = {scorer.scorer_id: str(scorer.config["name"]) for scorer in pinned}
        named_scores = [(score, names.get(score.scorer_id, score.scorer_id)) for score in cell.scores.all()]
        return Response(self.dump((cell, named_scores)))

    def update(self, request: Request, id: str, experiment: str, result: str) -> Response:
        """Store the review of a result: its state, tags, a comment."""
        changes = schemas.ResultUpdate.read(request)
        cell = Experiments.review(experiment, result, changes, dataset_id=id, by=self.caller)
        return Response(self.dump(cell))


class ResultFileViewSet(EditorViewSet):
    """The results of an experiment as a file."""

    job = "Evaluate"
    subject = "experiment file"
    content_negotiation_class = AnyAccept
    query = {"export": (parameters.query("format", "`jsonl` when absent.", enum=tuple(FORMATS)),)}
    answers = {"export": [form.media_type.partition(";")[0] for form in FORMATS.values()]}
    paths = {"id": _DATASET, "experiment": _EXPERIMENT}

    def export(self, request: Request, id: str, experiment: str) -> HttpResponseBase:
        """Send the results as a file."""
        name = request.query_params.get("format", "jsonl")
        stored_experiment = Experiments.find(experiment, dataset_id=id, by=self.caller)
        parts = Experiments.export_results(experiment, format=name, dataset_id=id, by=self.caller)
        form = FORMATS[name]
        return file_answer(parts, f"{stored_experiment}.{form.suffix}", form.media_type)


class ComparisonViewSet(EditorViewSet):
    """Comparisons of experiments."""

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
    paths = {"id": _DATASET, "experiment": _EXPERIMENT}

    def retrieve(self, request: Request, id: str, experiment: str) -> Response:
        """Compare an experiment with another one, item by item."""
        query = request.query_params
        comparison = compare_with_baseline(experiment, query.get("baseline"), dataset_id=id, by=self.caller)
        page, size = number_in(query, "page", 0), number_in(query, "perPage", 10)
        if size > parameters.MAX_PER_PAGE:
            message = Message("must not be larger than {limit}", limit=parameters.MAX_PER_PAGE)
            raise Invalid.field("perPage", message)
        items, total = comparison.items[page * size : (page + 1) * size], len(comparison.items)
        has_more = bool(items) and (page + 1) * size < total
        part = PageOfItems(items=items, total=total, page=page, per_page=size, has_more=has_more)
        return with_etag(request, self.dump((comparison, part)))

    def side_by_side(self, request: Request, id: str) -> Response:
        """Show the outputs and scores of two experiments, item by item."""
        query, body = request.query_params, ExperimentsBeside.read(request)
        page, size = number_in(query, "page", 0), number_in(query, "perPage", None)
        page_slice = slice(None) if size is None else slice(page * size, (page + 1) * size)
        both = side_by_side(
            body["experimentIdA"], body["experimentIdB"], dataset_id=id, page=page_slice, by=self.caller
        )
        sizes = both.sizes()
        if (fits := fitting(sizes)) < len(sizes):
            raise PageTooLarge("perPage", fits)
        return Response(self.dump(both))


class ScoreViewSet(EditorViewSet):
    """Scores of experiments and of applications' own runs."""

    job = "Evaluate"
    subject = "score"
    created = frozenset({"create"})
    errors = {"create": (409,)}
    query = {
        "of_run": SCORE_PAGING.parameters,
        "of_scorer": (
            *SCORE_PAGING.parameters,
            parameters.query("entityId", "Only of this entity."),
            parameters.query("entityType", "Only of entities of this type."),
        ),
        "of_entity": SCORE_PAGING.parameters,
    }
    requests = {"create": schemas.ScoreCreate}
    responses = {
        "create": schemas.ScoreStored,
        "of_run": schemas.ScorePage,
        "of_scorer": schemas.ScorePage,
        "of_entity": schemas.ScorePage,
    }
    paths = {
        "run": (parameters.TEXT, "The id of the run or of the experiment."),
        "id": (parameters.TEXT, "The id of the scorer, or of the entity."),
        "type": (parameters.TEXT, "The type of the entity."),
    }

    def create(self, request: Request) -> Response:
        """Store a score."""
        body = schemas.ScoreCreate.read(request)
        score = Experiments.add_score(body["score"], workspace=body.get("workspaceId"), by=self.caller)
        return self.respond_created(score, f"scores/run/{quote(body['score']['runId'], safe='')}")

    def of_run(self, request: Request, run: str) -> Response:
        """List the scores of a run or of an experiment, newest first."""
        keys = Experiment.objects.readable_by(self.caller).keys_of(run)
        return self._page(request, run_id__in={run, *keys})

    def of_scorer(self, request: Request, id: str) -> Response:
        """List the scores of a scorer, newest first."""
        query = request.query_params
        columns = {to_snake(name): str(query[name]) for name in ("entityId", "entityType") if name in query}
        return self._page(request, scorer_id=id, **columns)

    def of_entity(self, request: Request, type: str, id: str) -> Response:
        """List the scores of an entity, newest first."""
        return self._page(request, entity_type=type, entity_id=id)

    def _page(self, request: Request, **columns: Any) -> Response:
        page = SCORE_PAGING.read(request.query_params)
        rows = readable_scores(self.caller).filter(**columns)
        return self.page_of(page, rows, weight=ByteLength("more_json"))


class LabelViewSet(EditorViewSet):
    """Labels by people for results."""

    job = "Evaluate"
    subject = "result label"
    created = frozenset({"create"})
    errors = {"create": (404, 409)}
    query = {
        "list": (
            *LABEL_PAGING.parameters,
            parameters.query("experimentId", "Only of this experiment."),
            parameters.query("itemId", "Only of this item."),
            parameters.query("name", "Only under this name."),
        )
    }
    requests = {"create": schemas.ResultLabelCreate}
    responses = {"list": schemas.ResultLabelPage, "create": schemas.ResultLabelAnswer}

    def list(self, request: Request) -> Response:
        """List the labels, newest first."""
        filters = {name: str(value) for name, value in request.query_params.items()}
        page = LABEL_PAGING.read(request.query_params)
        return self.page_of(page, Experiments.labels(filters, by=self.caller))

    def create(self, request: Request) -> Response:
        """Label a result, replacing the caller's earlier label with this name."""
        label = Experiments.add_label(schemas.ResultLabelCreate.read(request), by=self.caller)
        return self.respond_created(label, f"labels?itemId={label.item_id}")
