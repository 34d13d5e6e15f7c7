"""The results of experiments as files over HTTP."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from evaluation.datasets.files_api import file_answer
from evaluation.experiments.exporting import FORMATS
from evaluation.experiments.verbs import Experiments
from versioning.api import parameters
from versioning.api.base import EditorViewSet
from versioning.api.runs import AnyAccept


class ResultFileViewSet(EditorViewSet):
    """The results of an experiment as a file."""

    subject = "experiment file"
    content_negotiation_class = AnyAccept
    query = {"export": (parameters.query("format", "`jsonl` when absent.", enum=tuple(FORMATS)),)}
    answers = {"export": [one.media_type.partition(";")[0] for one in FORMATS.values()]}
    paths = {
        "id": (parameters.UUID, "The id of the dataset."),
        "experiment": (parameters.TEXT, "The id of the experiment."),
    }

    def export(self, request: Request, id: str, experiment: str) -> HttpResponseBase:  # noqa: A002
        """Send the results as a file."""
        name = request.query_params.get("format", "jsonl")
        found = Experiments.find(experiment, dataset_id=id, by=self.caller)
        parts = Experiments.export_results(experiment, format=name, dataset_id=id, by=self.caller)
        form = FORMATS[name]
        return file_answer(parts, f"{found}.{form.suffix}", form.media_type)
