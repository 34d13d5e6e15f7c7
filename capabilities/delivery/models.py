"""The models of this application, where Django looks for them."""

from capabilities.delivery.webhooks.models import Delivery, DeliveryAttempt, OutboxCursor, Webhook
from capabilities.delivery.webhooks.signing import RootKey

__all__ = ["Delivery", "DeliveryAttempt", "OutboxCursor", "RootKey", "Webhook"]
