"""The refusal of a version that lacks approvals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from review.policy.rules import Outcome
from versioning.domain.errors import Forbidden


class ReviewRequired(Forbidden):
    """A version may not go live: approvals are missing, or somebody asks for changes to it."""

    code = "review_required"

    def __init__(self, outcome: Outcome, review_id: UUID | None) -> None:
        super().__init__(_message(outcome))
        self.outcome = outcome
        self.review_id = review_id
        """The review of the resource that is open; None if there is none."""

    def details(self) -> dict[str, Any]:
        """Return what is missing, and where to give it."""
        return {
            "review": {
                "id": None if self.review_id is None else str(self.review_id),
                "missing": self.outcome.missing,
                "changesRequestedBy": list(self.outcome.changes_requested_by),
            }
        }


def _message(outcome: Outcome) -> str:
    if outcome.changes_requested_by:
        return f"Changes are requested by {', '.join(outcome.changes_requested_by)}."
    if outcome.missing == 1:
        return "One more approval is needed before this version goes live."
    return f"{outcome.missing} more approvals are needed before this version goes live."
