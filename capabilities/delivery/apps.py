"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class DeliveryConfig(EditorApp):
    """Notifies others of changes: streams and webhooks."""

    name = "capabilities.delivery"
    label = "delivery"
    verbose_name = "Delivery"
    personal_data = "capabilities.delivery.personal_data.PERSONAL_DATA"
    settings = "capabilities.delivery.conf.SETTINGS"
    events = "capabilities.delivery.events.EVENTS"
    keeps_workspaces = "capabilities.delivery.models.Webhook"
    follows = (
        "capabilities.delivery.streams.listeners.FOLLOWER",
        "capabilities.delivery.webhooks.models.FOLLOWER",
    )
    notifications = "capabilities.delivery.webhooks.health.OF_WEBHOOKS"
    topics = "capabilities.delivery.webhooks.health.TOPIC"
    log_readers = "capabilities.delivery.webhooks.outbox.unread_after"
    jobs = "capabilities.delivery.webhooks.jobs.JOBS"
    api = "capabilities.delivery.api_urls"
    studio = "capabilities.delivery.studio.extension.STUDIO"
