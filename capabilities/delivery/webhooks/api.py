"""Webhooks over HTTP."""

from __future__ import annotations

from typing import Final

from django.db.models import Sum
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.delivery.webhooks import administration
from capabilities.delivery.webhooks.models import DeliveryAttempt, Webhook
from capabilities.delivery.webhooks.schemas import (
    DeliveryAnswer,
    DeliveryPage,
    Rotation,
    RotationAnswer,
    WebhookAnswer,
    WebhookCreate,
    WebhookCreated,
    WebhookPage,
    WebhookUpdate,
)
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page
from versioning.api.schemas import Nothing, Success, content_etag
from versioning.domain.access import Action
from versioning.models.search import ByteLength, together

ORDERS: Final = {"createdAt": "created_at"}
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
        "list": (*parameters.paging(100, ORDERS), parameters.WORKSPACE),
        "deliveries": parameters.paging(20, ORDERS),
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
        given = request.query_params
        found = administration.listed(by=self.caller, workspace_id=given.get("workspaceId"))
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found)

    def create(self, request: Request) -> Response:
        """Create a webhook for future events; only this answer shows its secret."""
        given = WebhookCreate.read(request)
        names = {"workspaceId": "workspace_id", "eventTypes": "event_types", "idPrefix": "id_prefix"}
        arguments = {names.get(name, name): value for name, value in given.items()}
        webhook, secret = administration.create(**arguments, by=self.caller)
        body = WebhookAnswer.dump(webhook)
        etag = content_etag(body)  # of the webhook as GET returns it, without the secret
        headers = {
            "Location": addresses.location(f"webhooks/{webhook.pk}"),
            "Cache-Control": "private, no-store",  # no cache may store the secret
        }
        return with_etag(request, {**body, "secret": secret}, etag=etag, status=201, headers=headers)

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a webhook and the state of its receiver."""
        return self._answer(request, administration.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change a webhook."""
        changes = WebhookUpdate.read(request)
        return self._answer(request, administration.change(id, changes, by=self.caller))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete a webhook with its deliveries."""
        Nothing.read(request)
        administration.delete(id, by=self.caller)
        return Response(self.dump(f"The webhook {id} is deleted."))

    def rotate(self, request: Request, id: str) -> Response:
        """Replace the secret; only this answer shows the new one."""
        hours = Rotation.read(request)["keepPreviousHours"]
        rotated = administration.rotate(id, keep_previous_hours=hours, by=self.caller)
        return Response(self.dump(rotated))

    def ping(self, request: Request, id: str) -> Response:
        """Send a `webhook.ping`, to test the receiver."""
        Nothing.read(request)
        return Response(self.dump(administration.ping(id, by=self.caller)))

    def deliveries(self, request: Request, id: str) -> Response:
        """List the deliveries with their attempts, newest first."""
        found = administration.deliveries(id, by=self.caller)
        page = Page.read(request.query_params, size=20, fields=ORDERS, then="pk")
        return self.page_of(page, found, weight=LENGTH)

    def replay(self, request: Request, id: str, delivery: str) -> Response:
        """Make one more attempt at a delivery; the message keeps its id."""
        Nothing.read(request)
        return Response(self.dump(administration.replay(id, delivery, by=self.caller)))

    def _answer(self, request: Request, webhook: Webhook) -> Response:
        return with_etag(request, self.dump(webhook))
