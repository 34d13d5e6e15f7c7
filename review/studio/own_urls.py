"""The URL that receives chosen resources, of any workspace."""

from __future__ import annotations

from django.urls import path

from review.studio.requesting_many import AskForManyPage

urlpatterns = [path("reviews/ask/", AskForManyPage.as_view(), name="ask_for_reviews")]
