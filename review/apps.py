"""The application's configuration."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig, apps


class ReviewConfig(AppConfig):
    """Four eyes before anything goes live, and comments beside the text."""

    name = "review"
    verbose_name = "Review"
    default_auto_field = "django.db.models.BigAutoField"
    api_urls = "review.api_urls"
    """The routes that it adds to the API."""
    editor_attributes = {
        "comments": "review.comments.verbs.Comments",
        "review_policy": "review.policy.administration.ReviewPolicies",
        "reviews": "review.reviews.verbs.Reviews",
    }
    """What it adds to the Python interface."""

    def ready(self) -> None:
        """Register what the gate asks, what depends on the log, and the pages of the studio."""
        # Not at the top: they need the models.
        import_module("review.policy.check").register()
        import_module("review.policy.remembering").follow_versions()
        import_module("review.reviews.deletions").follow_deletions()
        import_module("review.comments.verbs").follow_deletions()
        if apps.is_installed("studio"):
            import_module("review.comments.studio.extension").register()
            import_module("review.studio.extension").register()
