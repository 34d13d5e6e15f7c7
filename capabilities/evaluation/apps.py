"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class EvaluationConfig(EditorApp):
    """Says whether an answer is good, before its prompt is live."""

    name = "capabilities.evaluation"
    label = "evaluation"
    verbose_name = "Evaluation"
    personal_data = "capabilities.evaluation.personal_data.PERSONAL_DATA"
    events = (
        "capabilities.evaluation.events.DATASETS",
        "capabilities.evaluation.events.EXPERIMENTS",
        "capabilities.evaluation.events.GATES",
    )
    keeps_workspaces = "capabilities.evaluation.datasets.models.Dataset"
    keeps_versions = "capabilities.evaluation.experiments.keeping.PINNED_VERSIONS"
    checks = "capabilities.evaluation.gates.check.EVIDENCE"
    follows = ("capabilities.evaluation.gates.editing.FOLLOWERS",)
    jobs = "capabilities.evaluation.experiments.jobs.JOBS"
    settings = "capabilities.evaluation.experiments.conf.SETTINGS"
    notifications = "capabilities.evaluation.notifications.OF_EXPERIMENTS"
    topics = "capabilities.evaluation.notifications.TOPIC"
    api = "capabilities.evaluation.api_urls"
    studio = (
        "capabilities.evaluation.studio.extension.STUDIO",
        "capabilities.evaluation.studio.extension.EVIDENCE",
    )
    error_members = (
        "capabilities.evaluation.datasets.schemas.DatasetErrorMembers",
        "capabilities.evaluation.gates.schemas.EvaluationErrorMembers",
    )
    adds = {
        "capabilities.evaluation.datasets.verbs.register_purging": (
            "capabilities.evaluation.experiments.keeping.remove_answers"
        ),
        "capabilities.evaluation.datasets.verbs.register_using": (
            "capabilities.evaluation.gates.evidence.uses_of_dataset"
        ),
        "capabilities.evaluation.experiments.keeping.register_counting": (
            "capabilities.evaluation.gates.evidence.scorers_that_decide"
        ),
        "capabilities.evaluation.experiments.keeping.register_needed": (
            "capabilities.evaluation.gates.evidence.counting_experiments"
        ),
        "capabilities.evaluation.scoring.verbs.register_naming": (
            "capabilities.evaluation.datasets.verbs.datasets_naming",
            "capabilities.evaluation.gates.editing.naming",
        ),
    }
    verbs = {
        "datasets": "capabilities.evaluation.datasets.verbs.Datasets",
        "experiments": "capabilities.evaluation.experiments.verbs.Experiments",
        "gates": "capabilities.evaluation.gates.verbs.Gates",
        "scoring": "capabilities.evaluation.scoring.verbs.Scoring",
    }
