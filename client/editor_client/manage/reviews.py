"""Reviews of versions with their verdicts, and comments on versions."""

from __future__ import annotations

from typing import Literal, Self, Unpack

from editor_client.calls import Call, ResourceKind, reading, segment
from editor_client.manage.shapes import (
    CommentArguments,
    CommentChanges,
    CommentFilters,
    CommentPage,
    CommentRecord,
    ReviewArguments,
    ReviewChanges,
    ReviewFilters,
    ReviewPage,
    ReviewPolicy,
    ReviewRecord,
    VerdictValue,
)
from editor_client.methods import ById, D_co, Driver, iterating, listing, method
from editor_client.result import Success, with_json_names


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
        payload = {"versionId": version_id, "verdict": verdict} | ({} if body is None else {"body": body})
        return Call.to("POST", f"{self._path}/verdicts", self._read, body=payload)


class ReviewMethods(Driver):
    """The methods of a client for reviews."""

    @method
    def list_reviews(self, **filters: Unpack[ReviewFilters]) -> Call[ReviewPage]:
        """List the reviews of resources whose drafts the key may read, newest first."""
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
        """Read the number of approvals that versions of a workspace need to go live."""
        return Call.to("GET", _policy_path(workspace_id), reading(ReviewPolicy))

    @method
    def set_review_policy(
        self, workspace_id: str, *, required: int = 0, bypass: Literal["admin", "nobody"] = "admin"
    ) -> Call[ReviewPolicy]:
        """Set the number of approvals that versions of a workspace need, and who can bypass them."""
        body = {"required": required, "bypass": bypass}
        return Call.to("PUT", _policy_path(workspace_id), reading(ReviewPolicy), body=body)


def _policy_path(workspace_id: str) -> str:
    return f"/workspaces/{segment('workspace_id', workspace_id)}/review-policy"


class Comment(ById[D_co, CommentRecord]):
    """A comment, by id."""

    _address, _record = "/comments", CommentRecord

    @method
    def update(self, **changes: Unpack[CommentChanges]) -> Call[CommentRecord]:
        """Resolve or reopen its thread; change the text of your own comment."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete your own comment; replies stay."""
        return Call.to("DELETE", self._path, reading(Success))


class CommentMethods(Driver):
    """The methods of a client for comments."""

    @method
    def list_comments(self, **filters: Unpack[CommentFilters]) -> Call[CommentPage]:
        """List the comments on resources whose drafts the key may read, oldest first."""
        return listing("/comments", CommentPage, filters)

    iter_comments = iterating(list_comments)

    @method
    def create_comment(
        self,
        kind: ResourceKind,
        resource_id: str,
        version_id: str,
        *,
        body: str,
        **place: Unpack[CommentArguments],
    ) -> Call[CommentRecord]:
        """Comment on a version, on a field or a line of it, or reply to a comment."""
        about = {"resource": {"kind": kind, "id": resource_id}, "versionId": version_id, "body": body}
        read = reading(CommentRecord)
        return Call.to("POST", "/comments", read, body={**about, **with_json_names(place)})

    def get_comment(self, comment_id: str) -> Comment[Self]:
        """Return a comment; no request is sent yet."""
        return Comment(self, comment_id)
