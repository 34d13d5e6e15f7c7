"""The application's configuration."""

from __future__ import annotations

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    """Telling others of what changed: streams and webhooks."""

    name = "delivery"
    verbose_name = "Delivery"
    default_auto_field = "django.db.models.BigAutoField"
    api_urls = "delivery.api_urls"
    """The routes that it adds to the API."""
