"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class SchedulesConfig(EditorApp):
    """Publishes and unpublishes at a chosen time."""

    name = "schedules"
    verbose_name = "Schedules"
    personal_data = "schedules.personal_data.PERSONAL_DATA"
    needs = "releases"
    settings = "schedules.conf.SETTINGS"
    events = "schedules.events.EVENTS"
    keeps_versions = "schedules.deletions.SCHEDULED_VERSIONS"
    follows = "schedules.deletions.FOLLOWERS"
    ends_with_keys = "schedules.deletions.ENDS_WITH_KEYS"
    adds = {"releases.automatic.register": "schedules.deletions.SCHEDULED_RELEASES"}
    filters = "schedules.filters.FILTER"
    jobs = "schedules.jobs.JOBS"
    api = "schedules.api_urls"
    verbs = {"schedules": "schedules.verbs.Schedules"}
    notifications = "schedules.notifications.NOTIFICATIONS"
    topics = "schedules.notifications.TOPIC"
    studio = "schedules.studio.extension.STUDIO"
