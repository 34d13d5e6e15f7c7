"""The review policy of a workspace: members read it, admins change it."""

from __future__ import annotations

from typing import Final

from capabilities.review.models import MAX_REQUIRED, Bypass, ReviewPolicy
from versioning.domain.access import APPLICATION, Right
from versioning.domain.errors import Invalid, Issue, Message, Quoted
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.verbs import Verbs

CHANGED: Final = "reviewPolicy"
"""The field name in the log of a workspace."""


class ReviewPolicies(Verbs):
    """`editor.review_policy`: how many approvals versions need before they go live."""

    def get(self, workspace_id: str, *, by: Who = APPLICATION) -> ReviewPolicy:
        """Return the policy of a workspace; raises `NotFound` for strangers."""
        self.editor.workspace.find(workspace_id, right=Right.READ, by=by)
        return policy_of(workspace_id)

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

        `required` is the number of approvals, 0 to 5; `bypass` is who may publish without them, `admin` or
        `nobody`. Raises `NotFound` for strangers, `Forbidden` for members who are not admins, and `Invalid`.
        """
        by = caller_of(by)
        with self.editor.workspace.administering(workspace_id, by) as workspace:
            _check(required, bypass)
            policy = policy_of(workspace_id)
            if (policy.required, policy.bypass) != (required, bypass):
                before = {"required": policy.required, "bypass": str(policy.bypass)}
                policy.required, policy.bypass = required, Bypass(bypass)
                policy.save()
                now = {"required": required, "bypass": bypass}
                workspace.record("updated", by, fields=[CHANGED], **now, before=before)
        return policy


def policy_of(workspace_id: str) -> ReviewPolicy:
    """Return the policy of a workspace; an unsaved one if it has the defaults."""
    stored = ReviewPolicy.objects.filter(pk=workspace_id).first()
    return stored or ReviewPolicy(workspace_id=workspace_id)


def _check(required: int, bypass: str) -> None:
    issues = []
    if type(required) is not int or not 0 <= required <= MAX_REQUIRED:  # True is not a number of people
        message = Message("must be a whole number from {least} to {most}", least=0, most=MAX_REQUIRED)
        issues.append(Issue("required", message))
    if bypass not in Bypass.values:
        message = Message("must be one of {values}", values=Quoted(Bypass.values))
        issues.append(Issue("bypass", message))
    if issues:
        raise Invalid(issues)
