"""The models of this application, where Django looks for them."""

from review.comments.models import Comment
from review.policy.models import PublishedConfiguration, ReviewPolicy
from review.reviews.models import Review, Verdict

__all__ = ["Comment", "PublishedConfiguration", "Review", "ReviewPolicy", "Verdict"]
