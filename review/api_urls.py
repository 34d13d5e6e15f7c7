"""The routes that this application adds to the API."""

from __future__ import annotations

from typing import Any, Final

from django.urls import URLPattern, re_path

from review.reviews.api import ReviewViewSet

_REVIEW: Final = "reviews/(?P<id>[^/]+)"
_REVIEWS: Final[dict[str, dict[str, Any]]] = {
    "reviews": {"get": "list", "post": "create"},
    f"{_REVIEW}/verdicts": {"post": "give_verdict"},
    _REVIEW: {"get": "retrieve", "patch": "update"},
}

urlpatterns: list[URLPattern] = [
    re_path(rf"^{route}\Z", ReviewViewSet.as_view(verbs)) for route, verbs in _REVIEWS.items()
]
