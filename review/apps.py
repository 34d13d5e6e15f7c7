"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ReviewConfig(EditorApp):
    """Four-eyes approval before anything goes live, and comments next to the text."""

    name = "review"
    verbose_name = "Review"
    personal_data = "review.personal_data.PERSONAL_DATA"
    events = "review.events.EVENTS"
    checks = "review.policy.check.APPROVALS"
    follows = (
        "review.policy.recording.FOLLOWERS",
        "review.reviews.subjects.FOLLOWERS",
        "review.comments.verbs.FOLLOWER",
    )
    filters = "review.filters.FILTER"
    api = "review.api_urls"
    error_members = "review.policy.schemas.ReviewErrorMembers"
    verbs = {
        "comments": "review.comments.verbs.Comments",
        "review_policy": "review.policy.administration.ReviewPolicies",
        "reviews": "review.reviews.verbs.Reviews",
    }
    notifications = "review.notifications.RULES"
    topics = "review.notifications.TOPICS"
    studio = ("review.comments.studio.extension.STUDIO", "review.studio.extension.STUDIO")
