"""The addresses of the pages about reviews, below that of a workspace."""

from __future__ import annotations

from django.urls import path

from review.studio.listing import ReviewsPage
from review.studio.policy import PolicyPage

urlpatterns = [
    path("reviews/", ReviewsPage.as_view(), name="versioning_workspace_reviews"),
    path("review-policy/", PolicyPage.as_view(), name="versioning_workspace_review_policy"),
]
