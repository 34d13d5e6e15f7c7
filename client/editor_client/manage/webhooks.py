"""Webhooks of the workspaces that the key administers."""

from __future__ import annotations

from typing import Self, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.manage.shapes import (
    Delivery,
    DeliveryPage,
    NewWebhook,
    RotatedSecret,
    WebhookArguments,
    WebhookChanges,
    WebhookFilters,
    WebhookPage,
    WebhookRecord,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Paging, listing
from editor_client.result import Success, with_json_names


class Webhook(ById[D_co, WebhookRecord]):
    """A webhook, by id."""

    _address, _record = "/webhooks", WebhookRecord

    @method
    def update(self, **changes: Unpack[WebhookChanges]) -> Call[WebhookRecord]:
        """Change the given settings."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete the webhook with its deliveries."""
        return Call.to("DELETE", self._path, reading(Success))

    @method
    def rotate(self, *, keep_previous_hours: int) -> Call[RotatedSecret]:
        """Replace the secret; the previous one stays valid for up to 168 hours."""
        body = {"keepPreviousHours": keep_previous_hours}
        return Call.to("POST", f"{self._path}/rotate", reading(RotatedSecret), body=body)

    @method
    def ping(self) -> Call[Delivery]:
        """Send a test event to the receiver."""
        return Call.to("POST", f"{self._path}/ping", reading(Delivery))

    @method
    def list_deliveries(self, **page: Unpack[Paging]) -> Call[DeliveryPage]:
        """List the deliveries with their attempts, newest first."""
        return listing(f"{self._path}/deliveries", DeliveryPage, page)

    iter_deliveries = iterating(list_deliveries)

    @method
    def replay(self, delivery_id: str) -> Call[Delivery]:
        """Retry a delivery; its message keeps its id."""
        path = f"{self._path}/deliveries/{segment('delivery_id', delivery_id)}/replay"
        return Call.to("POST", path, reading(Delivery, id=delivery_id))


class WebhookMethods(Driver):
    """The methods of a client for webhooks."""

    @method
    def list_webhooks(self, **filters: Unpack[WebhookFilters]) -> Call[WebhookPage]:
        """List the webhooks of the workspaces that the key administers, newest first."""
        return listing("/webhooks", WebhookPage, filters)

    iter_webhooks = iterating(list_webhooks)

    @method
    def create_webhook(self, workspace_id: str, **fields: Unpack[WebhookArguments]) -> Call[NewWebhook]:
        """Create a webhook for future events; `url` and `event_types` are required."""
        body = {"workspaceId": workspace_id, **with_json_names(fields)}
        return Call.to("POST", "/webhooks", reading(NewWebhook), body=body)

    def get_webhook(self, webhook_id: str) -> Webhook[Self]:
        """Return a webhook; no request is sent yet."""
        return Webhook(self, webhook_id)
