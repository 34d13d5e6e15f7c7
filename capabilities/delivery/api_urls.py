"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.delivery.streams.api import EventStreamViewSet
from capabilities.delivery.webhooks.api import WebhookViewSet

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
