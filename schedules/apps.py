"""The application's configuration."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig, apps


class SchedulesConfig(AppConfig):
    """Publishing and unpublishing at a time that people choose."""

    name = "schedules"
    verbose_name = "Schedules"
    default_auto_field = "django.db.models.BigAutoField"
    settings = "schedules.conf.SETTINGS"
    api_urls = "schedules.api_urls"
    """The routes that it adds to the API."""
    editor_attributes = {"schedules": "schedules.verbs.Schedules"}
    """What it adds to the Python interface."""

    def ready(self) -> None:
        """Register the job that runs what is due, what follows from deletions, and the pages."""
        # Not at the top: they need the models.
        import_module("schedules.own_jobs").register()
        import_module("schedules.news").register()
        import_module("schedules.deletions").watch()
        if apps.is_installed("studio"):
            import_module("schedules.studio.extension").register()
