"""The models of this application. Its folders share them, and import no models from each other."""

from capabilities.review.models.comments import Comment, Mention
from capabilities.review.models.looks import Look
from capabilities.review.models.policies import (
    MAX_REQUIRED,
    Bypass,
    OtherAuthor,
    PublishedConfiguration,
    ReviewPolicy,
)
from capabilities.review.models.reviews import Review, Verdict, VerdictValue

__all__ = [
    "MAX_REQUIRED",
    "Bypass",
    "Comment",
    "Look",
    "Mention",
    "OtherAuthor",
    "PublishedConfiguration",
    "Review",
    "ReviewPolicy",
    "Verdict",
    "VerdictValue",
]
