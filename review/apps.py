"""The application's configuration."""

from __future__ import annotations

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """Four eyes before anything goes live, and comments beside the text."""

    name = "review"
    verbose_name = "Review"
    default_auto_field = "django.db.models.BigAutoField"
    api_urls = "review.api_urls"
    """The routes that it adds to the API."""
    editor_attributes = {"review_policy": "review.policy.administration.ReviewPolicies"}
    """What it adds to the Python interface."""
