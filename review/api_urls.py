"""The routes that this application adds to the API."""

from __future__ import annotations

from django.urls import URLPattern, re_path

from review.policy.api import ReviewPolicyViewSet

urlpatterns: list[URLPattern] = [
    re_path(
        r"^workspaces/(?P<id>[^/]+)/review-policy\Z",
        ReviewPolicyViewSet.as_view({"get": "retrieve", "put": "update"}),
    ),
]
