"""What the application declares."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class SchedulesConfig(EditorApp):
    """Publishing and unpublishing at a time that people choose."""

    name = "schedules"
    verbose_name = "Schedules"
    needs = "releases"
    settings = "schedules.conf.SETTINGS"
    events = "schedules.events.EVENTS"
    keeps_versions = "schedules.deletions.SCHEDULED_VERSIONS"
    follows = "schedules.deletions.FOLLOWERS"
    adds = {"releases.automatic.register": "schedules.deletions.SCHEDULED_RELEASES"}
    jobs = "schedules.jobs.JOBS"
    api = "schedules.api_urls"
    verbs = {"schedules": "schedules.verbs.Schedules"}
    notifications = "schedules.notifications.NOTIFICATIONS"
    studio = "schedules.studio.extension.STUDIO"
