"""Comments on versions. Described as in `stored`."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from editor_client.arguments import Ordering, Paging
from editor_client.calls import Call, Request, encoded, reading, segment
from editor_client.log import Reference
from editor_client.naming import with_json_names
from editor_client.records import Page
from editor_client.result import Result, Success

ResourceKind = Literal["agent", "promptBlock"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CommentRecord(Result):
    """A comment. It is resolved if its thread is."""

    id: str
    workspace_id: str
    resource: Reference
    version_id: str
    version_number: int
    field: str | None = None
    """Where in the version, such as `instructions.2.content`."""
    line: int | None = None
    quote: str | None = None
    """The words that it is about, as they were."""
    body: str
    parent: str | None = None
    """The comment that begins the thread; None for that one."""
    author: str | None = None
    resolved: bool
    resolved_by: str | None = None
    resolved_at: datetime.datetime | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    """When its text was changed last."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CommentPage(Page[CommentRecord]):
    """A page of comments, oldest first."""

    comments: tuple[CommentRecord, ...]

    @property
    def entries(self) -> tuple[CommentRecord, ...]:
        """The comments."""
        return self.comments


class CommentFilters(TypedDict, total=False):
    """Which comments are wanted."""

    kind: ResourceKind
    id: str
    """That of the resource."""
    version_id: str
    resolved: bool


class CommentList(CommentFilters, Paging, total=False):
    """The arguments of a list of comments."""


class CommentWalk(CommentFilters, Ordering, total=False):
    """The arguments for iterating over all comments."""


class CommentArguments(TypedDict, total=False):
    """What a comment is about within its version."""

    field: str
    line: int
    quote: str
    parent: str
    """The comment that it replies to."""


class CommentChanges(TypedDict, total=False):
    """A change of a comment."""

    body: str
    """Only of a comment of one's own."""
    resolved: bool


class Comment:
    """One comment, by id."""

    def __init__(self, comment_id: str) -> None:
        self.id = comment_id
        self.path = f"/comments/{segment('id', comment_id)}"

    def details(self) -> Call[CommentRecord]:
        """Read the comment."""
        return Call(request=Request(method="GET", path=self.path), read=reading(CommentRecord, id=self.id))

    def update(self, **changes: Unpack[CommentChanges]) -> Call[CommentRecord]:
        """Resolve or reopen its thread; change the text of one's own."""
        request = Request(method="PATCH", path=self.path, body=encoded(with_json_names(changes)))
        return Call(request=request, read=reading(CommentRecord, id=self.id))

    def delete(self) -> Call[Success]:
        """Delete a comment of one's own; replies stay."""
        return Call(request=Request(method="DELETE", path=self.path), read=reading(Success))


def creation(
    kind: ResourceKind, resource_id: str, version_id: str, body: str, place: Any
) -> Call[CommentRecord]:
    """Describe the call that comments on a version."""
    about = {"resource": {"kind": kind, "id": resource_id}, "versionId": version_id, "body": body}
    request = Request(method="POST", path="/comments", body=encoded({**about, **with_json_names(place)}))
    return Call(request=request, read=reading(CommentRecord))
