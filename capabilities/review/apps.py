"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReviewConfig(EditorApp):
    """Four-eyes approval before anything goes live, and comments next to the text."""

    name = "capabilities.review"
    label = "review"
    verbose_name = "Review"
    personal_data = "capabilities.review.personal_data.PERSONAL_DATA"
    events = "capabilities.review.events.EVENTS"
    checks = "capabilities.review.policy.check.APPROVALS"
    follows = (
        "capabilities.review.policy.recording.FOLLOWERS",
        "capabilities.review.reviews.subjects.FOLLOWERS",
        "capabilities.review.comments.verbs.FOLLOWER",
    )
    filters = "capabilities.review.filters.FILTER"
    api = "capabilities.review.api_urls"
    error_members = "capabilities.review.policy.schemas.ReviewErrorMembers"
    verbs = {
        "comments": "capabilities.review.comments.verbs.Comments",
        "review_policy": "capabilities.review.policy.administration.ReviewPolicies",
        "reviews": "capabilities.review.reviews.verbs.Reviews",
    }
    notifications = "capabilities.review.notifications.RULES"
    topics = "capabilities.review.notifications.TOPICS"
    studio = (
        "capabilities.review.comments.studio.extension.STUDIO",
        "capabilities.review.studio.extension.STUDIO",
    )
