"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReviewConfig(EditorApp):
    """Four-eyes approval before anything goes live, and comments next to the text."""

    name = "capabilities.review"
    label = "review"
    verbose_name = "Review"
    personal_data = "capabilities.review.models.PERSONAL_DATA"
    events = "capabilities.review.events.EVENTS"
    checks = "capabilities.review.policy.APPROVALS"
    follows = (
        "capabilities.review.outcomes.FOLLOWERS",
        "capabilities.review.reviews.FOLLOWERS",
        "capabilities.review.comments.FOLLOWER",
    )
    filters = "capabilities.review.reviews.FILTER"
    api = "capabilities.review.api"
    error_members = "capabilities.review.api.ReviewErrorMembers"
    verbs = {
        "comments": "capabilities.review.comments.Comments",
        "review_policy": "capabilities.review.policy.ReviewPolicies",
        "reviews": "capabilities.review.reviews.Reviews",
    }
    notifications = "capabilities.review.events.RULES"
    topics = "capabilities.review.events.TOPICS"
    studio = (
        "capabilities.review.studio.comments.STUDIO",
        "capabilities.review.studio.panels.STUDIO",
    )
