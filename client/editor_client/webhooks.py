"""Webhooks of the workspaces that the key administers. Described as in `stored`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

from editor_client.arguments import Ordering, Paging
from editor_client.calls import Call, Request, encoded, paging, reading, segment
from editor_client.log import LogEvent
from editor_client.naming import with_json_names
from editor_client.pages import Pages
from editor_client.records import Page
from editor_client.result import Result, Success


@dataclass(frozen=True, kw_only=True, eq=False)
class WebhookRecord(Result):
    """A webhook, and how its receiver does."""

    id: str
    workspace_id: str
    url: str
    event_types: tuple[str, ...]
    id_prefix: str | None = None
    description: str | None = None
    enabled: bool
    disabled_reason: Literal["gone", "failing"] | None = None
    """Why the service has disabled it: the receiver answered 410, or three days passed without success."""
    created_by: str | None = None
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = None
    last_success_at: datetime.datetime | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class NewWebhook(WebhookRecord):
    """A new webhook with its secret, which the server never tells again."""

    secret: str = field(repr=False)
    """`whsec_` and base64, for the libraries of Standard Webhooks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RotatedSecret(Result):
    """A new secret, which the server never tells again."""

    secret: str = field(repr=False)
    previous_until: datetime.datetime | None = None
    """Until when messages are signed with the previous one, too."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SentEvent(LogEvent):
    """An event as it is sent; a ping has no position."""

    position: int | None = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, eq=False)
class Attempt(Result):
    """One request to the receiver."""

    at: datetime.datetime
    status_code: int | None = None
    milliseconds: int
    error: str | None = None
    response: str | None = None
    """The beginning of the body of its answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Delivery(Result):
    """One event for one webhook, and every attempt to deliver it."""

    id: str
    event: SentEvent
    state: Literal["pending", "delivered", "failed", "cancelled"]
    attempts: tuple[Attempt, ...]
    next_attempt_at: datetime.datetime | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class WebhookPage(Page[WebhookRecord]):
    """A page of webhooks, newest first."""

    webhooks: tuple[WebhookRecord, ...]

    @property
    def entries(self) -> tuple[WebhookRecord, ...]:
        """The webhooks."""
        return self.webhooks


@dataclass(frozen=True, kw_only=True, eq=False)
class DeliveryPage(Page[Delivery]):
    """A page of deliveries, newest first."""

    deliveries: tuple[Delivery, ...]

    @property
    def entries(self) -> tuple[Delivery, ...]:
        """The deliveries."""
        return self.deliveries


class WebhookArguments(TypedDict, total=False):
    """What a webhook sends, and where to."""

    url: str
    event_types: Sequence[str]
    """Such as `agent.published`; `agent.*` stands for all of agents."""
    id_prefix: str | None
    """Only events about resources whose id begins like this."""
    description: str | None


class WebhookChanges(WebhookArguments, total=False):
    """A change of a webhook."""

    enabled: bool
    """True begins anew with the events that come; False cancels what is pending."""


class WebhookList(Paging, total=False):
    """The arguments of a list of webhooks."""

    workspace_id: str


class WebhookWalk(Ordering, total=False):
    """The arguments for iterating over all webhooks."""

    workspace_id: str


class Webhook:
    """One webhook, by id."""

    def __init__(self, webhook_id: str) -> None:
        self.id = webhook_id
        self.path = f"/webhooks/{segment('id', webhook_id)}"

    def details(self) -> Call[WebhookRecord]:
        """Read the webhook, and how its receiver does."""
        return Call(request=Request(method="GET", path=self.path), read=reading(WebhookRecord, id=self.id))

    def update(self, **changes: Unpack[WebhookChanges]) -> Call[WebhookRecord]:
        """Change what is named."""
        request = Request(method="PATCH", path=self.path, body=encoded(with_json_names(changes)))
        return Call(request=request, read=reading(WebhookRecord, id=self.id))

    def delete(self) -> Call[Success]:
        """Delete the webhook with its deliveries."""
        return Call(request=Request(method="DELETE", path=self.path), read=reading(Success))

    def rotate(self, *, keep_previous_hours: int) -> Call[RotatedSecret]:
        """Replace the secret; the previous one signs too for up to 168 hours."""
        body = encoded({"keepPreviousHours": keep_previous_hours})
        request = Request(method="POST", path=f"{self.path}/rotate", body=body)
        return Call(request=request, read=reading(RotatedSecret))

    def ping(self) -> Call[Delivery]:
        """Send an event that says nothing, to try the receiver."""
        return Call(request=Request(method="POST", path=f"{self.path}/ping"), read=reading(Delivery))

    def list_deliveries(self, **page: Unpack[Paging]) -> Call[DeliveryPage]:
        """List the deliveries with their attempts, newest first."""
        request = Request(method="GET", path=f"{self.path}/deliveries", query=paging(page))
        return Call(request=request, read=reading(DeliveryPage))

    def iter_deliveries(self, **order: Unpack[Ordering]) -> Pages[Delivery]:
        """Iterate over all deliveries, newest first."""
        return Pages(partial(self.list_deliveries, **order))

    def replay(self, delivery_id: str) -> Call[Delivery]:
        """Try a delivery once more; the id of its message stays."""
        path = f"{self.path}/deliveries/{segment('delivery_id', delivery_id)}/replay"
        return Call(request=Request(method="POST", path=path), read=reading(Delivery, id=delivery_id))


def creation(workspace_id: str, fields: Any) -> Call[NewWebhook]:
    """Describe the call that makes a webhook."""
    body = encoded({"workspaceId": workspace_id, **with_json_names(fields)})
    return Call(request=Request(method="POST", path="/webhooks", body=body), read=reading(NewWebhook))
