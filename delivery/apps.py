"""The application's configuration."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig, apps


class DeliveryConfig(AppConfig):
    """Telling others of what changed: streams and webhooks."""

    name = "delivery"
    verbose_name = "Delivery"
    default_auto_field = "django.db.models.BigAutoField"
    settings = "delivery.conf.SETTINGS"
    api_urls = "delivery.api_urls"
    """The routes that it adds to the API."""

    def ready(self) -> None:
        """Register the jobs, what depends on the log, and the pages of the studio; watch for sign-outs."""
        # Not at the top: they need the models.
        import_module("delivery.webhooks.own_jobs").register()
        if apps.is_installed("django.contrib.sessions"):
            import_module("delivery.streams.sign_outs").watch()
        if apps.is_installed("studio"):
            import_module("delivery.studio.extension").register()
