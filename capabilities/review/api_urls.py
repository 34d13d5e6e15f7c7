"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from capabilities.review.comments.api import CommentViewSet
from capabilities.review.policy.api import ReviewPolicyViewSet
from capabilities.review.reviews.api import ReviewViewSet

_REVIEW: Final = "reviews/(?P<id>[^/]+)"
_REVIEWS: Final[dict[str, dict[str, Any]]] = {
    "reviews": {"get": "list", "post": "create"},
    f"{_REVIEW}/verdicts": {"post": "give_verdict"},
    _REVIEW: {"get": "retrieve", "patch": "update"},
}
_POLICY: Final[dict[str, Any]] = {"get": "retrieve", "put": "update"}
_COMMENTS: Final[dict[str, dict[str, Any]]] = {
    "comments": {"get": "list", "post": "create"},
    "comments/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(r"^workspaces/(?P<id>[^/]+)/review-policy\Z", ReviewPolicyViewSet.as_view(_POLICY)),
    *(re_path(rf"^{route}\Z", ReviewViewSet.as_view(verbs)) for route, verbs in _REVIEWS.items()),
    *(re_path(rf"^{route}\Z", CommentViewSet.as_view(verbs)) for route, verbs in _COMMENTS.items()),
]
