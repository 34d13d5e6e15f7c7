"""The review policy of a workspace, and the gate's check of approvals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, Final
from uuid import UUID

from editor_client.shared.configurations import MAX_MESSAGE
from pydantic import Field

from capabilities.review import outcomes
from capabilities.review.models import MAX_REQUIRED, Bypass, ReviewPolicy
from capabilities.review.outcomes import (
    ApprovalStatus,
    JudgedVersion,
    Requirement,
    judge_versions,
    judged_version,
    read_requirements,
    requires_review,
)
from versioning.api.schemas import RequestSchema
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Right, RightsChanged
from versioning.domain.config import NotBlank
from versioning.domain.errors import Forbidden, Invalid, Issue, Message, Quoted, Usernames
from versioning.domain.events import Target
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import events
from versioning.serving.grants import target_of
from versioning.verbs import Verbs

CHANGED: Final = "reviewPolicy"
"""The field name in the log of a workspace."""


class ReviewPolicies(Verbs):
    """`editor.review_policy`: the number of approvals that versions need before they go live."""

    def get(self, workspace_id: str, *, by: Who = APPLICATION) -> ReviewPolicy:
        """Return the policy of a workspace; raises `NotFound` for strangers."""
        self.editor.workspace.find(workspace_id, right=Right.READ, by=by)
        return read_policy(workspace_id)

    @retry_on_conflict
    def set(
        self,
        workspace_id: str,
        *,
        required: int = 0,
        bypass: str = Bypass.ADMIN,
        by: Who = APPLICATION,
    ) -> ReviewPolicy:
        """Replace the policy and return it; it applies from the commit on.

        `required` is the number of approvals, 0 to 5; `bypass` names the people who can publish without them:
        `admin` or `no one`. Raises `NotFound` for strangers, `Forbidden` for members who are not admins, and
        `Invalid`.
        """
        by = caller_of(by)
        with self.editor.workspace.administering(workspace_id, by) as workspace:
            issues = []
            if (
                type(required) is not int or not 0 <= required <= MAX_REQUIRED
            ):  # True is not a number of people
                message = Message("must be a whole number from {least} to {most}", least=0, most=MAX_REQUIRED)
                issues.append(Issue("required", message))
            if bypass not in Bypass.values:
                message = Message("must be one of {values}", values=Quoted(Bypass.values))
                issues.append(Issue("bypass", message))
            if issues:
                raise Invalid(issues)
            policy = read_policy(workspace_id)
            if (policy.required, policy.bypass) != (required, bypass):
                before = {"required": policy.required, "bypass": str(policy.bypass)}
                policy.required, policy.bypass = required, Bypass(bypass)
                policy.save()
                now = {"required": required, "bypass": bypass}
                workspace.record("updated", by, fields=[CHANGED], **now, before=before)
        return policy


def read_policy(workspace_id: str) -> ReviewPolicy:
    """Return the policy of a workspace; an unsaved one if it has the defaults."""
    policy = ReviewPolicy.objects.filter(pk=workspace_id).first()
    return policy or ReviewPolicy(workspace_id=workspace_id)


class ReviewRequired(Forbidden):
    """A version may not go live: approvals are missing, or changes to it are requested."""

    code = "review_required"

    def __init__(self, outcome: ApprovalStatus, review_id: UUID | None, version_id: str) -> None:
        if outcome.changes_requested_by:
            names = Usernames(outcome.changes_requested_by)
            message = Message("Changes are requested by {names}.", names=names)
        elif outcome.missing == 1:
            message = Message("One more approval is needed before this version goes live.")
        else:
            message = Message(
                "{count} more approvals are needed before this version goes live.", count=outcome.missing
            )
        super().__init__(message)
        self.outcome = outcome
        self.review_id = review_id
        """The open review of the resource, if any."""
        self.version_id = version_id

    @property
    def summary(self) -> str:
        """The missing approvals, in a sentence or two."""
        return summarize_missing(self.outcome.missing, self.outcome.changes_requested_by)

    def details(self) -> dict[str, Any]:
        """Return the missing approvals, and the review for giving them."""
        return {
            "review": {
                "id": None if self.review_id is None else str(self.review_id),
                "missing": self.outcome.missing,
                "changesRequestedBy": list(self.outcome.changes_requested_by),
            }
        }


def summarize_missing(missing: int, changes_requested_by: Sequence[str]) -> str:
    """Return the missing approvals of a version, in a sentence or two; empty if none is missing."""
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
    requirements = read_requirements(list(zip(targets, digests, strict=True)))
    publications = [_Publication(*facts) for facts in zip(requests, targets, requirements, strict=True)]
    decisions = gate.each(_Publication.judge_without_review)(publications)
    judged = {
        number: version
        for number, publication in enumerate(publications)
        if decisions[number].error is None and (version := publication.judged_version()) is not None
    }
    required = {
        publication.target.workspace_id: publication.requirement.required for publication in publications
    }
    outcomes = judge_versions(list(judged.values()), required=required)
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
        if request.for_update:  # the gate has locked and read the resources that the version names
            named = outcomes.named_by_request(request)
            if self.requirement.was_live(named):
                return None
        return judged_version(request.resource, request.version, self.target, named=named)

    def decide(self, judged: JudgedVersion, outcome: ApprovalStatus) -> gate.Decision:
        """Return the decision by the outcome of the review."""
        if not outcome.is_allowed and _OPTION not in self.request.options:
            version_id = self.request.version.version_id
            return gate.Decision(ReviewRequired(outcome, self.requirement.review_id, version_id))
        to_judge = None if outcome.was_live else judged
        return gate.Decision(then=partial(self._carry_out, to_judge, is_bypassed=not outcome.is_allowed))

    def _carry_out(self, judged: JudgedVersion | None, *, is_bypassed: bool) -> None:
        """Record the consequences, and check again before the commit."""
        events.at_commit(partial(self._refuse_if_changed, judged, is_bypassed=is_bypassed))
        # An arm of a rollout is not active, so a version is not exempt from review for having been one.
        if self.request.label is None and not self.request.keeps_active:
            outcomes.record_publication(self.request, self.target, self.requirement)
        if is_bypassed:
            outcomes.record_bypass(self.request, self.target, self.requirement)

    def _refuse_if_changed(
        self, judged: JudgedVersion | None, rights_position: int, *, is_bypassed: bool
    ) -> None:
        """Raise `RightsChanged` if the decision would now differ; the verb then starts again."""
        if rights_position == self.requirement.rights_position:
            return
        policy = read_policy(self.target.workspace_id)
        if is_bypassed:
            is_still_right = policy.bypass == Bypass.ADMIN
        elif policy.required == 0 or (self.requirement.required and judged is None):
            is_still_right = True
        else:
            is_still_right = judged is not None and judge_versions([judged], was_live=False)[0].is_allowed
        if not is_still_right:
            raise RightsChanged(self.request.caller)


APPROVALS: Final = gate.Check(
    decide=decide,
    drafts_by_default=requires_review,
    options={
        _OPTION: gate.Option(
            member=_MEMBER,
            schema=BypassReview,
            from_body=itemgetter("reason"),
            reason_against=ReviewRequired.code,
            metavar="REASON",
            help="publish versions without the required approvals, for this reason, which the log records",
        )
    },
)
