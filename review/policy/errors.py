"""The refusal of a version that lacks approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from review.policy.rules import Outcome
from versioning.domain.errors import Forbidden, Message, Usernames


class ReviewRequired(Forbidden):
    """A version may not go live: approvals are missing, or changes to it are requested."""

    code = "review_required"

    def __init__(self, outcome: Outcome, review_id: UUID | None, version_id: str) -> None:
        super().__init__(_message(outcome))
        self.outcome = outcome
        self.review_id = review_id
        """The open review of the resource, if any."""
        self.version_id = version_id

    @property
    def summary(self) -> str:
        """The missing approvals, in a sentence or two."""
        return summary_of(self.outcome.missing, self.outcome.changes_requested_by)

    def details(self) -> dict[str, Any]:
        """Return what is missing, and the review in which to give it."""
        return {
            "review": {
                "id": None if self.review_id is None else str(self.review_id),
                "missing": self.outcome.missing,
                "changesRequestedBy": list(self.outcome.changes_requested_by),
            }
        }


def summary_of(missing: int, changes_requested_by: Sequence[str]) -> str:
    """Return what a version still needs to go live, in a sentence or two; empty if nothing is missing."""
    needs, people = "", ""
    if missing == 1:
        needs = Message("Needs one more approval.")
    elif missing:
        needs = Message("Needs {count} more approvals.", count=missing)
    if len(changes_requested_by) == 1:
        people = Message("{person} asked for changes.", person=Usernames(changes_requested_by))
    elif changes_requested_by:
        people = Message("{people} asked for changes.", people=Usernames(changes_requested_by))
    return Message("{needs} {people}", needs=needs, people=people) if needs and people else needs or people


def _message(outcome: Outcome) -> str:
    if outcome.changes_requested_by:
        return Message("Changes are requested by {names}.", names=Usernames(outcome.changes_requested_by))
    if outcome.missing == 1:
        return Message("One more approval is needed before this version goes live.")
    return Message("{count} more approvals are needed before this version goes live.", count=outcome.missing)
