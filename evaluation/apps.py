"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class EvaluationConfig(EditorApp):
    """Says whether an answer is good, before its prompt is live."""

    name = "evaluation"
    verbose_name = "Evaluation"
    personal_data = "evaluation.personal_data.PERSONAL_DATA"
    events = (
        "evaluation.events.DATASETS",
        "evaluation.events.EXPERIMENTS",
        "evaluation.events.GATES",
    )
    keeps_workspaces = "evaluation.datasets.models.Dataset"
    keeps_versions = "evaluation.experiments.keeping.PINNED_VERSIONS"
    checks = "evaluation.gates.check.EVIDENCE"
    follows = ("evaluation.gates.editing.FOLLOWERS",)
    jobs = "evaluation.experiments.jobs.JOBS"
    settings = "evaluation.experiments.conf.SETTINGS"
    notifications = "evaluation.notifications.OF_EXPERIMENTS"
    topics = "evaluation.notifications.TOPIC"
    api = "evaluation.api_urls"
    studio = ("evaluation.studio.extension.STUDIO", "evaluation.studio.extension.EVIDENCE")
    error_members = (
        "evaluation.datasets.schemas.DatasetErrorMembers",
        "evaluation.gates.schemas.EvaluationErrorMembers",
    )
    adds = {
        "evaluation.datasets.changing_items.register_purging": (
            "evaluation.experiments.keeping.remove_answers"
        ),
        "evaluation.datasets.editing.register_using": "evaluation.gates.evidence.uses_of_dataset",
        "evaluation.experiments.keeping.register_counting": "evaluation.gates.evidence.scorers_that_decide",
        "evaluation.experiments.keeping.register_needed": "evaluation.gates.evidence.counting_experiments",
        "evaluation.scoring.naming.register": (
            "evaluation.datasets.editing.naming",
            "evaluation.gates.editing.naming",
        ),
    }
    verbs = {
        "datasets": "evaluation.datasets.verbs.Datasets",
        "experiments": "evaluation.experiments.verbs.Experiments",
        "gates": "evaluation.gates.verbs.Gates",
        "scoring": "evaluation.scoring.verbs.Scoring",
    }
