"""Webhooks of the workspaces that the key administers."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import field
from typing import Literal, Self, TypedDict, Unpack

from editor_client.calls import Call, reading, segment
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.reads.log import LogEvent
from editor_client.result import Result, Success, with_json_names


class WebhookRecord(Result):
    """A webhook, and the state of its receiver."""

    id: str
    workspace_id: str
    url: str
    event_types: tuple[str, ...]
    id_prefix: str | None = None
    description: str | None = None
    enabled: bool
    disabled_reason: Literal["gone", "failing"] | None = None
    """Why the service disabled it: the receiver answered 410, or three days passed without success."""
    created_by: str | None = None
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = None
    last_success_at: datetime.datetime | None = None


class NewWebhook(WebhookRecord):
    """A new webhook with its secret, which the server does not return again."""

    secret: str = field(repr=False)
    """`whsec_` and base64, for the libraries of Standard Webhooks."""


class RotatedSecret(Result):
    """A new secret, which the server does not return again."""

    secret: str = field(repr=False)
    previous_until: datetime.datetime | None = None
    """Until when messages are signed with the previous one, too."""


class SentEvent(LogEvent):
    """An event as it is sent; a ping has no position."""

    position: int | None = None  # type: ignore[assignment]


class Attempt(Result):
    """One request to the receiver."""

    at: datetime.datetime
    status_code: int | None = None
    milliseconds: int
    error: str | None = None
    response: str | None = None
    """The beginning of the body of its answer."""


class Delivery(Result):
    """One event for one webhook, and every attempt to deliver it."""

    id: str
    event: SentEvent
    state: Literal["pending", "delivered", "failed", "cancelled"]
    attempts: tuple[Attempt, ...]
    next_attempt_at: datetime.datetime | None = None


class WebhookPage(Page[WebhookRecord]):
    """A page of webhooks, newest first."""

    webhooks: tuple[WebhookRecord, ...]


class DeliveryPage(Page[Delivery]):
    """A page of deliveries, newest first."""

    deliveries: tuple[Delivery, ...]


class WebhookArguments(TypedDict, total=False):
    """The events and the URL of a webhook."""

    url: str
    event_types: Sequence[str]
    """For example `agent.published`; `agent.*` matches all types of agents."""
    id_prefix: str | None
    """Only events about resources whose id has this prefix."""
    description: str | None


class WebhookChanges(WebhookArguments, total=False):
    """A change of a webhook."""

    enabled: bool
    """True begins with future events; False cancels pending deliveries."""


class WebhookFilters(Paging, total=False):
    """The filters and the order of a list of webhooks."""

    workspace_id: str


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
