"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.rollouts.api import RolloutViewSet
from capabilities.rollouts.feedback.api import FeedbackViewSet
from capabilities.rollouts.usage.api import UsageViewSet

_ROUTES: Final[dict[str, dict[str, Any]]] = {
    "rollouts": {"get": "list", "post": "create"},
    "rollouts/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update"},
    "rollouts/(?P<id>[^/]+)/stop": {"post": "stop"},
    "rollouts/(?P<id>[^/]+)/complete": {"post": "complete"},
}

urlpatterns: list[URLPattern] = [
    *(re_path(rf"^{route}\Z", RolloutViewSet.as_view(verbs)) for route, verbs in _ROUTES.items()),
    re_path(r"^feedback\Z", FeedbackViewSet.as_view({"get": "list", "post": "create"})),
    re_path(r"^feedback/summary\Z", FeedbackViewSet.as_view({"get": "summary"})),
    re_path(r"^usage\Z", UsageViewSet.as_view({"get": "list", "post": "create"})),
]
