"""The models of this application, where Django looks for them."""

from delivery.webhooks.models import Delivery, DeliveryAttempt, OutboxCursor, RootKey, Webhook

__all__ = ["Delivery", "DeliveryAttempt", "OutboxCursor", "RootKey", "Webhook"]
