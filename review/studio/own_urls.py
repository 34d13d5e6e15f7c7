"""The URL of the reviews of all workspaces."""

from __future__ import annotations

from django.urls import path

from review.studio.listing import ReviewsPage

urlpatterns = [path("reviews/", ReviewsPage.as_view(), name="reviews")]
