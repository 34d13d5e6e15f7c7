"""The application's configuration."""

from __future__ import annotations

from typing import Final

from versioning.capabilities import EditorApp
from versioning.conf import DAYS, Setting, at_most, positive

SETTINGS: Final = (
    Setting(
        "EDITOR_EVALUATION_CONCURRENCY",
        4,
        "how many items of [experiments](is-it-better.md#experiments) a worker runs at once, by provider",
        check=at_most(1000, positive),
    ),
    Setting(
        "EDITOR_KEEP_RESULTS",
        90,
        "for how many days results of [experiments](is-it-better.md#experiments) are kept; 0: for ever",
        check=at_most(DAYS),
    ),
)


class EvaluationConfig(EditorApp):
    """Evaluates answers before their prompt is published."""

    name = "capabilities.evaluation"
    label = "evaluation"
    verbose_name = "Evaluation"
    personal_data = "capabilities.evaluation.models.PERSONAL_DATA"
    events = (
        "capabilities.evaluation.events.DATASETS",
        "capabilities.evaluation.events.EXPERIMENTS",
        "capabilities.evaluation.events.GATES",
    )
    keeps_workspaces = "capabilities.evaluation.datasets.models.Dataset"
    keeps_versions = "capabilities.evaluation.experiments.results.PINNED_VERSIONS"
    checks = "capabilities.evaluation.gates.check.EVIDENCE"
    follows = ("capabilities.evaluation.gates.verbs.FOLLOWERS",)
    jobs = "capabilities.evaluation.experiments.running.JOBS"
    settings = "capabilities.evaluation.apps.SETTINGS"
    notifications = "capabilities.evaluation.events.OF_EXPERIMENTS"
    topics = "capabilities.evaluation.events.TOPIC"
    api = "capabilities.evaluation.api_urls"
    studio = (
        "capabilities.evaluation.studio.extension.STUDIO",
        "capabilities.evaluation.studio.extension.EVIDENCE",
    )
    error_members = (
        "capabilities.evaluation.datasets.schemas.DatasetErrorMembers",
        "capabilities.evaluation.gates.api.EvaluationErrorMembers",
    )
    adds = {
        "capabilities.evaluation.datasets.verbs.register_purging": (
            "capabilities.evaluation.experiments.results.remove_answers"
        ),
        "capabilities.evaluation.datasets.verbs.register_using": (
            "capabilities.evaluation.gates.evidence.uses_of_dataset"
        ),
        "capabilities.evaluation.experiments.results.register_counting": (
            "capabilities.evaluation.gates.evidence.scorers_that_decide"
        ),
        "capabilities.evaluation.experiments.results.register_needed": (
            "capabilities.evaluation.gates.evidence.counting_experiments"
        ),
        "capabilities.evaluation.scoring.verbs.register_naming": (
            "capabilities.evaluation.datasets.verbs.datasets_naming",
            "capabilities.evaluation.gates.verbs.gates_naming",
        ),
        "versioning.editor.deleting.register_dependents": (
            "capabilities.evaluation.scoring.verbs.dependents_of_scorer"
        ),
    }
    verbs = {
        "datasets": "capabilities.evaluation.datasets.verbs.Datasets",
        "experiments": "capabilities.evaluation.experiments.verbs.Experiments",
        "gates": "capabilities.evaluation.gates.verbs.Gates",
        "scoring": "capabilities.evaluation.scoring.verbs.Scoring",
    }
