"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class SchedulesConfig(EditorApp):
    """Publishes and unpublishes at a chosen time."""

    name = "capabilities.schedules"
    label = "schedules"
    verbose_name = "Schedules"
    personal_data = "capabilities.schedules.personal_data.PERSONAL_DATA"
    needs = "capabilities.releases"
    settings = "capabilities.schedules.conf.SETTINGS"
    events = "capabilities.schedules.events.EVENTS"
    keeps_versions = "capabilities.schedules.deletions.SCHEDULED_VERSIONS"
    follows = "capabilities.schedules.deletions.FOLLOWERS"
    ends_with_keys = "capabilities.schedules.deletions.ENDS_WITH_KEYS"
    adds = {"capabilities.releases.automatic.register": "capabilities.schedules.deletions.SCHEDULED_RELEASES"}
    filters = "capabilities.schedules.filters.FILTER"
    jobs = "capabilities.schedules.jobs.JOBS"
    api = "capabilities.schedules.api_urls"
    verbs = {"schedules": "capabilities.schedules.verbs.Schedules"}
    notifications = "capabilities.schedules.notifications.NOTIFICATIONS"
    topics = "capabilities.schedules.notifications.TOPIC"
    studio = "capabilities.schedules.studio.extension.STUDIO"
