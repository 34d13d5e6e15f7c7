"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class SchedulesConfig(EditorApp):
    """Publishes and unpublishes at a chosen time."""

    name = "capabilities.schedules"
    label = "schedules"
    verbose_name = "Schedules"
    personal_data = "capabilities.schedules.models.PERSONAL_DATA"
    needs = "capabilities.releases"
    settings = "capabilities.schedules.running.SETTINGS"
    events = "capabilities.schedules.events.EVENTS"
    keeps_versions = "capabilities.schedules.running.SCHEDULED_VERSIONS"
    follows = "capabilities.schedules.running.FOLLOWERS"
    ends_with_keys = "capabilities.schedules.running.ENDS_WITH_KEYS"
    adds = {
        "capabilities.releases.verbs.register_automatic": "capabilities.schedules.running.SCHEDULED_RELEASES"
    }
    filters = "capabilities.schedules.verbs.FILTER"
    jobs = "capabilities.schedules.running.JOBS"
    api = "capabilities.schedules.api"
    verbs = {"schedules": "capabilities.schedules.verbs.Schedules"}
    notifications = "capabilities.schedules.events.NOTIFICATIONS"
    topics = "capabilities.schedules.events.TOPIC"
    studio = "capabilities.schedules.studio.pages.STUDIO"
