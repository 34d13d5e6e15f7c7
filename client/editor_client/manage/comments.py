"""Comments on versions."""

from __future__ import annotations

import datetime
from typing import Self, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, reading
from editor_client.methods import ById, D_co, Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.reads.log import Reference
from editor_client.result import Result, Success, with_json_names


class CommentRecord(Result):
    """A comment. It is resolved if its thread is."""

    id: str
    workspace_id: str
    resource: Reference
    version_id: str
    version_number: int
    field: str | None = None
    """The place in the version, such as `instructions.2.content`."""
    line: int | None = None
    quote: str | None = None
    """The quoted words, as they were."""
    body: str
    parent: str | None = None
    """The first comment of the thread; None for that comment itself."""
    author: str | None = None
    resolved: bool
    resolved_by: str | None = None
    resolved_at: datetime.datetime | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    """When its text was last changed."""


class CommentPage(Page[CommentRecord]):
    """A page of comments, oldest first."""

    comments: tuple[CommentRecord, ...]


class CommentFilters(Paging, total=False):
    """The filters of a list of comments."""

    kind: ResourceKind
    id: str
    """The id of the resource."""
    version_id: str
    resolved: bool


class CommentArguments(TypedDict, total=False):
    """The place of a comment in its version."""

    field: str
    line: int
    quote: str
    parent: str
    """The comment that it replies to."""


class CommentChanges(TypedDict, total=False):
    """A change of a comment."""

    body: str
    """Only for one's own comments."""
    resolved: bool


class Comment(ById[D_co, CommentRecord]):
    """A comment, by id."""

    _address, _record = "/comments", CommentRecord

    @method
    def update(self, **changes: Unpack[CommentChanges]) -> Call[CommentRecord]:
        """Resolve or reopen its thread; change the text of one's own comment."""
        return Call.to("PATCH", self._path, self._read, body=with_json_names(changes))

    @method
    def delete(self) -> Call[Success]:
        """Delete one's own comment; replies stay."""
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
