"""Reviews of versions, and the verdicts in them."""

from __future__ import annotations

from typing import Literal, Self, Unpack

from editor_client.calls import Call, ResourceKind, reading, segment
from editor_client.manage.shapes import (
    ReviewArguments,
    ReviewChanges,
    ReviewFilters,
    ReviewPage,
    ReviewPolicy,
    ReviewRecord,
    VerdictValue,
)
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import listing
from editor_client.result import with_json_names


class Review(ById[D_co, ReviewRecord]):
    """A review, by id."""

    _address, _record = "/reviews", ReviewRecord

    @method
    def update(self, **changes: Unpack[ReviewChanges]) -> Call[ReviewRecord]:
        """Move the review to a newer version, name its reviewers, or close it with `state="closed"`."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def give_verdict(
        self, version_id: str, verdict: VerdictValue, *, body: str | None = None
    ) -> Call[ReviewRecord]:
        """Approve the version that was read, request changes to it, or withdraw an earlier verdict.

        Raises `Conflict` with the code `review_outdated` if the review is now about another version.
        """
        given = {"versionId": version_id, "verdict": verdict} | ({} if body is None else {"body": body})
        return Call.to("POST", f"{self._path}/verdicts", self._read, body=given)


class ReviewMethods(Driver):
    """The methods of a client for reviews."""

    @method
    def list_reviews(self, **filters: Unpack[ReviewFilters]) -> Call[ReviewPage]:
        """List the reviews of everything whose drafts the key may read, newest first."""
        return listing("/reviews", ReviewPage, filters)

    iter_reviews = iterating(list_reviews)

    @method
    def create_review(
        self, kind: ResourceKind, resource_id: str, **fields: Unpack[ReviewArguments]
    ) -> Call[ReviewRecord]:
        """Request a review of a version, by default of the latest.

        Raises `Conflict` with the code `review_open` if the resource has an open review.
        """
        body = {"resource": {"kind": kind, "id": resource_id}, **with_json_names(fields)}
        return Call.to("POST", "/reviews", reading(ReviewRecord), body=body)

    def get_review(self, review_id: str) -> Review[Self]:
        """Return a review; no request is sent yet."""
        return Review(self, review_id)

    @method
    def get_review_policy(self, workspace_id: str) -> Call[ReviewPolicy]:
        """Read how many approvals versions of a workspace need to go live."""
        return Call.to("GET", _policy_path(workspace_id), reading(ReviewPolicy))

    @method
    def set_review_policy(
        self, workspace_id: str, *, required: int = 0, bypass: Literal["admin", "nobody"] = "admin"
    ) -> Call[ReviewPolicy]:
        """Set how many approvals versions of a workspace need, and who may bypass them."""
        body = {"required": required, "bypass": bypass}
        return Call.to("PUT", _policy_path(workspace_id), reading(ReviewPolicy), body=body)


def _policy_path(workspace_id: str) -> str:
    return f"/workspaces/{segment('workspace_id', workspace_id)}/review-policy"
