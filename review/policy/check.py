"""The gate's check of a version: enough people approve of it, or an admin bypasses the review.

The rule applies at the moment of going live. So if a role, a membership or a policy has changed between the
check and the commit, the check is repeated while no such change can be committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import UUID

from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field

from review.models import Bypass, Review, ReviewPolicy
from review.policy import recording
from review.policy.administration import policy_of
from review.policy.judged_versions import JudgedVersion, judged_version
from review.policy.outcomes import outcome_of, outcomes_of
from review.policy.recording import Requirement, requirement_of, requires_review
from review.policy.rules import Outcome
from versioning.api.schemas.base import RequestSchema
from versioning.conf import get_editor
from versioning.domain.access import RightsChanged
from versioning.domain.config import NotBlank
from versioning.domain.errors import Forbidden, Message, Usernames, VersioningError
from versioning.domain.events import Target
from versioning.editor import gate
from versioning.editor.publish_requests import PublishRequest
from versioning.models import events
from versioning.serving.grants import target_of


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


_OPTION: Final = "bypass_review"
_MEMBER: Final = "bypassReview"


class BypassReview(RequestSchema):
    """An admin's reason to publish a version without the required approvals; the log records it."""

    reason: Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]


def check(request: PublishRequest) -> gate.Then:
    """Raise `ReviewRequired` unless the version may go live; see `versioning.editor.gate`.

    Raises `OptionRefused` for a bypass that the caller may not use, needed or not, and `Invalid` for one
    without a reason.
    """
    target = target_of(request.resource, get_editor().code)
    requirement = requirement_of(target, request.version.digest)
    if _OPTION in request.options:
        _require_bypass(request, requirement.bypass)
    asked, is_bypassed = None, False
    if requirement.required and not requirement.was_live(recording.named_by_request(request)):
        named = recording.named_by_request(request)
        asked = judged_version(request.resource, request.version, target, named=named)
        outcome = outcome_of(asked)
        is_bypassed = not outcome.is_allowed
        if is_bypassed and _OPTION not in request.options:
            raise ReviewRequired(outcome, requirement.review_id, request.version.version_id)
        asked = None if outcome.was_live else asked
    return _Decision(request, target, requirement, asked, is_bypassed).carry_out


def refusals(requests: Sequence[PublishRequest]) -> list[VersioningError | None]:
    """Return for each request the error that `check` would raise, or None; see `versioning.editor.gate`.

    Takes one statement if no approvals are required, and otherwise a handful for any number of versions.
    """
    code = get_editor().code
    policies = ReviewPolicy.objects.in_bulk({one.resource.workspace_id for one in requests})
    found: dict[int, VersioningError] = {}
    asked: dict[int, JudgedVersion] = {}
    for number, request in enumerate(requests):
        policy = policies.get(request.resource.workspace_id) or ReviewPolicy()
        try:
            if _OPTION in request.options:
                _require_bypass(request, policy.bypass)
            elif policy.required:
                target = target_of(request.resource, code)
                asked[number] = judged_version(request.resource, request.version, target)
        except VersioningError as error:
            found[number] = error
    required = {workspace_id: policy.required for workspace_id, policy in policies.items()}
    outcomes = zip(asked, outcomes_of(list(asked.values()), required=required), strict=True)
    refused = {number: outcome for number, outcome in outcomes if not outcome.is_allowed}
    reviews = Review.objects.open_about([asked[number].target for number in refused]) if refused else {}
    for number, outcome in refused.items():
        about = asked[number].target
        review_id = reviews.get((about.kind, about.id, about.identity))
        found[number] = ReviewRequired(outcome, review_id, requests[number].version.version_id)
    return [found.get(number) for number in range(len(requests))]


@dataclass(frozen=True)
class _Decision:
    """The decision that a version may go live, with its facts."""

    request: PublishRequest
    target: Target
    requirement: Requirement
    asked: JudgedVersion | None
    """The judged version; None if it needs no approvals."""
    is_bypassed: bool

    def carry_out(self) -> None:
        """Record the consequences, and check again before the commit."""
        events.at_commit(self._stands)
        # An arm of a rollout is not active: having been one exempts no version from review.
        if self.request.label is None and not self.request.keeps_active:
            recording.record_publication(self.request, self.target, self.requirement)
        if self.is_bypassed:
            recording.record_bypass(self.request, self.target, self.requirement)

    def _stands(self, rights_position: int) -> None:
        """Raise `RightsChanged` if the decision would now differ: then the verb begins again."""
        if rights_position != self.requirement.rights_position and not self._is_still_right():
            raise RightsChanged(self.request.caller)

    def _is_still_right(self) -> bool:
        policy = policy_of(self.target.workspace_id)
        if self.is_bypassed:
            return policy.bypass == Bypass.ADMIN
        if policy.required == 0 or (self.requirement.required and self.asked is None):
            return True
        return self.asked is not None and outcomes_of([self.asked], was_live=False)[0].is_allowed


def _require_bypass(request: PublishRequest, bypass: str) -> None:
    """Raise unless the caller may bypass approvals, and gives a reason."""
    refusal = Message("Only admins of the workspace may bypass the review.")
    gate.require_reason(request, _OPTION, member=_MEMBER, refusal=refusal)
    if bypass != Bypass.ADMIN:
        raise gate.OptionRefused("Under the review policy of this workspace, no one may bypass the review.")


def _reason(member: Any) -> object:
    return member["reason"]


APPROVALS: Final = gate.Check(
    check=check,
    refusals=refusals,
    drafts_by_default=requires_review,
    options={
        _OPTION: gate.Option(
            member=_MEMBER,
            schema=BypassReview,
            from_body=_reason,
            reason_against=ReviewRequired.code,
            metavar="REASON",
            help="publish what lacks approvals too, for this reason, which the log records",
        )
    },
)
