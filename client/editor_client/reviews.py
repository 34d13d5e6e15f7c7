"""Reviews of versions, and the verdicts in them. Described as in `stored`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from editor_client.arguments import Ordering, Paging
from editor_client.calls import Call, Request, encoded, reading, segment
from editor_client.log import Reference
from editor_client.naming import with_json_names
from editor_client.records import Page
from editor_client.result import Result

ReviewState = Literal["open", "approved", "changesRequested", "published", "closed"]
VerdictValue = Literal["approve", "requestChanges", "withdraw"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReviewPolicy(Result):
    """How many approvals versions of a workspace need to go live."""

    required: int
    bypass: Literal["admin", "nobody"]
    """Who may make a version live without them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict(Result):
    """What a person said of a version."""

    by: str
    verdict: VerdictValue
    body: str
    version_id: str
    created_at: datetime.datetime
    counts: bool
    """Whether it counted for the version under review when the review was read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReviewRecord(Result):
    """A review, as it stood when it was read."""

    id: str
    resource: Reference
    version_id: str
    version_number: int
    base_version_id: str | None = None
    """The version that was live when the review was asked for."""
    state: ReviewState
    requested_by: str | None = None
    message: str
    reviewers: tuple[str, ...]
    """Who was asked and is a member."""
    verdicts: tuple[Verdict, ...]
    """The oldest first."""
    missing: int
    """How many approvals the version still needs to go live."""
    outdated: bool
    """Whether there is a newer version."""
    created_at: datetime.datetime


@dataclass(frozen=True, kw_only=True, eq=False)
class ReviewPage(Page[ReviewRecord]):
    """A page of reviews, newest first."""

    reviews: tuple[ReviewRecord, ...]

    @property
    def entries(self) -> tuple[ReviewRecord, ...]:
        """The reviews."""
        return self.reviews


class ReviewArguments(TypedDict, total=False):
    """What a review is asked for with."""

    version_id: str
    """The latest when absent."""
    message: str | None
    reviewers: Sequence[str]
    """User names of members of the workspace."""


class ReviewChanges(TypedDict, total=False):
    """A change of a review."""

    version_id: str
    """A newer version, to which it is moved."""
    reviewers: Sequence[str]
    state: Literal["closed"]


class ReviewFilters(TypedDict, total=False):
    """What a list of reviews can be narrowed by."""

    state: ReviewState
    kind: Literal["agent", "promptBlock"]
    id: str
    workspace_id: str
    reviewer: Literal["me"]
    """Only those that the owner of the key was asked for."""
    author: Literal["me"]
    """Only those that the owner of the key asked for."""


class ReviewList(ReviewFilters, Paging, total=False):
    """The arguments of a list of reviews."""


class ReviewWalk(ReviewFilters, Ordering, total=False):
    """The arguments for iterating over all reviews."""


class Review:
    """One review, by id."""

    def __init__(self, review_id: str) -> None:
        self.id = review_id
        self.path = f"/reviews/{segment('id', review_id)}"

    def details(self) -> Call[ReviewRecord]:
        """Read the review, as it stands at this moment."""
        return Call(request=Request(method="GET", path=self.path), read=reading(ReviewRecord, id=self.id))

    def update(self, **changes: Unpack[ReviewChanges]) -> Call[ReviewRecord]:
        """Move the review to a newer version, name its reviewers, or close it with `state="closed"`."""
        request = Request(method="PATCH", path=self.path, body=encoded(with_json_names(changes)))
        return Call(request=request, read=reading(ReviewRecord, id=self.id))

    def give_verdict(
        self, version_id: str, verdict: VerdictValue, *, body: str | None = None
    ) -> Call[ReviewRecord]:
        """Approve of the version that was looked at, request changes to it, or withdraw what was said.

        Raises `Conflict` with the code `review_outdated` if the review is about another version by now.
        """
        said = {"versionId": version_id, "verdict": verdict}
        said |= {} if body is None else {"body": body}
        request = Request(method="POST", path=f"{self.path}/verdicts", body=encoded(said))
        return Call(request=request, read=reading(ReviewRecord, id=self.id))


def asking(kind: str, resource_id: str, fields: Any) -> Call[ReviewRecord]:
    """Describe the call that asks for a review."""
    body = encoded({"resource": {"kind": kind, "id": resource_id}, **with_json_names(fields)})
    return Call(request=Request(method="POST", path="/reviews", body=body), read=reading(ReviewRecord))


def policy_of(workspace_id: str) -> Call[ReviewPolicy]:
    """Describe the call that reads the policy of a workspace."""
    return Call(request=Request(method="GET", path=_policy_path(workspace_id)), read=reading(ReviewPolicy))


def setting_policy(workspace_id: str, policy: Any) -> Call[ReviewPolicy]:
    """Describe the call that replaces the policy of a workspace."""
    request = Request(method="PUT", path=_policy_path(workspace_id), body=encoded(with_json_names(policy)))
    return Call(request=request, read=reading(ReviewPolicy))


def _policy_path(workspace_id: str) -> str:
    return f"/workspaces/{segment('workspace_id', workspace_id)}/review-policy"
