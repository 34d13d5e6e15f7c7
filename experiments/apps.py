"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ExperimentsConfig(EditorApp):
    """Serves other versions to a share of the requests, to find out which is better with real people."""

    name = "experiments"
    verbose_name = "Experiments"
    personal_data = "experiments.personal_data.PERSONAL_DATA"
    events = "experiments.rollouts.events.EVENTS"
    choice = "experiments.rollouts.choosing.BY_ROLLOUT"
    checks = "experiments.rollouts.ending.WHILE_ONE_RUNS"
    keeps_versions = "experiments.rollouts.ending.VERSIONS_OF_ARMS"
    follows = (
        "experiments.feedback.verbs.FOLLOWER",
        "experiments.rollouts.ending.FOLLOWER",
        "experiments.usage.verbs.FOLLOWER",
    )
    filters = "experiments.studio.panels.FILTER"
    notifications = "experiments.notifications.RULE"
    topics = "experiments.notifications.TOPIC"
    jobs = "experiments.jobs.JOBS"
    runs = "experiments.runs.recording.OBSERVER"
    api = "experiments.api_urls"
    studio = "experiments.studio.extension.STUDIO"
    verbs = {
        "feedback": "experiments.feedback.verbs.Feedbacks",
        "rollouts": "experiments.rollouts.verbs.Rollouts",
        "usage": "experiments.usage.verbs.Usages",
    }
