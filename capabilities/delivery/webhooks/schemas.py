"""The JSON objects of webhooks."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from capabilities.delivery.webhooks.administration import (
    MAX_DESCRIPTION,
    MAX_EVENT_TYPES,
    MAX_ID_PREFIX,
    MAX_KEEP_HOURS,
)
from capabilities.delivery.webhooks.models import MAX_URL
from versioning.api.schemas import (
    EventAnswer,
    PageOf,
    RequestSchema,
    ResponseSchema,
    SerializedBy,
    Source,
    Time,
    TimeOrNull,
    Uuid,
)
from versioning.domain.config import UNCHANGED, NotBlank

DeliveryState = TypeAliasType("DeliveryState", Literal["pending", "delivered", "failed", "cancelled"])

# These limits are enforced in `capabilities.delivery.webhooks.administration`, also for the studio.
_URL = Annotated[
    NotBlank,
    Field(
        description="Of http or https, without user information and fragment.",
        json_schema_extra={"maxLength": MAX_URL},
    ),
]
_EVENT_TYPES = Annotated[
    list[str],
    Field(
        description="Types of events; `agent.*` for all of agents.",
        json_schema_extra={
            "minItems": 1,
            "maxItems": MAX_EVENT_TYPES,
            "examples": [["agent.published", "promptBlock.*"]],
        },
    ),
]
_ID_PREFIX = Annotated[
    str | None,
    Field(
        description="Only events about resources whose id begins like this.",
        json_schema_extra={"maxLength": MAX_ID_PREFIX},
    ),
]
_DESCRIPTION = Annotated[str | None, Field(json_schema_extra={"maxLength": MAX_DESCRIPTION})]


class WebhookCreate(RequestSchema):
    """A new webhook."""

    workspace_id: NotBlank
    url: _URL
    event_types: _EVENT_TYPES
    id_prefix: _ID_PREFIX = None
    description: _DESCRIPTION = None


class WebhookUpdate(RequestSchema):
    """A change of a webhook; an absent member is unchanged."""

    url: _URL = UNCHANGED
    event_types: _EVENT_TYPES = UNCHANGED
    id_prefix: _ID_PREFIX = None
    description: _DESCRIPTION = None
    enabled: Annotated[
        bool,
        Field(description="`true` begins with the events that follow; `false` cancels pending deliveries."),
    ] = UNCHANGED


class Rotation(RequestSchema):
    """How to replace a secret."""

    keep_previous_hours: Annotated[
        int,
        Field(
            description="How long the previous secret signs as well.",
            json_schema_extra={"minimum": 0, "maximum": MAX_KEEP_HOURS},
        ),
    ]


class WebhookAnswer(ResponseSchema):
    """A webhook. `failingSince` and `lastSuccessAt` describe its receiver."""

    id: Annotated[Uuid, Source(lambda webhook: str(webhook.pk))]
    workspace_id: str
    url: str
    event_types: list[str]
    id_prefix: Annotated[str | None, Source(lambda webhook: webhook.id_prefix or None)]
    description: Annotated[str | None, Source(lambda webhook: webhook.description or None)]
    enabled: bool
    disabled_reason: Annotated[
        Literal["gone", "failing"] | None,
        Source(lambda webhook: webhook.disabled_reason or None),
        Field(
            description="Why the service has disabled it: the receiver answered 410, or three days passed "
            "without one success. Null if it is enabled, or an admin has disabled it."
        ),
    ]
    created_by: Annotated[str | None, Source(lambda webhook: webhook.created_by or None)]
    created_at: Time
    failing_since: TimeOrNull
    last_success_at: TimeOrNull


class WebhookCreated(WebhookAnswer):
    """A new webhook with its secret, which is not shown again."""

    secret: Annotated[str, Field(description="`whsec_` and base64, for the libraries of Standard Webhooks.")]


class WebhookPage(PageOf):
    """Webhooks that the caller administers, newest first."""

    webhooks: Annotated[list[WebhookAnswer], Source("items")]


class RotationAnswer(ResponseSchema):
    """The new secret, which is not shown again, and the time until which the previous one signs, too."""

    secret: Annotated[str, Source(itemgetter(0))]
    previous_until: Annotated[TimeOrNull, Source(itemgetter(1))]


class DeliveredEvent(EventAnswer):
    """An event as it is sent; a ping has no position."""

    position: int | None  # type: ignore[assignment]


class AttemptAnswer(ResponseSchema):
    """One request to the receiver."""

    at: Time
    status_code: int | None
    milliseconds: int
    error: Annotated[str | None, Source(lambda attempt: attempt.error or None)]
    response: Annotated[
        str | None,
        Source(lambda attempt: attempt.response or None),
        Field(description="The beginning of the body of the answer."),
    ]


class DeliveryAnswer(ResponseSchema):
    """One event for one webhook, and every attempt to deliver it."""

    id: Annotated[Uuid, Source(lambda delivery: str(delivery.pk))]
    event: Annotated[DeliveredEvent, SerializedBy(dict)]
    state: DeliveryState
    attempts: Annotated[list[AttemptAnswer], Source(lambda delivery: list(delivery.made.all()))]
    next_attempt_at: TimeOrNull


class DeliveryPage(PageOf):
    """Deliveries of a webhook, newest first."""

    deliveries: Annotated[list[DeliveryAnswer], Source("items")]
