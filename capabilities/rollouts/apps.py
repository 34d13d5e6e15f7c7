"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ExperimentsConfig(EditorApp):
    """Serves other versions to a share of the requests, to compare them in production."""

    name = "capabilities.rollouts"
    label = "experiments"
    verbose_name = "Experiments"
    personal_data = "capabilities.rollouts.personal_data.PERSONAL_DATA"
    events = "capabilities.rollouts.events.EVENTS"
    choice = "capabilities.rollouts.choosing.BY_ROLLOUT"
    checks = "capabilities.rollouts.ending.WHILE_ONE_RUNS"
    keeps_versions = "capabilities.rollouts.ending.VERSIONS_OF_ARMS"
    follows = (
        "capabilities.rollouts.feedback.verbs.FOLLOWER",
        "capabilities.rollouts.ending.FOLLOWER",
        "capabilities.rollouts.usage.verbs.FOLLOWER",
    )
    filters = "capabilities.rollouts.verbs.FILTER"
    notifications = "capabilities.rollouts.events.RULE"
    topics = "capabilities.rollouts.events.TOPIC"
    jobs = ("capabilities.rollouts.counting.JOBS", "capabilities.rollouts.stepping.JOBS")
    runs = "capabilities.rollouts.counting.OBSERVER"
    api = "capabilities.rollouts.api_urls"
    studio = "capabilities.rollouts.studio.panels.STUDIO"
    verbs = {
        "feedback": "capabilities.rollouts.feedback.verbs.Feedbacks",
        "rollouts": "capabilities.rollouts.verbs.Rollouts",
        "usage": "capabilities.rollouts.usage.verbs.Usages",
    }
