"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class DeliveryConfig(EditorApp):
    """Notifies others of changes: streams and webhooks."""

    name = "delivery"
    verbose_name = "Delivery"
    personal_data = "delivery.personal_data.PERSONAL_DATA"
    settings = "delivery.conf.SETTINGS"
    events = "delivery.events.EVENTS"
    keeps_workspaces = "delivery.models.Webhook"
    follows = ("delivery.streams.listeners.FOLLOWER", "delivery.webhooks.models.FOLLOWER")
    notifications = "delivery.webhooks.health.OF_WEBHOOKS"
    topics = "delivery.webhooks.health.TOPIC"
    log_readers = "delivery.webhooks.outbox.unread_after"
    jobs = "delivery.webhooks.jobs.JOBS"
    api = "delivery.api_urls"
    studio = "delivery.studio.extension.STUDIO"
