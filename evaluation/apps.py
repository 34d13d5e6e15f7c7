"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class EvaluationConfig(EditorApp):
    """Says whether an answer is good, before its prompt is live."""

    name = "evaluation"
    verbose_name = "Evaluation"
    events = ("evaluation.datasets.events.EVENTS", "evaluation.experiments.events.EVENTS")
    api = "evaluation.api_urls"
    studio = "evaluation.studio.extension.STUDIO"
    error_members = "evaluation.datasets.schemas.DatasetErrorMembers"
    adds = {"evaluation.scoring.naming.register": "evaluation.datasets.editing.naming"}
    verbs = {
        "datasets": "evaluation.datasets.verbs.Datasets",
        "experiments": "evaluation.experiments.verbs.Experiments",
        "scoring": "evaluation.scoring.verbs.Scoring",
    }
