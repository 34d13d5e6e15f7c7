"""The URLs of reviews of all workspaces, and of requests for many reviews."""

from __future__ import annotations

from django.urls import path

from capabilities.review.studio.listing import ReviewsPage
from capabilities.review.studio.requesting_many import AskForManyPage

urlpatterns = [
    path("reviews/", ReviewsPage.as_view(), name="reviews"),
    path("reviews/ask/", AskForManyPage.as_view(), name="ask_for_reviews"),
]
