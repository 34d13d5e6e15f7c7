"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class DeliveryConfig(EditorApp):
    """Notifies other programs of changes: streams and webhooks."""

    name = "capabilities.delivery"
    label = "delivery"
    verbose_name = "Delivery"
    personal_data = "capabilities.delivery.models.PERSONAL_DATA"
    settings = "capabilities.delivery.targets.SETTINGS"
    events = "capabilities.delivery.events.EVENTS"
    keeps_workspaces = "capabilities.delivery.models.Webhook"
    follows = (
        "capabilities.delivery.streams.FOLLOWER",
        "capabilities.delivery.models.FOLLOWER",
    )
    notifications = "capabilities.delivery.events.OF_WEBHOOKS"
    topics = "capabilities.delivery.events.TOPIC"
    log_readers = "capabilities.delivery.running.unread_after"
    jobs = "capabilities.delivery.running.JOBS"
    api = "capabilities.delivery.api"
    studio = "capabilities.delivery.studio.STUDIO"
