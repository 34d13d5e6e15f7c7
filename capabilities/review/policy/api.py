"""The review policy of a workspace over HTTP."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.review.models import ReviewPolicy
from capabilities.review.policy.administration import ReviewPolicies
from capabilities.review.policy.schemas import ReviewPolicyAnswer, ReviewPolicyUpdate
from versioning.api.base import EditorViewSet, with_etag
from versioning.domain.access import Action


class ReviewPolicyViewSet(EditorViewSet):
    """How many approvals versions of a workspace need."""

    job = "Review"
    subject = "review policy"
    actions = {"update": Action.ADMIN}
    requests = {"update": ReviewPolicyUpdate}
    responses = {"retrieve": ReviewPolicyAnswer, "update": ReviewPolicyAnswer}
    paths = {"id": ({"type": "string"}, "The id of the workspace.")}

    @property
    def policies(self) -> ReviewPolicies:
        """The verbs for policies."""
        return ReviewPolicies.current()

    def retrieve(self, request: Request, id: str) -> Response:
        """Read the policy of a workspace; its members may."""
        return self._answer(self.policies.get(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Replace the policy of a workspace; its admins may."""
        return self._answer(self.policies.set(id, **ReviewPolicyUpdate.read(request), by=self.caller))

    def _answer(self, policy: ReviewPolicy) -> Response:
        return with_etag(self.request, self.dump(policy))
