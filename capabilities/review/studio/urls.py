"""The URLs of the pages about reviews, below those of a workspace and of a resource."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path

from capabilities.review.studio.detail import ChangePage, ReviewPage, VerdictPage
from capabilities.review.studio.listing import ReviewsPage
from capabilities.review.studio.policy import PolicyPage
from capabilities.review.studio.requesting import AskPage
from studio.kinds import StudioKind

urlpatterns = [
    path("reviews/", ReviewsPage.as_view(), name="versioning_workspace_reviews"),
    path("review-policy/", PolicyPage.as_view(), name="versioning_workspace_review_policy"),
]


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the URLs below those of a resource."""
    for name, route, view in (
        ("review_ask", "ask/", AskPage),
        ("review", "<str:review>/", ReviewPage),
        ("review_verdict", "<str:review>/verdict/", VerdictPage),
        ("review_change", "<str:review>/change/", ChangePage),
    ):
        yield path(f"<str:resource>/reviews/{route}", view.as_view(kind=kind), name=kind.url_name(name))
