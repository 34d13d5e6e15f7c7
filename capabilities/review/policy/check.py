"""The gate's check of a version: enough people approve of it, or an admin bypasses the review.

The rule applies at the moment of going live. So if a role, a membership or a policy has changed between the
check and the commit, the check is repeated while no such change can be committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field

from capabilities.review.models import Bypass
from capabilities.review.policy import recording
from capabilities.review.policy.administration import policy_of
from capabilities.review.policy.judged_versions import JudgedVersion, judged_version
from capabilities.review.policy.outcomes import outcomes_of
from capabilities.review.policy.recording import Requirement, requirements_of, requires_review
from capabilities.review.policy.rules import Outcome
from versioning.api.schemas import RequestSchema
from versioning.conf import get_editor
from versioning.domain.access import RightsChanged
from versioning.domain.config import NotBlank
from versioning.domain.errors import Forbidden, Message, Usernames
from versioning.domain.events import Target
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
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


def decide(requests: Sequence[PublishRequest]) -> list[gate.Decision]:
    """Refuse versions that lack approvals with `ReviewRequired`.

    Refuses a bypass that the caller may not use with `OptionRefused`, needed or not, and one without a reason
    with `Invalid`. Takes one statement if no approvals are required, and otherwise a handful for any number
    of versions.
    """
    code = get_editor().code
    targets = [target_of(request.resource, code) for request in requests]
    digests = [request.version.digest for request in requests]
    requirements = requirements_of(list(zip(targets, digests, strict=True)))
    publications = [_Publication(*facts) for facts in zip(requests, targets, requirements, strict=True)]
    decisions = gate.each(_Publication.judge_without_review)(publications)
    judged = {
        number: version
        for number, publication in enumerate(publications)
        if decisions[number].error is None and (version := publication.judged_version()) is not None
    }
    required = {one.target.workspace_id: one.requirement.required for one in publications}
    outcomes = outcomes_of(list(judged.values()), required=required)
    for (number, version), outcome in zip(judged.items(), outcomes, strict=True):
        decisions[number] = publications[number].decide(version, outcome)
    return decisions


@dataclass(frozen=True)
class _Publication:
    """A version that is about to go live, with the facts for the decision."""

    request: PublishRequest
    target: Target
    requirement: Requirement

    def judge_without_review(self) -> gate.Then:
        """Raise for a bypass that the caller may not use; return the step if no approvals are needed."""
        if _OPTION in self.request.options:
            refusal = Message("Only admins of the workspace may bypass the review.")
            gate.require_reason(self.request, _OPTION, member=_MEMBER, refusal=refusal)
            if self.requirement.bypass != Bypass.ADMIN:
                raise gate.OptionRefused(
                    "Under the review policy of this workspace, no one may bypass the review."
                )
        return partial(self._carry_out, None, is_bypassed=False)

    def judged_version(self) -> JudgedVersion | None:
        """Return the version as it is judged; None if it needs no approvals."""
        request, named = self.request, None
        if not self.requirement.required:
            return None
        if request.for_update:  # the gate has locked and read what the version names
            named = recording.named_by_request(request)
            if self.requirement.was_live(named):
                return None
        return judged_version(request.resource, request.version, self.target, named=named)

    def decide(self, judged: JudgedVersion, outcome: Outcome) -> gate.Decision:
        """Return the decision by the outcome of the review."""
        if not outcome.is_allowed and _OPTION not in self.request.options:
            version_id = self.request.version.version_id
            return gate.Decision(ReviewRequired(outcome, self.requirement.review_id, version_id))
        asked = None if outcome.was_live else judged
        return gate.Decision(then=partial(self._carry_out, asked, is_bypassed=not outcome.is_allowed))

    def _carry_out(self, judged: JudgedVersion | None, *, is_bypassed: bool) -> None:
        """Record the consequences, and check again before the commit."""
        events.at_commit(partial(self._refuse_if_changed, judged, is_bypassed=is_bypassed))
        # An arm of a rollout is not active: having been one exempts no version from review.
        if self.request.label is None and not self.request.keeps_active:
            recording.record_publication(self.request, self.target, self.requirement)
        if is_bypassed:
            recording.record_bypass(self.request, self.target, self.requirement)

    def _refuse_if_changed(
        self, judged: JudgedVersion | None, rights_position: int, *, is_bypassed: bool
    ) -> None:
        """Raise `RightsChanged` if the decision would now differ: then the verb begins again."""
        if rights_position == self.requirement.rights_position:
            return
        policy = policy_of(self.target.workspace_id)
        if is_bypassed:
            is_still_right = policy.bypass == Bypass.ADMIN
        elif policy.required == 0 or (self.requirement.required and judged is None):
            is_still_right = True
        else:
            is_still_right = judged is not None and outcomes_of([judged], was_live=False)[0].is_allowed
        if not is_still_right:
            raise RightsChanged(self.request.caller)


def _reason(member: Any) -> object:
    return member["reason"]


APPROVALS: Final = gate.Check(
    decide=decide,
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
