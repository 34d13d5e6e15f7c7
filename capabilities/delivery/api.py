"""Webhooks and streams of events over HTTP."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Any, Final, Literal

from django.db.models import Sum
from django.http import StreamingHttpResponse
from django.urls import URLPattern, re_path
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.delivery import verbs
from capabilities.delivery.models import DeliveryAttempt, Webhook
from capabilities.delivery.models import DeliveryState as State
from capabilities.delivery.streams import (
    AsyncSubscription,
    BlockingSubscription,
    TooManyStreams,
    follower,
    make_listener,
)
from capabilities.delivery.verbs import MAX_EVENT_TYPES, MAX_KEEP_HOURS
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.errors import error_body
from versioning.api.events import AFTER, EPOCH, FILTERS, number, position, read_filter
from versioning.api.limits import capacity
from versioning.api.parameters import Paging, query
from versioning.api.runs import AnyAccept
from versioning.api.schemas import (
    EventAnswer,
    Nothing,
    PageOf,
    RequestSchema,
    ResponseSchema,
    SerializedBy,
    Source,
    Success,
    Time,
    TimeOrNull,
    Uuid,
    content_etag,
    limits,
)
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED, NotBlank
from versioning.models import storage
from versioning.models.search import ByteLength, together

STATES = tuple(State.values)
DeliveryState = TypeAliasType("DeliveryState", Literal[STATES])  # type: ignore[valid-type]

# These limits are enforced in `capabilities.delivery.verbs`, also for the studio.
_URL = Annotated[
    NotBlank,
    limits(Webhook.url),
    Field(description="An http or https URL, without user information and fragment."),
]
_EVENT_TYPES = Annotated[
    list[str],
    Field(
        description="Types of events; `agent.*` for all events of agents.",
        json_schema_extra={
            "minItems": 1,
            "maxItems": MAX_EVENT_TYPES,
            "examples": [["agent.published", "promptBlock.*"]],
        },
    ),
]
_ID_PREFIX = Annotated[
    str | None,
    limits(Webhook.id_prefix),
    Field(description="Only events about resources whose id has this prefix."),
]
_DESCRIPTION = Annotated[str | None, limits(Webhook.description)]


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
            description="The hours for which the previous secret also signs.",
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
            description=(
                "Why the service has disabled it: the receiver answered 410, or three days passed without "
                "one success. Null if it is enabled, or an admin has disabled it."
            )
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


WEBHOOK_PAGING: Final = Paging(100)
DELIVERY_PAGING: Final = Paging(20)
LENGTH: Final = ByteLength("body") + together(
    DeliveryAttempt.objects.all(), "delivery", Sum(ByteLength("error") + ByteLength("response"))
)


class WebhookViewSet(EditorViewSet):
    """Webhooks of the workspaces that the caller administers."""

    job = "Follow changes"
    subject = "webhook"
    actions = dict.fromkeys(("create", "update", "destroy", "rotate", "ping", "replay"), Action.ADMIN)
    created = frozenset({"create"})
    errors = {"create": (404,)}
    query = {
        "list": (*WEBHOOK_PAGING.parameters, parameters.WORKSPACE),
        "deliveries": DELIVERY_PAGING.parameters,
    }
    requests = {
        "create": WebhookCreate,
        "update": WebhookUpdate,
        "destroy": Nothing,
        "rotate": Rotation,
        "ping": Nothing,
        "replay": Nothing,
    }
    paths = {
        "id": (parameters.UUID, "The id of the webhook."),
        "delivery": (parameters.UUID, "The id of the delivery."),
    }
    responses = {
        "list": WebhookPage,
        "create": WebhookCreated,
        "retrieve": WebhookAnswer,
        "update": WebhookAnswer,
        "destroy": Success,
        "rotate": RotationAnswer,
        "ping": DeliveryAnswer,
        "deliveries": DeliveryPage,
        "replay": DeliveryAnswer,
    }

    def list(self, request: Request) -> Response:
        """List the webhooks, newest first."""
        filters = request.query_params
        webhooks = verbs.list_webhooks(by=self.caller, workspace_id=filters.get("workspaceId"))
        page = WEBHOOK_PAGING.read(filters)
        return self.page_of(page, webhooks)

    def create(self, request: Request) -> Response:
        """Create a webhook for future events; only this answer shows its secret."""
        webhook, secret = verbs.create(**WebhookCreate.read_arguments(request), by=self.caller)
        body = WebhookAnswer.dump(webhook)
        etag = content_etag(body)  # of the webhook as GET returns it, without the secret
        headers = {
            "Location": addresses.location(f"webhooks/{webhook.pk}"),
            "Cache-Control": "private, no-store",  # no cache may store the secret
        }
        return with_etag(request, {**body, "secret": secret}, etag=etag, status=201, headers=headers)

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a webhook and the state of its receiver."""
        return self._answer(request, verbs.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change a webhook."""
        changes = WebhookUpdate.read_arguments(request)
        return self._answer(request, verbs.change(id, changes, by=self.caller))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a webhook with its deliveries."""
        Nothing.read(request)
        verbs.delete(id, by=self.caller)
        return Response(self.dump(f"The webhook {id} is deleted."))

    def rotate(self, request: Request, id: str) -> Response:
        """Replace the secret; only this answer shows the new one."""
        hours = Rotation.read(request)["keepPreviousHours"]
        rotated = verbs.rotate(id, keep_previous_hours=hours, by=self.caller)
        return Response(self.dump(rotated))

    def ping(self, request: Request, id: str) -> Response:
        """Send a `webhook.ping`, to test the receiver."""
        Nothing.read(request)
        return Response(self.dump(verbs.ping(id, by=self.caller)))

    def deliveries(self, request: Request, id: str) -> Response:
        """List the deliveries with their attempts, newest first."""
        deliveries = verbs.deliveries(id, by=self.caller)
        page = DELIVERY_PAGING.read(request.query_params)
        return self.page_of(page, deliveries, weight=LENGTH)

    def replay(self, request: Request, id: str, delivery: str) -> Response:
        """Make one more attempt at a delivery; the message keeps its id."""
        Nothing.read(request)
        return Response(self.dump(verbs.replay(id, delivery, by=self.caller)))

    def _answer(self, request: Request, webhook: Webhook) -> Response:
        return with_etag(request, self.dump(webhook))


EVENT_STREAM: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"
RETRY_AFTER: Final = 5
"""Seconds after which a refused client may try again."""


class EventStreamViewSet(EditorViewSet):
    """Events of the log as they happen."""

    job = "Follow changes"
    subject = "event"
    answers = {"stream": (EVENT_STREAM,)}
    content_negotiation_class = AnyAccept
    query = {
        "stream": (
            query("after", "The events after this position; `now`, the default, for new ones.", type=AFTER),
            EPOCH,
            *FILTERS,
        )
    }
    header_parameters = {
        "stream": (
            OpenApiParameter(
                LAST_EVENT_ID,
                {"type": "string", "pattern": "^[0-9]{1,30}$"},
                OpenApiParameter.HEADER,
                description=(
                    "The `id` of the last received event: the stream continues after it, and `after` is "
                    "ignored."
                ),
            ),
        )
    }

    def stream(self, request: Request) -> Response | StreamingHttpResponse:
        """Send events that the caller may see as they happen."""
        query = request.query_params
        only = read_filter(query)
        after = position(query.get("after", "now"), "after")
        # A client that has received nothing yet may send an empty header.
        last = number(request.headers.get(LAST_EVENT_ID) or None, LAST_EVENT_ID)
        start, epoch = get_editor().event.start(after if last is None else last, query.get("epoch"))
        server = capacity(request._request)  # noqa: SLF001  the server adds it to Django's request
        subscription_class = AsyncSubscription if server.in_event_loop else BlockingSubscription
        stream = subscription_class(make_listener(request), only, start, epoch, has_role=self.caller.has_role)
        if request.method != "HEAD":
            try:
                follower.add(stream, server.streams, person=self.caller.user_id)
            except TooManyStreams as error:
                return Response(error_body(error), status=503, headers={"Retry-After": str(RETRY_AFTER)})
        # A stream must not hold a connection of the pool.
        storage.give_back()
        content = () if request.method == "HEAD" else stream
        return StreamingHttpResponse(content, content_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


_WEBHOOK: Final = "webhooks/(?P<id>[^/]+)"
_WEBHOOKS: Final[dict[str, dict[str, Any]]] = {
    "webhooks": {"get": "list", "post": "create"},
    f"{_WEBHOOK}/rotate": {"post": "rotate"},
    f"{_WEBHOOK}/ping": {"post": "ping"},
    f"{_WEBHOOK}/deliveries": {"get": "deliveries"},
    f"{_WEBHOOK}/deliveries/(?P<delivery>[^/]+)/replay": {"post": "replay"},
    _WEBHOOK: {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(r"^events/stream\Z", EventStreamViewSet.as_view({"get": "stream"})),
    *(re_path(rf"^{route}\Z", WebhookViewSet.as_view(verbs)) for route, verbs in _WEBHOOKS.items()),
]
